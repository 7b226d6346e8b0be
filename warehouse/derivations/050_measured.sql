-- What an attempt's measured window gave: one row an attempt, also where it holds no request.
--
-- A percentile is the nearest rank, the ceil(p * n)-th smallest: a value that was observed, never
-- one in between. A request that failed ranks as infinitely slow, end to end and in its response:
-- where a percentile or the maximum falls on one there is NULL, and no mean where any failed. The
-- other phases are over the requests that went through them. Means are of whole nanoseconds, so the
-- order in which rows are added up cannot change them.
--
-- `slowest_ns` holds as many of the slowest requests that were done as the 99th percentile over all
-- of the scenario's trials together can need: one in a hundred of each, and the rank itself. Closed
-- loops differ in how many requests they send, so they keep twice as many.
--
-- For the gates: the 99th percentile of the send lag of each burst's first request is the nearest
-- rank, but never the last one: of fewer than a hundred bursts the second slowest counts, because
-- one hiccup says nothing about a scenario; of fewer than three nothing is said. A backlog is how
-- many more requests are outstanding at the least in the last third of the window than in the first,
-- in the time that it takes to answer as many: bursts and single stalls end, a queue that grows
-- does not. Unbounded is what falls on requests that were not sent, and a backlog of which nothing
-- was answered.
--
-- `answered` counts answers that came within the window, whenever their requests were due: what
-- was really served in that time.
INSERT INTO stored.measured BY NAME
WITH attempts AS (
    SELECT
        run_id,
        trial,
        attempt,
        warm_up_ns,
        end_ns,
        planned_measured,
        (
            SELECT count(*) FROM raw.trial AS sibling
            WHERE sibling.run_id = planned.run_id AND sibling.scenario = planned.scenario
        ) AS repetitions
    FROM raw.attempt
    INNER JOIN fresh_attempt USING (run_id, trial, attempt)
    INNER JOIN raw.trial AS planned USING (run_id, trial)
),

phases AS (
    SELECT
        *,
        outcome = 'done' AS is_done,
        requested_ns - scheduled_ns AS send_lag_ns,
        acquired_ns - requested_ns AS acquire_wait_ns,
        received_ns - acquired_ns AS round_trip_ns,
        released_ns - received_ns AS release_ns,
        released_ns - scheduled_ns AS end_to_end_ns,
        received_ns - scheduled_ns AS response_ns
    FROM fresh_request
    WHERE NOT warm_up
),

ranked AS (
    SELECT
        *,
        CASE WHEN is_done THEN end_to_end_ns::DOUBLE ELSE 'inf' END AS ranked_ns,
        CASE WHEN is_done THEN response_ns::DOUBLE ELSE 'inf' END AS answered_ns,
        coalesce(send_lag_ns::DOUBLE, 'inf') AS sent_ns
    FROM phases
    INNER JOIN attempts USING (run_id, trial, attempt)
),

summed AS (
    SELECT
        run_id,
        trial,
        attempt,
        count(*) AS n,
        count(*) FILTER (is_done) AS done,
        count(DISTINCT backend_pid) AS backends,
        avg(send_lag_ns) AS send_lag_mean_ns,
        quantile_disc(send_lag_ns, [0.5, 0.9, 0.95, 0.99]) AS send_lag_ns,
        max(send_lag_ns) AS send_lag_max_ns,
        avg(acquire_wait_ns) AS acquire_wait_mean_ns,
        quantile_disc(acquire_wait_ns, [0.5, 0.9, 0.95, 0.99]) AS acquire_wait_ns,
        max(acquire_wait_ns) AS acquire_wait_max_ns,
        avg(round_trip_ns) AS round_trip_mean_ns,
        quantile_disc(round_trip_ns, [0.5, 0.9, 0.95, 0.99]) AS round_trip_ns,
        max(round_trip_ns) AS round_trip_max_ns,
        avg(release_ns) AS release_mean_ns,
        quantile_disc(release_ns, [0.5, 0.9, 0.95, 0.99]) AS release_ns,
        max(release_ns) AS release_max_ns,
        CASE WHEN bool_and(is_done) THEN avg(end_to_end_ns) END AS end_to_end_mean_ns,
        quantile_disc(ranked_ns, [0.5, 0.9, 0.95, 0.99]) AS end_to_end_ns,
        max(ranked_ns) AS end_to_end_max_ns,
        CASE WHEN bool_and(is_done) THEN avg(response_ns) END AS response_mean_ns,
        quantile_disc(answered_ns, [0.5, 0.9, 0.95, 0.99]) AS response_ns,
        max(answered_ns) AS response_max_ns,
        list_sort(list(end_to_end_ns) FILTER (is_done), 'DESC') AS slowest_ns,
        list_sort(list(sent_ns) FILTER (burst_position = 0), 'DESC') AS first_lags_ns,
        avg(sent_ns) FILTER (burst_position > 0) AS later_lag_mean_ns,
        avg(end_to_end_ns) FILTER (burst_position > 0 AND is_done) AS later_end_to_end_mean_ns
    FROM ranked
    GROUP BY run_id, trial, attempt
),

judged AS (
    SELECT
        *,
        if(
            len(first_lags_ns) >= 3,
            first_lags_ns[greatest(2, len(first_lags_ns) // 100 + 1)],
            NULL
        ) AS first_lag_p99_ns
    FROM summed
),

served AS (
    SELECT
        run_id,
        trial,
        attempt,
        count(*) FILTER (
            outcome = 'done' AND received_ns >= warm_up_ns AND received_ns < end_ns
        ) AS answered
    FROM fresh_request
    INNER JOIN attempts USING (run_id, trial, attempt)
    GROUP BY run_id, trial, attempt
),

pooled AS (
    SELECT
        run_id,
        trial,
        attempt,
        sum(busy_ns) / sum(to_ns - from_ns) AS pool_busy_share,
        greatest(
            0,
            min(outstanding_min) FILTER (third = 2) - min(outstanding_min) FILTER (third = 0)
        ) AS piled_up
    FROM (
        SELECT
            used.*,
            3 * (from_ns - warm_up_ns) // (end_ns - warm_up_ns) AS third
        FROM stored.pool_slice AS used
        INNER JOIN attempts USING (run_id, trial, attempt)
    )
    GROUP BY run_id, trial, attempt
),

grown AS (
    SELECT
        attempts.run_id,
        attempts.trial,
        attempts.attempt,
        coalesce(answered, 0) AS answered,
        pool_busy_share,
        CASE
            WHEN piled_up = 0 THEN 0
            WHEN answered = 0 THEN 'inf'
            ELSE piled_up * (end_ns - warm_up_ns) / answered
        END::DOUBLE AS backlog_ns
    FROM attempts
    LEFT JOIN served USING (run_id, trial, attempt)
    LEFT JOIN pooled USING (run_id, trial, attempt)
)

SELECT
    attempts.run_id,
    attempts.trial,
    attempts.attempt,
    $derivation AS derivation,
    coalesce(n, 0) AS n,
    coalesce(done, 0) AS done,
    coalesce(n - done, 0) AS failed,
    answered,
    backends,
    send_lag_mean_ns,
    send_lag_ns[1] AS send_lag_p50_ns,
    send_lag_ns[2] AS send_lag_p90_ns,
    send_lag_ns[3] AS send_lag_p95_ns,
    send_lag_ns[4] AS send_lag_p99_ns,
    send_lag_max_ns,
    acquire_wait_mean_ns,
    acquire_wait_ns[1] AS acquire_wait_p50_ns,
    acquire_wait_ns[2] AS acquire_wait_p90_ns,
    acquire_wait_ns[3] AS acquire_wait_p95_ns,
    acquire_wait_ns[4] AS acquire_wait_p99_ns,
    acquire_wait_max_ns,
    round_trip_mean_ns,
    round_trip_ns[1] AS round_trip_p50_ns,
    round_trip_ns[2] AS round_trip_p90_ns,
    round_trip_ns[3] AS round_trip_p95_ns,
    round_trip_ns[4] AS round_trip_p99_ns,
    round_trip_max_ns,
    release_mean_ns,
    release_ns[1] AS release_p50_ns,
    release_ns[2] AS release_p90_ns,
    release_ns[3] AS release_p95_ns,
    release_ns[4] AS release_p99_ns,
    release_max_ns,
    end_to_end_mean_ns,
    nullif(end_to_end_ns[1], 'inf') AS end_to_end_p50_ns,
    nullif(end_to_end_ns[2], 'inf') AS end_to_end_p90_ns,
    nullif(end_to_end_ns[3], 'inf') AS end_to_end_p95_ns,
    nullif(end_to_end_ns[4], 'inf') AS end_to_end_p99_ns,
    nullif(end_to_end_max_ns, 'inf') AS end_to_end_max_ns,
    response_mean_ns,
    nullif(response_ns[1], 'inf') AS response_p50_ns,
    nullif(response_ns[2], 'inf') AS response_p90_ns,
    nullif(response_ns[3], 'inf') AS response_p95_ns,
    nullif(response_ns[4], 'inf') AS response_p99_ns,
    nullif(response_max_ns, 'inf') AS response_max_ns,
    slowest_ns[
        : greatest(n, planned_measured) * repetitions * if(planned_measured IS NULL, 2, 1) // 100 + 1
    ] AS slowest_ns,
    nullif(first_lag_p99_ns, 'inf') AS first_lag_p99_ns,
    coalesce(isinf(first_lag_p99_ns), FALSE) AS first_lag_unbounded,
    nullif(backlog_ns, 'inf')::BIGINT AS backlog_ns,
    coalesce(isinf(backlog_ns), FALSE) AS backlog_unbounded,
    nullif(later_lag_mean_ns, 'inf') AS later_lag_mean_ns,
    coalesce(isinf(later_lag_mean_ns), FALSE) AS later_lag_unbounded,
    later_end_to_end_mean_ns,
    pool_busy_share
FROM attempts
LEFT JOIN judged USING (run_id, trial, attempt)
LEFT JOIN grown USING (run_id, trial, attempt)
