-- What a scenario brought upon itself: of each gate that limits or warns and did not pass, the worst
-- trial's words and in which trials it was. A trial that is left out limits nothing on the basis
-- `counted`, because there the cause may have come from outside.
CREATE VIEW staging.limitations AS
WITH failed AS (
    SELECT
        gates.run_id,
        gates.scenario,
        gates.trial,
        number,
        effect,
        message,
        coalesce(observed, 'inf') AS ranked,
        unnest(if(excluded, ['all'], ['all', 'counted'])) AS basis
    FROM gates
    INNER JOIN main.trials USING (run_id, trial)
    WHERE effect <> 'excludes' AND NOT passed
),

told AS (
    SELECT
        run_id,
        scenario,
        basis,
        number,
        effect,
        arg_max(message, ranked) || ' (trial ' || string_agg(trial::VARCHAR, ', ' ORDER BY trial) || ')'
            AS words
    FROM failed
    GROUP BY run_id, scenario, basis, number, effect
)

SELECT
    run_id,
    scenario,
    basis,
    string_agg(words, '; ' ORDER BY number) FILTER (effect = 'limits') AS reasons,
    string_agg(words, '; ' ORDER BY number) FILTER (effect = 'warns') AS warnings
FROM told
GROUP BY run_id, scenario, basis
