-- Kinds of errors in the accepted trials of a run, warm-up included, the most frequent first.
-- Manifests of older trials say nothing of them.
WITH told AS (
    SELECT
        attempt.trial,
        unnest(
            from_json(
                attempt.manifest -> '$.generator.errors',
                '[{"kind": "VARCHAR", "message": "VARCHAR", "count": "BIGINT"}]'
            )
        ) AS entry
    FROM raw.attempt
    INNER JOIN staging.accepted_attempts USING (run_id, trial, attempt)
    WHERE attempt.run_id = $1
)

SELECT
    entry.kind AS kind,
    arg_min(entry.message, trial) AS message,
    sum(entry.count)::BIGINT AS requests
FROM told
GROUP BY kind
ORDER BY requests DESC, kind
