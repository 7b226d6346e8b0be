-- The views for people, with what they hold.
SELECT
    view_name,
    comment
FROM duckdb_views()
WHERE schema_name = 'main' AND NOT internal
ORDER BY view_name
