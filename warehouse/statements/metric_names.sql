-- The metrics that runs can be compared by, in the order of `scenario_summary`.
SELECT column_name
FROM duckdb_columns()
WHERE
    schema_name = 'main'
    AND table_name = 'scenario_summary'
    AND (
        regexp_full_match(
            column_name,
            '(send_lag|acquire_wait|round_trip|release|end_to_end|response)_(mean|p50|p90|p95|p99|max)_ms'
        )
        OR column_name = 'rate_per_s'
    )
ORDER BY column_index
