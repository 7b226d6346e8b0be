-- The pool over time: connections in use and requests that wait for one, in slices of 100 ms (the
-- last may be shorter) of the window of an accepted attempt. Means are over time.
CREATE VIEW pool_use AS
SELECT
    levels.run_id,
    levels.trial,
    trials.scenario,
    trials.workload,
    trials.pool_size,
    trials.block,
    levels.slice,
    min(levels.from_ns) AS from_ns,
    max(levels.to_ns) AS to_ns,
    sum(levels.in_use * (levels.to_ns - levels.from_ns)) / sum(levels.to_ns - levels.from_ns)
        AS in_use_mean,
    max(levels.in_use) AS in_use_max,
    sum(levels.pending * (levels.to_ns - levels.from_ns)) / sum(levels.to_ns - levels.from_ns)
        AS pending_mean,
    max(levels.pending) AS pending_max
FROM staging.pool_levels AS levels
INNER JOIN trials USING (run_id, trial)
GROUP BY
    levels.run_id,
    levels.trial,
    trials.scenario,
    trials.workload,
    trials.pool_size,
    trials.block,
    levels.slice
