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
    planned.variant,
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
    told.origin_at,
    attempt.warm_up_ns,
    attempt.end_ns,
    CASE WHEN planned.database_cores IS NOT NULL AND attempt.attempt IS NOT NULL THEN coalesce(
        told.database_before_quota_us = round(database_cores * database_period_ms * 1000)
        AND told.database_before_period_us = round(database_period_ms * 1000)
        AND told.database_after_quota_us = round(database_cores * database_period_ms * 1000)
        AND told.database_after_period_us = round(database_period_ms * 1000),
        FALSE
    ) END AS database_limit_in_force,
    CASE WHEN planned.generator_cores IS NOT NULL AND attempt.attempt IS NOT NULL THEN coalesce(
        told.generator_before_quota_us = round(generator_cores * generator_period_ms * 1000)
        AND told.generator_before_period_us = round(generator_period_ms * 1000)
        AND told.generator_after_quota_us = round(generator_cores * generator_period_ms * 1000)
        AND told.generator_after_period_us = round(generator_period_ms * 1000),
        FALSE
    ) END AS generator_limit_in_force,
    told.gc_collections,
    told.maintenance_changed,
    told.connections_opened,
    told.connections_lost,
    told.generator_processes,
    told.generator_cpus,
    attempt.schedule_hash,
    told.counted_requests,
    told.counted_measured,
    told.stopped_by
FROM raw.trial AS planned
LEFT JOIN attempts USING (run_id, trial)
LEFT JOIN staging.accepted_attempts AS accepted USING (run_id, trial)
LEFT JOIN raw.attempt
    ON planned.run_id = attempt.run_id
    AND planned.trial = attempt.trial
    AND accepted.attempt = attempt.attempt
LEFT JOIN stored.attempt AS told
    ON planned.run_id = told.run_id
    AND planned.trial = told.trial
    AND accepted.attempt = told.attempt
