-- One row a workload: all its trials must have had the same planned send times and window.
SELECT
    NULL::INTEGER AS trial,
    'workload ' || workload AS subject,
    count(DISTINCT coalesce(schedule_hash, 'not known')) AS schedules
FROM trials
WHERE run_id = $run_id AND attempt IS NOT NULL
GROUP BY workload
ORDER BY workload
