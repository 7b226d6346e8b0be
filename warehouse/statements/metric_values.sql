-- Some metrics of all scenarios of some runs: only the columns asked for are computed. The range is
-- what reaches the stored rows; a list of runs alone would be looked through only afterwards.
SELECT
    run_id,
    scenario,
    workload,
    pool_size,
    usable,
    failed,
    limited,
    COLUMNS(metric -> list_contains($metrics, metric))
FROM scenario_summary
WHERE
    run_id BETWEEN list_min($runs) AND list_max($runs)
    AND list_contains($runs, run_id)
ORDER BY run_id, scenario
