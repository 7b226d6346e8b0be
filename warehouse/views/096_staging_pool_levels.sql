-- How many connections of a pool were in use, and how many requests waited for one, as a step
-- function over the window of an accepted attempt. A step ends where a level changes, and at each
-- whole 100 ms, so that every step lies within one slice of that length.
--
-- A request waits from its instant `requested` to `acquired`, and uses a connection from there to
-- `released`; what failed did so until it ended. Requests of the warm-up that reach into the window
-- count. With asyncpg's own pool one connection may be handed on before the instant at which it was
-- released is written, so a level can exceed the pool's size for a few microseconds.
CREATE VIEW staging.pool_levels AS
WITH changes AS (
    SELECT
        run_id,
        trial,
        unnest([
            {at_ns: requested_ns, waiting: 1, taken: 0},
            {
                at_ns: coalesce(acquired_ns, ended_ns),
                waiting: -1,
                taken: if(acquired_ns IS NULL, 0, 1)
            },
            {
                at_ns: if(acquired_ns IS NULL, NULL, coalesce(released_ns, ended_ns)),
                waiting: 0,
                taken: -1
            }
        ], recursive := true)
    FROM staging.phases
    WHERE accepted AND requested_ns IS NOT NULL
),

bounds AS (
    SELECT
        run_id,
        trial,
        unnest(list_append(range(warm_up_ns, end_ns, 100000000), end_ns)) AS at_ns
    FROM trials
    WHERE attempt IS NOT NULL
),

summed AS (
    SELECT
        run_id,
        trial,
        at_ns,
        sum(waiting) AS waiting,
        sum(taken) AS taken
    FROM (
        SELECT * FROM changes
        UNION ALL BY NAME
        SELECT
            *,
            0 AS waiting,
            0 AS taken
        FROM bounds
    )
    WHERE at_ns IS NOT NULL
    GROUP BY run_id, trial, at_ns
),

steps AS (
    SELECT
        run_id,
        trial,
        at_ns AS from_ns,
        lead(at_ns) OVER in_time AS to_ns,
        (sum(taken) OVER in_time)::BIGINT AS in_use,
        (sum(waiting) OVER in_time)::BIGINT AS pending
    FROM summed
    WINDOW in_time AS (PARTITION BY run_id, trial ORDER BY at_ns)
)

SELECT
    steps.run_id,
    steps.trial,
    steps.from_ns,
    steps.to_ns,
    (steps.from_ns - trials.warm_up_ns) // 100000000 AS slice,
    steps.in_use,
    steps.pending,
    steps.in_use >= 0.9 * trials.pool_size AS busy
FROM steps
INNER JOIN trials USING (run_id, trial)
WHERE steps.from_ns >= trials.warm_up_ns AND steps.to_ns <= trials.end_ns
