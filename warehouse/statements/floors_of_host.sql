-- The noise floors that hold for an experiment on a host.
SELECT
    scenario,
    metric,
    blocks,
    floor_ratio
FROM noise_floors
WHERE host_key = $host_key
AND experiment = $experiment
AND newest
ORDER BY scenario, metric, blocks
