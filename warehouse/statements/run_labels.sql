-- What a person can call each run by, the oldest first; from the plans alone, which is quick.
SELECT
    run_id,
    plan ->> '$.label' AS label
FROM raw.run
ORDER BY created_at, run_id
