-- How many connections of a pool were in use, how many requests waited for one, and how many were
-- outstanding, due but not ended: a step function over the window, summed up in slices of 100 ms (the last may be shorter). A step ends where a
-- level changes, and at each whole 100 ms, so that every step lies within one slice.
--
-- A request waits from its instant `requested` to `acquired`, and uses a connection from there to
-- `released`; what failed did so until it ended. Requests of the warm-up that reach into the window
-- count. With asyncpg's own pool one connection may be handed on before the instant at which it was
-- released is written, so a level can exceed the pool's size for a few microseconds.
INSERT INTO stored.pool_slice BY NAME
WITH changes AS (
    SELECT
        run_id,
        trial,
        attempt,
        unnest([
            {at_ns: scheduled_ns, due: 1, waiting: 0, taken: 0},
            {at_ns: ended_ns, due: -1, waiting: 0, taken: 0},
            {at_ns: requested_ns, due: 0, waiting: 1, taken: 0},
            {
                at_ns: if(requested_ns IS NULL, NULL, coalesce(acquired_ns, ended_ns)),
                due: 0,
                waiting: -1,
                taken: if(acquired_ns IS NULL, 0, 1)
            },
            {
                at_ns: if(acquired_ns IS NULL, NULL, coalesce(released_ns, ended_ns)),
                due: 0,
                waiting: 0,
                taken: -1
            }
        ], recursive := true)
    FROM fresh_request
),

attempts AS (
    SELECT
        run_id,
        trial,
        attempt,
        warm_up_ns,
        end_ns,
        pool_size
    FROM raw.attempt
    INNER JOIN fresh_attempt USING (run_id, trial, attempt)
    INNER JOIN raw.trial USING (run_id, trial)
),

bounds AS (
    SELECT
        run_id,
        trial,
        attempt,
        0 AS due,
        0 AS waiting,
        0 AS taken,
        unnest(list_append(range(warm_up_ns, end_ns, 100000000), end_ns)) AS at_ns
    FROM attempts
),

summed AS (
    SELECT
        run_id,
        trial,
        attempt,
        at_ns,
        sum(due)::INTEGER AS due,
        sum(waiting)::INTEGER AS waiting,
        sum(taken)::INTEGER AS taken
    FROM (
        SELECT * FROM changes
        UNION ALL BY NAME
        SELECT * FROM bounds
    )
    WHERE at_ns IS NOT NULL
    GROUP BY run_id, trial, attempt, at_ns
),

steps AS (
    SELECT
        run_id,
        trial,
        attempt,
        at_ns AS from_ns,
        lead(at_ns) OVER in_time AS to_ns,
        lead(at_ns) OVER in_time - at_ns AS lasts_ns,
        (sum(due) OVER in_time)::BIGINT AS outstanding,
        (sum(taken) OVER in_time)::BIGINT AS in_use,
        (sum(waiting) OVER in_time)::BIGINT AS pending
    FROM summed
    WINDOW in_time AS (PARTITION BY run_id, trial, attempt ORDER BY at_ns)
)

SELECT
    steps.run_id,
    steps.trial,
    steps.attempt,
    (from_ns - warm_up_ns) // 100000000 AS slice,
    min(from_ns) AS from_ns,
    max(to_ns) AS to_ns,
    sum(in_use * lasts_ns) / sum(lasts_ns) AS in_use_mean,
    max(in_use) AS in_use_max,
    sum(pending * lasts_ns) / sum(lasts_ns) AS pending_mean,
    max(pending) AS pending_max,
    min(outstanding) AS outstanding_min,
    sum(if(in_use >= 0.9 * pool_size, lasts_ns, 0))::BIGINT AS busy_ns
FROM steps
INNER JOIN attempts USING (run_id, trial, attempt)
WHERE from_ns >= warm_up_ns AND to_ns <= end_ns
GROUP BY steps.run_id, steps.trial, steps.attempt, slice
