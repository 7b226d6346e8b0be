-- Some metrics of all scenarios of some runs. The lists are parameters, so that the filter reaches
-- what the view is made of.
SELECT
    run_id,
    scenario,
    workload,
    pool_size,
    usable,
    failed,
    limited,
    metric,
    value
FROM staging.scenario_metrics
WHERE list_contains($1, run_id) AND list_contains($2, metric)
ORDER BY run_id, scenario, metric
