-- The pool over time: connections in use and requests that wait for one, in slices of 100 ms (the
-- last may be shorter) of the window of an accepted attempt. Means are over time.
CREATE VIEW pool_use AS
SELECT
    run_id,
    trial,
    planned.scenario,
    planned.workload,
    planned.pool_size,
    planned.block,
    used.slice,
    used.from_ns,
    used.to_ns,
    used.in_use_mean,
    used.in_use_max,
    used.pending_mean,
    used.pending_max
FROM stored.pool_slice AS used
INNER JOIN staging.accepted_attempts USING (run_id, trial, attempt)
INNER JOIN raw.trial AS planned USING (run_id, trial)
