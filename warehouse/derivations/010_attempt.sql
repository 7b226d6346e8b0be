-- What views ask of a manifest again and again: the limits as the kernel read them back, what the
-- generator counted, and what the meters beside the trial saw.
--
-- Quota and period are compared in whole microseconds, as the kernel keeps them. Without real-time
-- priority the hiccups' meter would have waited for what is under test: then it tells nothing. The
-- meters watch somewhat longer than a window that closes early: shares are of the time they watched.
INSERT INTO stored.attempt BY NAME
WITH told AS (
    SELECT
        run_id,
        trial,
        attempt,
        manifest,
        TRY_CAST(manifest ->> '$.limits.database.before.cores' AS DOUBLE) AS database_before_cores,
        TRY_CAST(manifest ->> '$.limits.database.before.period_ms' AS DOUBLE)
            AS database_before_period_ms,
        TRY_CAST(manifest ->> '$.limits.database.after.cores' AS DOUBLE) AS database_after_cores,
        TRY_CAST(manifest ->> '$.limits.database.after.period_ms' AS DOUBLE)
            AS database_after_period_ms,
        TRY_CAST(manifest ->> '$.limits.generator.before.cores' AS DOUBLE)
            AS generator_before_cores,
        TRY_CAST(manifest ->> '$.limits.generator.before.period_ms' AS DOUBLE)
            AS generator_before_period_ms,
        TRY_CAST(manifest ->> '$.limits.generator.after.cores' AS DOUBLE) AS generator_after_cores,
        TRY_CAST(manifest ->> '$.limits.generator.after.period_ms' AS DOUBLE)
            AS generator_after_period_ms,
        TRY_CAST(manifest ->> '$.meters.machine.between_ns' AS DOUBLE) AS between_ns,
        TRY_CAST(manifest ->> '$.meters.machine.cpus' AS DOUBLE) AS cpus,
        TRY_CAST(manifest ->> '$.meters.machine.foreign_cpu_ns' AS DOUBLE) AS foreign_cpu_ns,
        TRY_CAST(manifest ->> '$.meters.machine.steal_ns' AS DOUBLE) AS steal_ns,
        TRY_CAST(manifest ->> '$.meters.suspended_ns' AS DOUBLE) AS suspended_ns,
        TRY_CAST(manifest ->> '$.meters.hiccups.real_time' AS BOOLEAN) AS hiccups_told,
        TRY_CAST(manifest ->> '$.meters.hiccups.max_ns' AS DOUBLE) AS hiccup_max_ns,
        TRY_CAST(manifest ->> '$.meters.hiccups.late_total_ns' AS DOUBLE) AS hiccup_total_ns,
        TRY_CAST(manifest ->> '$.meters.hiccups.cpus' AS DOUBLE) AS hiccup_cpus,
        TRY_CAST(manifest ->> '$.meters.loop.max_ns' AS DOUBLE) AS loop_max_ns
    FROM raw.attempt
    INNER JOIN fresh_attempt USING (run_id, trial, attempt)
)

SELECT
    run_id,
    trial,
    attempt,
    $derivation AS derivation,
    TRY_CAST(manifest ->> '$.origin_at' AS TIMESTAMPTZ) AT TIME ZONE 'UTC' AS origin_at,
    round(database_before_cores * database_before_period_ms * 1000)::BIGINT
        AS database_before_quota_us,
    round(database_before_period_ms * 1000)::BIGINT AS database_before_period_us,
    round(database_after_cores * database_after_period_ms * 1000)::BIGINT
        AS database_after_quota_us,
    round(database_after_period_ms * 1000)::BIGINT AS database_after_period_us,
    round(generator_before_cores * generator_before_period_ms * 1000)::BIGINT
        AS generator_before_quota_us,
    round(generator_before_period_ms * 1000)::BIGINT AS generator_before_period_us,
    round(generator_after_cores * generator_after_period_ms * 1000)::BIGINT
        AS generator_after_quota_us,
    round(generator_after_period_ms * 1000)::BIGINT AS generator_after_period_us,
    TRY_CAST(manifest ->> '$.generator.gc_collections' AS BIGINT) AS gc_collections,
    TRY_CAST(manifest ->> '$.maintenance.changed' AS BOOLEAN) AS maintenance_changed,
    TRY_CAST(manifest ->> '$.generator.connections_opened' AS INTEGER) AS connections_opened,
    TRY_CAST(manifest ->> '$.generator.connections_lost' AS INTEGER) AS connections_lost,
    TRY_CAST(manifest ->> '$.generator.processes' AS INTEGER) AS generator_processes,
    manifest ->> '$.generator.cpus' AS generator_cpus,
    TRY_CAST(manifest ->> '$.counted_requests' AS BIGINT) AS counted_requests,
    TRY_CAST(manifest ->> '$.counted_measured' AS BIGINT) AS counted_measured,
    manifest ->> '$.stopped_by' AS stopped_by,
    foreign_cpu_ns / nullif(between_ns, 0) AS foreign_cpu_cores,
    steal_ns / nullif(between_ns * cpus, 0) AS steal_share,
    CASE WHEN hiccups_told THEN hiccup_max_ns END / 1e6 AS hiccup_max_ms,
    CASE WHEN hiccups_told THEN hiccup_total_ns END / nullif(between_ns * hiccup_cpus, 0)
        AS hiccup_share,
    suspended_ns / 1e6 AS suspended_ms,
    -- greatest() passes over NULL, which must stay: it was not measured.
    CASE WHEN loop_max_ns IS NOT NULL THEN greatest(
        0, loop_max_ns - coalesce(CASE WHEN hiccups_told THEN hiccup_max_ns END, 0)
    ) END / 1e6 AS loop_stall_ms
FROM told
