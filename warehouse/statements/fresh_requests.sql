-- The requests of attempts, straight from their Parquet files; what is derived reads them here too.
INSERT INTO fresh_request BY NAME
SELECT
    run_id,
    trial,
    attempt,
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
FROM read_parquet($files, filename := TRUE) AS landed
INNER JOIN fresh_attempt ON landed.filename = fresh_attempt.requests_file
