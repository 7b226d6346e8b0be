-- One row a planned trial, with what became of it; the view `trials` adds what the gates say.
CREATE VIEW staging.trials AS
WITH attempts AS (
    SELECT
        run_id,
        trial,
        count(*) AS attempts,
        arg_max(status, attempt) AS newest_status
    FROM raw.attempt
    GROUP BY run_id, trial
),

in_force AS (
    SELECT
        limits.run_id,
        limits.trial,
        limits.attempt,
        limits.control_group,
        coalesce(
            before_period_us = asked_period_us AND after_period_us = asked_period_us
            AND before_quota_us = asked_quota_us AND after_quota_us = asked_quota_us,
            FALSE
        ) AS in_force
    FROM staging.limits
    INNER JOIN (
        SELECT
            run_id,
            trial,
            unnest(['database', 'generator']) AS control_group,
            round(unnest([
                database_cores * database_period_ms, generator_cores * generator_period_ms
            ]) * 1000) AS asked_quota_us,
            round(unnest([database_period_ms, generator_period_ms]) * 1000) AS asked_period_us
        FROM raw.trial
    ) AS asked USING (run_id, trial, control_group)
)

SELECT
    planned.run_id,
    planned.trial,
    planned.block,
    planned.position,
    planned.scenario,
    planned.workload,
    planned.pool_size,
    planned.concurrency,
    planned.pool_reset,
    planned.selection,
    planned.statement_cache,
    planned.acquire_timeout_s,
    planned.query_timeout_s,
    planned.database_cores,
    planned.database_period_ms,
    planned.generator_cores,
    planned.generator_period_ms,
    planned.start_offset_ns,
    planned.planned_requests,
    planned.planned_measured,
    coalesce(attempts.attempts, 0) AS attempts,
    accepted.attempt,
    CASE
        WHEN accepted.attempt IS NOT NULL THEN 'accepted'
        ELSE coalesce(attempts.newest_status, 'missing')
    END AS status,
    TRY_CAST(attempt.manifest ->> '$.origin_at' AS TIMESTAMPTZ) AT TIME ZONE 'UTC' AS origin_at,
    attempt.warm_up_ns,
    attempt.end_ns,
    CASE
        WHEN planned.database_cores IS NOT NULL THEN on_database.in_force
    END AS database_limit_in_force,
    CASE
        WHEN planned.generator_cores IS NOT NULL THEN on_generator.in_force
    END AS generator_limit_in_force,
    TRY_CAST(attempt.manifest ->> '$.generator.gc_collections' AS BIGINT) AS gc_collections,
    TRY_CAST(attempt.manifest ->> '$.maintenance.changed' AS BOOLEAN) AS maintenance_changed,
    TRY_CAST(attempt.manifest ->> '$.generator.connections_opened' AS INTEGER) AS connections_opened,
    TRY_CAST(attempt.manifest ->> '$.generator.connections_lost' AS INTEGER) AS connections_lost,
    TRY_CAST(attempt.manifest ->> '$.generator.processes' AS INTEGER) AS generator_processes,
    attempt.manifest ->> '$.generator.cpus' AS generator_cpus,
    attempt.schedule_hash,
    TRY_CAST(attempt.manifest ->> '$.counted_requests' AS BIGINT) AS counted_requests,
    TRY_CAST(attempt.manifest ->> '$.counted_measured' AS BIGINT) AS counted_measured,
    attempt.manifest ->> '$.stopped_by' AS stopped_by
FROM raw.trial AS planned
LEFT JOIN attempts USING (run_id, trial)
LEFT JOIN staging.accepted_attempts AS accepted USING (run_id, trial)
LEFT JOIN raw.attempt
    ON planned.run_id = attempt.run_id
    AND planned.trial = attempt.trial
    AND accepted.attempt = attempt.attempt
LEFT JOIN in_force AS on_database
    ON attempt.run_id = on_database.run_id
    AND attempt.trial = on_database.trial
    AND attempt.attempt = on_database.attempt
    AND on_database.control_group = 'database'
LEFT JOIN in_force AS on_generator
    ON attempt.run_id = on_generator.run_id
    AND attempt.trial = on_generator.trial
    AND attempt.attempt = on_generator.attempt
    AND on_generator.control_group = 'generator'
