-- What the kernel said about each limit at the two sides of an attempt's window, in its own unit.
-- Quota and period are compared in whole microseconds, as the kernel keeps them.
CREATE VIEW staging.limits AS
WITH found AS (
    SELECT
        run_id,
        trial,
        attempt,
        unnest(['database', 'generator']) AS control_group,
        unnest([manifest -> '$.limits.database', manifest -> '$.limits.generator']) AS limits
    FROM raw.attempt
),

in_numbers AS (
    SELECT
        run_id,
        trial,
        attempt,
        control_group,
        TRY_CAST(limits ->> '$.before.cores' AS DOUBLE) AS before_cores,
        TRY_CAST(limits ->> '$.before.period_ms' AS DOUBLE) AS before_period_ms,
        TRY_CAST(limits ->> '$.after.cores' AS DOUBLE) AS after_cores,
        TRY_CAST(limits ->> '$.after.period_ms' AS DOUBLE) AS after_period_ms
    FROM found
)

SELECT
    run_id,
    trial,
    attempt,
    control_group,
    CAST(round(before_cores * before_period_ms * 1000) AS BIGINT) AS before_quota_us,
    CAST(round(before_period_ms * 1000) AS BIGINT) AS before_period_us,
    CAST(round(after_cores * after_period_ms * 1000) AS BIGINT) AS after_quota_us,
    CAST(round(after_period_ms * 1000) AS BIGINT) AS after_period_us
FROM in_numbers
