-- One row an A/A run, scenario, metric, pair of conditions and number of blocks.
CREATE VIEW aa_results AS
SELECT
    *,
    run_id = max(run_id) OVER (PARTITION BY host_key, experiment, scenario) AS newest
FROM raw.aa_result
