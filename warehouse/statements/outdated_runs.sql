-- The runs with attempts of which nothing is stored, or something that other SQL derived.
SELECT DISTINCT attempt.run_id
FROM raw.attempt
LEFT JOIN stored.attempt AS told USING (run_id, trial, attempt)
LEFT JOIN stored.measured AS measured USING (run_id, trial, attempt)
WHERE
    told.derivation IS DISTINCT FROM $1
    OR measured.derivation IS DISTINCT FROM $1
ORDER BY attempt.run_id
