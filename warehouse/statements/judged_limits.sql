-- One row an accepted trial and control group for which a limit was asked: whether it was in force,
-- and whether the readings at the window's edges say how often it stopped the group. Where limits
-- could not be set, or were not asked for, the run says so everywhere and nothing is judged here.
WITH asked AS (
    SELECT
        trial,
        attempt,
        'trial ' || trial || ' (' || scenario || ')' AS subject,
        unnest(['database', 'generator']) AS control_group,
        unnest([database_cores, generator_cores]) AS cores,
        unnest([database_period_ms, generator_period_ms]) AS period_ms,
        unnest([database_limit_in_force, generator_limit_in_force]) AS in_force
    FROM trials
    INNER JOIN runs USING (run_id)
    WHERE
        run_id = $run_id
        AND attempt IS NOT NULL
        AND coalesce(limits_state, '') NOT IN ('unlimited', 'not asked')
),

readings AS (
    SELECT
        trial,
        control_group,
        count(DISTINCT moment) AS edges
    FROM counters
    WHERE
        run_id = $run_id
        AND accepted
        AND moment IN ('window_start', 'window_end')
        AND nr_periods IS NOT NULL
        AND nr_throttled IS NOT NULL
    GROUP BY trial, control_group
)

SELECT
    asked.trial,
    asked.subject || ', ' || asked.control_group AS subject,
    format('{:g} us in each {:g} us', cores * period_ms * 1000, period_ms * 1000) AS asked,
    coalesce(before_quota_us || ' us in each ' || before_period_us || ' us', 'no limit') AS before,
    coalesce(after_quota_us || ' us in each ' || after_period_us || ' us', 'no limit') AS after,
    asked.in_force,
    coalesce(readings.edges, 0) AS edges
FROM asked
LEFT JOIN readings USING (trial, control_group)
LEFT JOIN staging.limits
    ON limits.run_id = $run_id
    AND asked.trial = limits.trial
    AND asked.attempt = limits.attempt
    AND asked.control_group = limits.control_group
WHERE cores IS NOT NULL
ORDER BY asked.trial, asked.control_group
