-- The blocks that are left out, each with every reason: one spoilt trial takes its block along, so
-- that what is left out cannot depend on how a scenario behaves.
CREATE VIEW staging.exclusions AS
SELECT
    run_id,
    block,
    string_agg(message || ' (trial ' || trial || ')', '; ' ORDER BY trial, number) AS reason
FROM gates
WHERE effect = 'excludes' AND NOT passed
GROUP BY run_id, block
