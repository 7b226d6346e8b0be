-- One row a scenario of a run, over its usable trials without those of excluded blocks.
CREATE VIEW scenario_summary AS
SELECT * EXCLUDE (basis)
FROM staging.scenario_summaries
WHERE basis = 'counted'
