-- One row a trial and control group: how often a counter that can only grow went back.
WITH steps AS (
    SELECT
        trial,
        scenario,
        control_group,
        cpu_usage_ns < lag(cpu_usage_ns IGNORE NULLS) OVER readings AS usage_back,
        nr_periods < lag(nr_periods IGNORE NULLS) OVER readings AS periods_back,
        nr_throttled < lag(nr_throttled IGNORE NULLS) OVER readings AS throttled_back,
        throttled_ns < lag(throttled_ns IGNORE NULLS) OVER readings AS stopped_back
    FROM counters
    WHERE run_id = $run_id AND accepted
    WINDOW readings AS (
        PARTITION BY trial, control_group
        ORDER BY moment = 'window_end', moment <> 'window_start', at_ns
    )
)

SELECT
    trial,
    'trial ' || trial || ' (' || scenario || '), ' || control_group AS subject,
    count(*) FILTER (usage_back OR periods_back OR throttled_back OR stopped_back) AS backward
FROM steps
GROUP BY trial, scenario, control_group
ORDER BY trial, control_group
