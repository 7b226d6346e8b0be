-- Readings of the control groups: at the window's edges and inside it.
CREATE VIEW counters AS
SELECT
    counter.run_id,
    counter.trial,
    counter.attempt,
    coalesce(counter.attempt = accepted.attempt, FALSE) AS accepted,
    planned.scenario,
    planned.workload,
    planned.pool_size,
    planned.block,
    counter.control_group,
    counter.moment,
    counter.at_ns,
    counter.cpu_usage_ns,
    counter.nr_periods,
    counter.nr_throttled,
    counter.throttled_ns,
    counter.memory_bytes,
    counter.memory_anon_bytes,
    counter.memory_shmem_bytes,
    counter.memory_file_bytes,
    counter.pressure_us
FROM raw.counter
INNER JOIN raw.trial AS planned USING (run_id, trial)
LEFT JOIN staging.accepted_attempts AS accepted USING (run_id, trial)
