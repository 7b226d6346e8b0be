-- How late requests were sent, by their place in the burst: the first of a burst shows how exactly
-- the generator wakes, the later ones how long it takes to send those before them. Accepted
-- attempts, measured window; percentiles are the nearest rank.
CREATE VIEW send_lag_by_position AS
SELECT
    run_id,
    trial,
    planned.scenario,
    planned.workload,
    planned.pool_size,
    planned.block,
    lag.burst_position,
    lag.n,
    lag.send_lag_mean_ns / 1e6 AS send_lag_mean_ms,
    lag.send_lag_p50_ns / 1e6 AS send_lag_p50_ms,
    lag.send_lag_p99_ns / 1e6 AS send_lag_p99_ms,
    lag.send_lag_max_ns / 1e6 AS send_lag_max_ms
FROM stored.send_lag AS lag
INNER JOIN staging.accepted_attempts USING (run_id, trial, attempt)
INNER JOIN raw.trial AS planned USING (run_id, trial)
