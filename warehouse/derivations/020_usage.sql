-- What each control group used in the window: the difference of the two readings at its edges, over
-- the time that really lay between them. Memory is the maximum of all readings, because the
-- kernel's own peak carries over from earlier trials.
INSERT INTO stored.usage BY NAME
WITH edges AS (
    SELECT
        run_id,
        trial,
        attempt,
        control_group,
        max(COLUMNS('_ns$|^nr_')) FILTER (moment = 'window_end')
        - max(COLUMNS('_ns$|^nr_')) FILTER (moment = 'window_start') AS '\0',
        max(memory_bytes) AS memory_bytes,
        max(memory_anon_bytes) AS memory_anon_bytes,
        max(memory_shmem_bytes) AS memory_shmem_bytes,
        max(memory_file_bytes) AS memory_file_bytes
    FROM fresh_counter
    GROUP BY run_id, trial, attempt, control_group
)

SELECT
    run_id,
    trial,
    attempt,
    control_group,
    cpu_usage_ns / nullif(at_ns, 0) AS cpu_cores,
    nr_periods AS periods,
    nr_throttled AS throttled_periods,
    nr_throttled / nullif(nr_periods, 0) AS throttled_share,
    throttled_ns / 1e6 AS throttled_ms,
    memory_bytes / 1048576 AS memory_mib,
    memory_anon_bytes / 1048576 AS memory_anon_mib,
    memory_shmem_bytes / 1048576 AS memory_shmem_mib,
    memory_file_bytes / 1048576 AS memory_file_mib
FROM edges
