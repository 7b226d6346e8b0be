-- How late requests were sent, by their place in the burst; the nearest rank.
INSERT INTO stored.send_lag BY NAME
SELECT
    run_id,
    trial,
    attempt,
    burst_position,
    count(*) AS n,
    avg(requested_ns - scheduled_ns) AS send_lag_mean_ns,
    quantile_disc(requested_ns - scheduled_ns, 0.5) AS send_lag_p50_ns,
    quantile_disc(requested_ns - scheduled_ns, 0.99) AS send_lag_p99_ns,
    max(requested_ns - scheduled_ns) AS send_lag_max_ns
FROM fresh_request
WHERE NOT warm_up AND requested_ns IS NOT NULL
GROUP BY run_id, trial, attempt, burst_position
