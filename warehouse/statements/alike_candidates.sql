-- All runs of the experiments that the given runs belong to, the oldest first, with what tells
-- whether they are alike; without the plans' trials, which are most of their text, and without
-- what is never the same twice, so that the facts of alike runs are equal texts.
SELECT
    run_id,
    created_at,
    plan ->> '$.label' AS label,
    CAST(plan -> '$.experiment' AS VARCHAR) AS experiment,
    CAST(
        json_merge_patch(facts, '{"started_at": null, "command": null, "run_id": null}') AS VARCHAR
    ) AS facts,
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
