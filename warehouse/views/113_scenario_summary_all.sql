-- The same over all accepted trials, as if no block were excluded.
CREATE VIEW scenario_summary_all AS
SELECT * EXCLUDE (basis)
FROM staging.scenario_summaries
WHERE basis = 'all'
