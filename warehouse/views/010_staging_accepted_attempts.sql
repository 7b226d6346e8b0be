-- The attempt of each trial that counts: the last one that was measured completely.
CREATE VIEW staging.accepted_attempts AS
SELECT
    run_id,
    trial,
    max(attempt) AS attempt
FROM raw.attempt
WHERE status = 'complete'
GROUP BY run_id, trial
