-- One attempt's counters, straight from its Parquet file. The word "group" is SQL's own.
INSERT INTO fresh_counter BY NAME
SELECT
    $run_id AS run_id,
    $trial AS trial,
    $attempt AS attempt,
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
FROM read_parquet($file)
