-- By what two equal conditions differed on a host; the newest measurement is the one that counts.
CREATE VIEW noise_floors AS
SELECT
    *,
    measured_at = max(measured_at) OVER (
        PARTITION BY host_key, experiment, scenario, metric, blocks
    ) AS newest
FROM raw.noise_floor
