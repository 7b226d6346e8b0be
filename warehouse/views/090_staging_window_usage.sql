-- What each control group used in the window of an accepted attempt, as it was stored.
CREATE VIEW staging.window_usage AS
SELECT * EXCLUDE (attempt)
FROM stored.usage
INNER JOIN staging.accepted_attempts USING (run_id, trial, attempt)
