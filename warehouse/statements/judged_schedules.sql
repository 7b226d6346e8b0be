-- One row a workload and block: all its trials in the block, whatever the pool, must have had the
-- same planned send times and window. Drawn arrivals differ from block to block. Closed loops plan
-- no send times.
SELECT
    NULL::INTEGER AS trial,
    'workload ' || workload || ', block ' || block AS subject,
    count(DISTINCT coalesce(schedule_hash, 'not known')) AS schedules
FROM trials
WHERE run_id = $run_id AND attempt IS NOT NULL AND concurrency IS NULL
GROUP BY workload, block
ORDER BY workload, block
