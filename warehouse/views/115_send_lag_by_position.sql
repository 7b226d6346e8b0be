-- How late requests were sent, by their place in the burst: the first of a burst shows how exactly
-- the generator wakes, the later ones how long it takes to send those before them. Accepted
-- attempts, measured window; percentiles are the nearest rank.
CREATE VIEW send_lag_by_position AS
SELECT
    run_id,
    trial,
    scenario,
    workload,
    pool_size,
    block,
    burst_position,
    count(*) AS n,
    avg(send_lag_ns) / 1e6 AS send_lag_mean_ms,
    quantile_disc(send_lag_ns, 0.5) / 1e6 AS send_lag_p50_ms,
    quantile_disc(send_lag_ns, 0.99) / 1e6 AS send_lag_p99_ms,
    max(send_lag_ns) / 1e6 AS send_lag_max_ms
FROM staging.phases
WHERE accepted AND NOT warm_up AND send_lag_ns IS NOT NULL
GROUP BY run_id, trial, scenario, workload, pool_size, block, burst_position
