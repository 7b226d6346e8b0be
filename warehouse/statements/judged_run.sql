-- One row for the whole run: its measured requests against its plan's.
SELECT
    NULL::INTEGER AS trial,
    'the run' AS subject,
    coalesce(sum(found.measured), 0)::BIGINT AS measured,
    coalesce(sum(trials.planned_measured), 0)::BIGINT AS planned_measured
FROM trials
LEFT JOIN (
    SELECT
        trial,
        count(*) AS measured
    FROM requests
    WHERE run_id = $run_id
    GROUP BY trial
) AS found USING (trial)
-- How many requests a closed loop sends is not planned.
WHERE trials.run_id = $run_id AND trials.concurrency IS NULL
