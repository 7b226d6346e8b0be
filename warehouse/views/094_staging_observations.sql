-- What the gates judge: one row an accepted trial. NULL is what was not measured; infinite is what
-- has no bound because requests were not sent or did not end well.
CREATE VIEW staging.observations AS
WITH used AS (
    SELECT
        run_id,
        trial,
        any_value(throttled_share) FILTER (control_group = 'generator') AS generator_throttled_share,
        any_value(cpu_cores) FILTER (control_group = 'generator') AS generator_cpu_cores,
        any_value(cpu_cores) FILTER (control_group = 'harness') AS harness_cpu_cores
    FROM staging.window_usage
    GROUP BY run_id, trial
)

SELECT
    trials.run_id,
    trials.trial,
    trials.scenario,
    trials.block,
    -- A closed loop plans no number of requests and offers no rate.
    trials.planned_measured IS NOT NULL AS open_loop,
    trials.generator_cores IS NOT NULL AS generator_limited,
    later_lag_unbounded OR later_lag_mean_ns IS NOT NULL AS in_bursts,
    told.foreign_cpu_cores,
    used.harness_cpu_cores,
    told.steal_share,
    told.hiccup_max_ms,
    told.hiccup_share,
    told.suspended_ms,
    trials.maintenance_changed::DOUBLE AS maintenance,
    if(first_lag_unbounded, 'inf', first_lag_p99_ns / 1e6) AS send_lag_p99_ms,
    used.generator_throttled_share,
    used.generator_cpu_cores / trials.generator_processes AS generator_busy_share,
    told.loop_stall_ms,
    -- One that was lost and opened again is one.
    greatest(
        trials.connections_lost, trials.connections_opened - trials.pool_size
    )::DOUBLE AS connections,
    if(backlog_unbounded, 'inf', backlog_ns / 1e6) AS backlog_ms,
    trials.gc_collections::DOUBLE AS collections,
    -- Counted, not one less a share: one of a hundred is a hundredth, and no more.
    (coalesce(trials.planned_measured, measured.n) - measured.done)
    / nullif(coalesce(trials.planned_measured, measured.n), 0) AS unfinished_share,
    if(later_lag_unbounded, 'inf', later_lag_mean_ns) / nullif(later_end_to_end_mean_ns, 0)
        AS burst_lag_share
FROM staging.trials
INNER JOIN stored.attempt AS told USING (run_id, trial, attempt)
INNER JOIN stored.measured AS measured USING (run_id, trial, attempt)
LEFT JOIN used USING (run_id, trial)
