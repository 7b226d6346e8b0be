-- Quantiles of each trial by the nearest rank: every trial is sorted once, and each probability
-- picks its place. The small subtraction keeps 0.07 * 100 = 7.000000000000001 at rank 7.
WITH sorted AS (
    SELECT
        workload,
        pool_size,
        scenario,
        trial,
        block,
        list_sort(list(acquire_wait_ms) FILTER (acquire_wait_ms IS NOT NULL)) AS acquire_wait,
        list_sort(list(round_trip_ms) FILTER (round_trip_ms IS NOT NULL)) AS round_trip,
        list_sort(list(CASE WHEN outcome = 'done' THEN end_to_end_ms ELSE 'inf' END)) AS end_to_end
    FROM requests
    WHERE run_id = $2
    GROUP BY workload, pool_size, scenario, trial, block
),

asked AS (
    SELECT unnest($1::DOUBLE[]) AS probability
)

SELECT
    workload,
    pool_size,
    scenario,
    trial,
    block,
    probability,
    acquire_wait[
        greatest(1, ceil(probability * len(acquire_wait) - 1e-9)::BIGINT)
    ] AS acquire_wait_ms,
    round_trip[greatest(1, ceil(probability * len(round_trip) - 1e-9)::BIGINT)] AS round_trip_ms,
    nullif(
        end_to_end[greatest(1, ceil(probability * len(end_to_end) - 1e-9)::BIGINT)], 'inf'
    ) AS end_to_end_ms
FROM sorted
CROSS JOIN asked
ORDER BY workload, pool_size, scenario, trial, probability
