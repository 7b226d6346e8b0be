-- What the gates judge: one row an accepted trial. NULL is what was not measured; infinite is what
-- has no bound because requests were not sent or did not end well.
--
-- The 99th percentile is the nearest rank, but never the last one: of fewer than a hundred bursts
-- the second slowest counts, because one hiccup says nothing about a scenario. A backlog is told by
-- the fastest tenth of the requests: bursts and single stalls leave it alone, a queue does not.
CREATE VIEW staging.observations AS
WITH ranked AS (
    SELECT
        phases.run_id,
        phases.trial,
        burst_position,
        outcome,
        end_to_end_ns,
        coalesce(send_lag_ns::DOUBLE, 'inf') AS send_lag_ns,
        CASE WHEN outcome = 'done' THEN end_to_end_ns::DOUBLE ELSE 'inf' END AS ranked_ns,
        3 * (scheduled_ns - warm_up_ns) // nullif(end_ns - warm_up_ns, 0) AS third
    FROM staging.phases
    INNER JOIN staging.trials USING (run_id, trial)
    WHERE phases.accepted AND NOT phases.warm_up
),

timed AS (
    SELECT
        run_id,
        trial,
        count(*) AS n,
        count(*) FILTER (outcome = 'done') AS done,
        list_sort(list(send_lag_ns) FILTER (burst_position = 0), 'DESC') AS slowest_lags_ns,
        quantile_disc(ranked_ns, 0.1) FILTER (third = 0) AS early_ns,
        quantile_disc(ranked_ns, 0.1) FILTER (third = 2) AS late_ns,
        avg(send_lag_ns) FILTER (burst_position > 0) AS later_lag_ns,
        avg(end_to_end_ns) FILTER (burst_position > 0 AND outcome = 'done') AS later_end_to_end_ns
    FROM ranked
    GROUP BY run_id, trial
),

used AS (
    SELECT
        run_id,
        trial,
        any_value(throttled_share) FILTER (control_group = 'generator') AS generator_throttled_share,
        any_value(cpu_cores) FILTER (control_group = 'harness') AS harness_cpu_cores
    FROM staging.window_usage
    GROUP BY run_id, trial
),

metered AS (
    SELECT
        run_id,
        trial,
        attempt,
        TRY_CAST(manifest ->> '$.meters.machine.between_ns' AS DOUBLE) AS between_ns,
        TRY_CAST(manifest ->> '$.meters.machine.cpus' AS DOUBLE) AS cpus,
        TRY_CAST(manifest ->> '$.meters.machine.foreign_cpu_ns' AS DOUBLE) AS foreign_cpu_ns,
        TRY_CAST(manifest ->> '$.meters.machine.steal_ns' AS DOUBLE) AS steal_ns,
        TRY_CAST(manifest ->> '$.meters.suspended_ns' AS DOUBLE) AS suspended_ns,
        -- Without priority the meter would have waited for what is under test.
        TRY_CAST(manifest ->> '$.meters.hiccups.real_time' AS BOOLEAN) AS hiccups_told,
        TRY_CAST(manifest ->> '$.meters.hiccups.max_ns' AS DOUBLE) AS hiccup_max_ns,
        TRY_CAST(manifest ->> '$.meters.hiccups.late_total_ns' AS DOUBLE) AS hiccup_total_ns,
        TRY_CAST(manifest ->> '$.meters.hiccups.cpus' AS DOUBLE) AS hiccup_cpus,
        TRY_CAST(manifest ->> '$.meters.loop.max_ns' AS DOUBLE) AS loop_max_ns
    FROM raw.attempt
)

SELECT
    trials.run_id,
    trials.trial,
    trials.scenario,
    trials.block,
    -- A closed loop plans no number of requests and offers no rate.
    trials.planned_measured IS NOT NULL AS open_loop,
    trials.generator_cores IS NOT NULL AS generator_limited,
    timed.later_lag_ns IS NOT NULL AS in_bursts,
    metered.foreign_cpu_ns / nullif(metered.between_ns, 0) AS foreign_cpu_cores,
    used.harness_cpu_cores,
    metered.steal_ns / nullif(metered.between_ns * metered.cpus, 0) AS steal_share,
    CASE WHEN metered.hiccups_told THEN metered.hiccup_max_ns END / 1e6 AS hiccup_max_ms,
    CASE WHEN metered.hiccups_told THEN metered.hiccup_total_ns END
    / nullif((trials.end_ns - trials.warm_up_ns) * metered.hiccup_cpus, 0) AS hiccup_share,
    metered.suspended_ns / 1e6 AS suspended_ms,
    trials.maintenance_changed::DOUBLE AS maintenance,
    timed.slowest_lags_ns[
        least(
            len(timed.slowest_lags_ns), greatest(2, len(timed.slowest_lags_ns) // 100 + 1)
        )::INTEGER
    ] / 1e6 AS send_lag_p99_ms,
    used.generator_throttled_share,
    -- greatest() passes over NULL, which must stay: it was not measured.
    CASE WHEN metered.loop_max_ns IS NOT NULL THEN greatest(
        0,
        metered.loop_max_ns
        - coalesce(CASE WHEN metered.hiccups_told THEN metered.hiccup_max_ns END, 0)
    ) END / 1e6 AS loop_stall_ms,
    (
        trials.connections_lost + greatest(0, trials.connections_opened - trials.pool_size)
    )::DOUBLE AS connections,
    CASE
        WHEN isinf(timed.late_ns) THEN timed.late_ns
        WHEN isinf(timed.early_ns) OR timed.late_ns < timed.early_ns THEN 0
        ELSE (timed.late_ns - timed.early_ns) / 1e6
    END AS backlog_ms,
    trials.gc_collections::DOUBLE AS collections,
    1 - coalesce(timed.done, 0)
    / nullif(coalesce(trials.planned_measured, timed.n), 0) AS unfinished_share,
    timed.later_lag_ns / nullif(timed.later_end_to_end_ns, 0) AS burst_lag_share
FROM staging.trials
LEFT JOIN timed USING (run_id, trial)
LEFT JOIN used USING (run_id, trial)
LEFT JOIN metered
    ON trials.run_id = metered.run_id
    AND trials.trial = metered.trial
    AND trials.attempt = metered.attempt
WHERE trials.attempt IS NOT NULL
