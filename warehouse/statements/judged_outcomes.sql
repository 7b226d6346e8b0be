-- One row a trial and outcome that occurs in its window, and whether the experiment allows it.
-- Only what is there is judged: what is missing is for the counts to find.
WITH allowed AS (
    SELECT
        from_json(plan -> '$.experiment.validation.allowed_outcomes', '["VARCHAR"]') AS outcomes
    FROM raw.run
    WHERE run_id = $run_id
)

SELECT
    trial,
    'trial ' || trial || ' (' || scenario || ')' AS subject,
    outcome,
    count(*) AS requests,
    array_to_string(any_value(allowed.outcomes), ', ') AS allowed_outcomes,
    coalesce(list_contains(any_value(allowed.outcomes), outcome), FALSE) AS allowed
FROM requests
CROSS JOIN allowed
WHERE run_id = $run_id
GROUP BY trial, scenario, outcome
ORDER BY trial, outcome
