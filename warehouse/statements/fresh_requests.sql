-- One attempt's requests, straight from its Parquet file; what is derived reads them here too.
INSERT INTO fresh_request BY NAME
SELECT
    $run_id AS run_id,
    $trial AS trial,
    $attempt AS attempt,
    seq,
    burst,
    burst_position,
    warm_up,
    scheduled_ns,
    requested_ns,
    acquired_ns,
    received_ns,
    released_ns,
    ended_ns,
    outcome,
    sqlstate,
    backend_pid
FROM read_parquet($file)
