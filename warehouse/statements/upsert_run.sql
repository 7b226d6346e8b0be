-- One run's documents; $facts and $outcome are NULL until the run has written them.
INSERT OR REPLACE INTO raw.run
SELECT
    $run_id,
    $digest,
    $plan,
    $facts,
    $outcome,
    CAST($plan::JSON ->> '$.created_at' AS TIMESTAMPTZ) AT TIME ZONE 'UTC',
    $loaded_at
