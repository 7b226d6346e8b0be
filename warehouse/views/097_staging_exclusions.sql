-- The blocks that are left out, each with every reason: of each gate the worst trial's words, and in
-- which trials it was. One spoilt trial takes its block along, so that what is left out cannot
-- depend on how a scenario behaves.
CREATE VIEW staging.exclusions AS
WITH told AS (
    SELECT
        run_id,
        block,
        number,
        arg_max(message, coalesce(observed, 'inf'))
        || ' (trial ' || string_agg(trial::VARCHAR, ', ' ORDER BY trial) || ')' AS words
    FROM gates
    WHERE effect = 'excludes' AND NOT passed
    GROUP BY run_id, block, number
)

SELECT
    run_id,
    block,
    string_agg(words, '; ' ORDER BY number) AS reason
FROM told
GROUP BY run_id, block
