-- Every column of the views for people, with its meaning.
SELECT
    table_name AS relation,
    column_name AS "column",
    data_type AS type,
    comment
FROM duckdb_columns()
WHERE schema_name = 'main' AND NOT internal AND database_name = current_database()
ORDER BY relation, column_index
