-- Their counters.
INSERT INTO fresh_counter
SELECT counter.*
FROM raw.counter
SEMI JOIN fresh_attempt USING (run_id, trial, attempt)
WHERE run_id = $1
