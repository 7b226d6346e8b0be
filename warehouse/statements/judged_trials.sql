-- One row a planned trial, starting from the plan, so that a trial that is missing cannot vanish:
-- how many of its requests are not as they must be, and in what way.
WITH wanted AS (
    SELECT
        trial,
        coalesce(planned_requests, counted_requests) AS requests,
        coalesce(planned_measured, counted_measured) AS measured
    FROM trials
    WHERE run_id = $run_id
),

doubled AS (
    SELECT
        trial,
        sum(rows - distinct_rows)::BIGINT AS doubled
    FROM (
        SELECT
            trial,
            count(*) AS rows,
            count(DISTINCT seq) AS distinct_rows
        FROM raw.request
        WHERE run_id = $run_id
        GROUP BY trial, attempt
    )
    GROUP BY trial
),

found AS (
    SELECT
        trial,
        count(*) AS requests,
        count(*) FILTER (NOT warm_up) AS measured,
        count(*) FILTER (
            warm_up <> (scheduled_ns < trials.warm_up_ns) OR scheduled_ns >= trials.end_ns
        ) AS mismarked,
        count(*) FILTER (requested_ns < scheduled_ns) AS early,
        -- greatest() passes over the instants that did not happen.
        count(*) FILTER (
            acquired_ns < requested_ns
            OR received_ns < greatest(requested_ns, acquired_ns)
            OR released_ns < greatest(requested_ns, acquired_ns, received_ns)
            OR ended_ns < greatest(requested_ns, acquired_ns, received_ns, released_ns)
        ) AS disordered,
        count(*) FILTER (
            outcome = 'done'
            AND (end_to_end_ns = send_lag_ns + acquire_wait_ns + round_trip_ns + release_ns)
            IS NOT TRUE
        ) AS without_sum
    FROM staging.phases
    INNER JOIN trials USING (run_id, trial)
    WHERE run_id = $run_id AND phases.accepted
    GROUP BY trial
)

SELECT
    trial,
    'trial ' || trial || ' (' || trials.scenario || ')' AS subject,
    trials.status,
    trials.attempts,
    (trials.attempt IS NOT NULL) AS accepted,
    coalesce(found.requests, 0) AS requests,
    wanted.requests AS planned_requests,
    coalesce(found.measured, 0) AS measured,
    wanted.measured AS planned_measured,
    if(trials.concurrency IS NULL, 'planned', 'counted') AS source,
    coalesce(
        coalesce(found.requests, 0) = wanted.requests
        AND coalesce(found.measured, 0) = wanted.measured,
        -- A closed loop that was not measured is somebody else's failure.
        trials.attempt IS NULL
    ) AS whole,
    coalesce(trials.stopped_by = 'full', FALSE) AS full,
    coalesce(doubled.doubled, 0) AS doubled,
    coalesce(found.mismarked, 0) AS mismarked,
    coalesce(found.early, 0) AS early,
    coalesce(found.disordered, 0) AS disordered,
    coalesce(found.without_sum, 0) AS without_sum,
    CASE
        -- A trial that was not measured is somebody else's failure.
        WHEN trials.attempt IS NULL THEN 'none'
        WHEN trials.maintenance_changed THEN 'some'
        WHEN NOT trials.maintenance_changed THEN 'none'
        ELSE 'not known'
    END AS maintenance
FROM trials
LEFT JOIN wanted USING (trial)
LEFT JOIN found USING (trial)
LEFT JOIN doubled USING (trial)
WHERE trials.run_id = $run_id
ORDER BY trial
