-- The counters of attempts, straight from their Parquet files. The word "group" is SQL's own.
INSERT INTO fresh_counter BY NAME
SELECT
    run_id,
    trial,
    attempt,
    "group" AS control_group,
    moment,
    at_ns,
    cpu_usage_ns,
    nr_periods,
    nr_throttled,
    throttled_ns,
    memory_bytes,
    memory_anon_bytes,
    memory_shmem_bytes,
    memory_file_bytes,
    pressure_us
FROM read_parquet($files, filename := TRUE) AS landed
INNER JOIN fresh_attempt ON landed.filename = fresh_attempt.counters_file
