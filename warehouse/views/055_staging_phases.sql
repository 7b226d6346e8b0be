-- Every request with its phases in whole nanoseconds: the one place where they are derived. A
-- phase is NULL where one of its two instants did not happen.
CREATE VIEW staging.phases AS
SELECT
    request.*,
    planned.scenario,
    planned.workload,
    planned.pool_size,
    planned.block,
    coalesce(request.attempt = accepted.attempt, FALSE) AS accepted,
    requested_ns - scheduled_ns AS send_lag_ns,
    acquired_ns - requested_ns AS acquire_wait_ns,
    received_ns - acquired_ns AS round_trip_ns,
    released_ns - received_ns AS release_ns,
    released_ns - scheduled_ns AS end_to_end_ns,
    received_ns - scheduled_ns AS response_ns
FROM raw.request
INNER JOIN raw.trial AS planned USING (run_id, trial)
LEFT JOIN staging.accepted_attempts AS accepted USING (run_id, trial)
