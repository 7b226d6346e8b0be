-- The plan's trials, all in one go.
WITH planned AS (
    SELECT unnest(
        from_json(
            $plan::JSON -> '$.trials',
            '[{
                "number": "INTEGER",
                "block": "INTEGER",
                "position": "INTEGER",
                "scenario": "VARCHAR",
                "workload": "VARCHAR",
                "pool_size": "INTEGER",
                "concurrency": "INTEGER",
                "variant": "VARCHAR",
                "pool_reset": "BOOLEAN",
                "selection": "VARCHAR",
                "statement_cache": "BOOLEAN",
                "acquire_timeout_s": "DOUBLE",
                "query_timeout_s": "DOUBLE",
                "database_cores": "DOUBLE",
                "database_period_ms": "DOUBLE",
                "generator_cores": "DOUBLE",
                "generator_period_ms": "DOUBLE",
                "seed": "BIGINT",
                "start_offset_ns": "BIGINT",
                "planned_requests": "INTEGER",
                "planned_measured": "INTEGER"
            }]'
        ),
        recursive := true
    )
)

INSERT INTO raw.trial BY NAME
SELECT
    $run_id AS run_id,
    number AS trial,
    * EXCLUDE (number)
FROM planned
