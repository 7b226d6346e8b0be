-- A run's scenarios: workloads in the order of the experiment's file, pools by size.
WITH workloads AS (
    SELECT
        json_extract_string(value, '$.name') AS workload,
        CAST(key AS INTEGER) AS place
    FROM raw.run, json_each(plan, '$.experiment.workload')
    WHERE run_id = $1
)

SELECT scenario_summary.*
FROM scenario_summary
LEFT JOIN workloads USING (workload)
WHERE run_id = $1
ORDER BY place, pool_size, scenario
