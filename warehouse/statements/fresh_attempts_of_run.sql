-- The attempts of a run whose raw requests are all still there: what was pruned stays as derived.
INSERT INTO fresh_attempt BY NAME
SELECT
    run_id,
    trial,
    attempt
FROM raw.attempt
LEFT JOIN (
    SELECT
        trial,
        attempt,
        count(*) AS found_rows
    FROM raw.request
    WHERE run_id = $1
    GROUP BY trial, attempt
) AS found USING (trial, attempt)
WHERE
    run_id = $1
    AND run_id NOT IN (SELECT run_id FROM raw.pruned)
    AND coalesce(found_rows, 0)
    = TRY_CAST(manifest ->> '$.files."requests.parquet".rows' AS BIGINT)
