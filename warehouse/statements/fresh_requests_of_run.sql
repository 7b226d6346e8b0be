-- Their requests.
INSERT INTO fresh_request
SELECT request.*
FROM raw.request
SEMI JOIN fresh_attempt USING (run_id, trial, attempt)
WHERE run_id = $1
