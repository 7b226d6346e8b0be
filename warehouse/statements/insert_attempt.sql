-- One attempt's manifest.
INSERT INTO raw.attempt
SELECT
    $run_id,
    $trial,
    $attempt,
    $digest,
    $manifest::JSON ->> '$.status',
    $manifest::JSON ->> '$.schedule_hash',
    CAST($manifest::JSON ->> '$.warm_up_ns' AS BIGINT),
    CAST($manifest::JSON ->> '$.end_ns' AS BIGINT),
    $manifest,
    $loaded_at
