-- One row a pair of runs, scenario that both have, and metric. Ask for two runs at a time: all
-- pairs of a thousand runs are a million.
CREATE VIEW run_comparison AS
SELECT
    first.run_id AS run_a,
    second.run_id AS run_b,
    scenario,
    first.workload,
    first.pool_size,
    metric,
    first.value AS value_a,
    second.value AS value_b,
    second.value / nullif(first.value, 0) AS ratio,
    second.value - first.value AS difference,
    first.limited AS limited_a,
    second.limited AS limited_b
FROM staging.scenario_metrics AS first
INNER JOIN staging.scenario_metrics AS second USING (scenario, metric)
WHERE first.run_id <> second.run_id
