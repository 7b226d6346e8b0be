-- What the kernel said about each limit at the two sides of an attempt's window, in its own unit.
CREATE VIEW staging.limits AS
SELECT
    run_id,
    trial,
    attempt,
    unnest(['database', 'generator']) AS control_group,
    unnest([database_before_quota_us, generator_before_quota_us]) AS before_quota_us,
    unnest([database_before_period_us, generator_before_period_us]) AS before_period_us,
    unnest([database_after_quota_us, generator_after_quota_us]) AS after_quota_us,
    unnest([database_after_period_us, generator_after_period_us]) AS after_period_us
FROM stored.attempt
