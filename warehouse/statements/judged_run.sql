-- One row for the whole run: its measured requests against its plan's.
SELECT
    NULL::INTEGER AS trial,
    'the run' AS subject,
    (SELECT count(*) FROM requests WHERE run_id = $run_id) AS measured,
    coalesce(sum(planned_measured), 0)::BIGINT AS planned_measured
FROM trials
WHERE run_id = $run_id
