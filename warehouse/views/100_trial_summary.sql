-- One row a planned trial: what its window gave.
--
-- A percentile is the nearest rank, the ceil(p * n)-th smallest: a value that was observed, never
-- one in between. A request that failed ranks as infinitely slow, end to end and in its response;
-- where a percentile or the maximum falls on one there is NULL, and no mean where any failed. The other phases
-- are over the requests that went through them. No requests give NULLs and n = 0. Means are of
-- whole nanoseconds, so the order in which rows are added up cannot change them.
CREATE VIEW trial_summary AS
WITH ranked AS (
    SELECT
        *,
        CASE WHEN outcome = 'done' THEN end_to_end_ns::DOUBLE ELSE 'inf' END AS ranked_ns,
        CASE WHEN outcome = 'done' THEN response_ns::DOUBLE ELSE 'inf' END AS answered_ns
    FROM staging.phases
    WHERE accepted AND NOT warm_up
),

timed AS (
    SELECT
        run_id,
        trial,
        count(*) AS n,
        count(*) FILTER (outcome = 'done') AS done,
        count(*) FILTER (outcome <> 'done') AS failed,
        count(DISTINCT backend_pid) AS backends,
        avg(send_lag_ns) AS send_lag_mean_ns,
        quantile_disc(send_lag_ns, [0.5, 0.9, 0.95, 0.99]) AS send_lag_ranked_ns,
        max(send_lag_ns) AS send_lag_max_ns,
        avg(acquire_wait_ns) AS acquire_wait_mean_ns,
        quantile_disc(acquire_wait_ns, [0.5, 0.9, 0.95, 0.99]) AS acquire_wait_ranked_ns,
        max(acquire_wait_ns) AS acquire_wait_max_ns,
        avg(round_trip_ns) AS round_trip_mean_ns,
        quantile_disc(round_trip_ns, [0.5, 0.9, 0.95, 0.99]) AS round_trip_ranked_ns,
        max(round_trip_ns) AS round_trip_max_ns,
        avg(release_ns) AS release_mean_ns,
        quantile_disc(release_ns, [0.5, 0.9, 0.95, 0.99]) AS release_ranked_ns,
        max(release_ns) AS release_max_ns,
        CASE WHEN bool_and(outcome = 'done') THEN avg(end_to_end_ns) END AS end_to_end_mean_ns,
        quantile_disc(ranked_ns, [0.5, 0.9, 0.95, 0.99]) AS end_to_end_ranked_ns,
        max(ranked_ns) AS end_to_end_max_ns,
        CASE WHEN bool_and(outcome = 'done') THEN avg(response_ns) END AS response_mean_ns,
        quantile_disc(answered_ns, [0.5, 0.9, 0.95, 0.99]) AS response_ranked_ns,
        max(answered_ns) AS response_max_ns
    FROM ranked
    GROUP BY run_id, trial
),

used AS (
    SELECT
        run_id,
        trial,
        any_value(cpu_cores) FILTER (control_group = 'database') AS database_cpu_cores,
        any_value(periods) FILTER (control_group = 'database') AS database_periods,
        any_value(throttled_periods) FILTER (control_group = 'database') AS database_throttled_periods,
        any_value(throttled_share) FILTER (control_group = 'database') AS database_throttled_share,
        any_value(throttled_ms) FILTER (control_group = 'database') AS database_throttled_ms,
        any_value(memory_mib) FILTER (control_group = 'database') AS database_memory_mib,
        any_value(memory_anon_mib) FILTER (control_group = 'database') AS database_memory_anon_mib,
        any_value(memory_shmem_mib) FILTER (control_group = 'database') AS database_memory_shmem_mib,
        any_value(memory_file_mib) FILTER (control_group = 'database') AS database_memory_file_mib,
        any_value(cpu_cores) FILTER (control_group = 'generator') AS generator_cpu_cores,
        any_value(throttled_share) FILTER (control_group = 'generator') AS generator_throttled_share,
        any_value(cpu_cores) FILTER (control_group = 'harness') AS harness_cpu_cores
    FROM staging.window_usage
    GROUP BY run_id, trial
),

pooled AS (
    SELECT
        run_id,
        trial,
        sum(if(busy, to_ns - from_ns, 0)) / sum(to_ns - from_ns) AS pool_busy_share
    FROM staging.pool_levels
    GROUP BY run_id, trial
)

SELECT
    trials.run_id,
    trials.trial,
    trials.attempt,
    trials.scenario,
    trials.workload,
    trials.pool_size,
    trials.concurrency,
    trials.block,
    trials.position,
    trials.excluded,
    trials.planned_measured AS planned,
    coalesce(timed.n, 0) AS n,
    coalesce(timed.done, 0) AS done,
    coalesce(timed.failed, 0) AS failed,
    timed.done / ((trials.end_ns - trials.warm_up_ns) / 1e9) AS rate_per_s,
    timed.backends,
    timed.send_lag_mean_ns / 1e6 AS send_lag_mean_ms,
    timed.send_lag_ranked_ns[1] / 1e6 AS send_lag_p50_ms,
    timed.send_lag_ranked_ns[2] / 1e6 AS send_lag_p90_ms,
    timed.send_lag_ranked_ns[3] / 1e6 AS send_lag_p95_ms,
    timed.send_lag_ranked_ns[4] / 1e6 AS send_lag_p99_ms,
    timed.send_lag_max_ns / 1e6 AS send_lag_max_ms,
    timed.acquire_wait_mean_ns / 1e6 AS acquire_wait_mean_ms,
    timed.acquire_wait_ranked_ns[1] / 1e6 AS acquire_wait_p50_ms,
    timed.acquire_wait_ranked_ns[2] / 1e6 AS acquire_wait_p90_ms,
    timed.acquire_wait_ranked_ns[3] / 1e6 AS acquire_wait_p95_ms,
    timed.acquire_wait_ranked_ns[4] / 1e6 AS acquire_wait_p99_ms,
    timed.acquire_wait_max_ns / 1e6 AS acquire_wait_max_ms,
    timed.round_trip_mean_ns / 1e6 AS round_trip_mean_ms,
    timed.round_trip_ranked_ns[1] / 1e6 AS round_trip_p50_ms,
    timed.round_trip_ranked_ns[2] / 1e6 AS round_trip_p90_ms,
    timed.round_trip_ranked_ns[3] / 1e6 AS round_trip_p95_ms,
    timed.round_trip_ranked_ns[4] / 1e6 AS round_trip_p99_ms,
    timed.round_trip_max_ns / 1e6 AS round_trip_max_ms,
    timed.release_mean_ns / 1e6 AS release_mean_ms,
    timed.release_ranked_ns[1] / 1e6 AS release_p50_ms,
    timed.release_ranked_ns[2] / 1e6 AS release_p90_ms,
    timed.release_ranked_ns[3] / 1e6 AS release_p95_ms,
    timed.release_ranked_ns[4] / 1e6 AS release_p99_ms,
    timed.release_max_ns / 1e6 AS release_max_ms,
    timed.end_to_end_mean_ns / 1e6 AS end_to_end_mean_ms,
    nullif(timed.end_to_end_ranked_ns[1], 'inf') / 1e6 AS end_to_end_p50_ms,
    nullif(timed.end_to_end_ranked_ns[2], 'inf') / 1e6 AS end_to_end_p90_ms,
    nullif(timed.end_to_end_ranked_ns[3], 'inf') / 1e6 AS end_to_end_p95_ms,
    nullif(timed.end_to_end_ranked_ns[4], 'inf') / 1e6 AS end_to_end_p99_ms,
    nullif(timed.end_to_end_max_ns, 'inf') / 1e6 AS end_to_end_max_ms,
    timed.response_mean_ns / 1e6 AS response_mean_ms,
    nullif(timed.response_ranked_ns[1], 'inf') / 1e6 AS response_p50_ms,
    nullif(timed.response_ranked_ns[2], 'inf') / 1e6 AS response_p90_ms,
    nullif(timed.response_ranked_ns[3], 'inf') / 1e6 AS response_p95_ms,
    nullif(timed.response_ranked_ns[4], 'inf') / 1e6 AS response_p99_ms,
    nullif(timed.response_max_ns, 'inf') / 1e6 AS response_max_ms,
    pooled.pool_busy_share,
    used.database_cpu_cores,
    used.database_periods,
    used.database_throttled_periods,
    used.database_throttled_share,
    used.database_throttled_ms,
    used.database_memory_mib,
    used.database_memory_anon_mib,
    used.database_memory_shmem_mib,
    used.database_memory_file_mib,
    used.generator_cpu_cores,
    used.generator_throttled_share,
    used.harness_cpu_cores
FROM trials
LEFT JOIN timed USING (run_id, trial)
LEFT JOIN pooled USING (run_id, trial)
LEFT JOIN used USING (run_id, trial)
