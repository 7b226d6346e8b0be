-- All runs of the experiments that the given runs belong to, the oldest first, with what tells
-- whether they are alike; without the plans' trials, which are most of their text.
SELECT
    run_id,
    created_at,
    plan ->> '$.label' AS label,
    CAST(plan -> '$.experiment' AS VARCHAR) AS experiment,
    CAST(facts AS VARCHAR) AS facts,
    coalesce(outcome ->> '$.state', 'running') AS state,
    newest.success AS validated
FROM raw.run
LEFT JOIN staging.newest_validations AS newest USING (run_id)
WHERE
    plan ->> '$.experiment.name' IN (
        SELECT plan ->> '$.experiment.name'
        FROM raw.run
        WHERE list_contains($1, run_id)
    )
ORDER BY created_at, run_id
