-- The runs that were made before $before and still have raw rows, the oldest first, with how many
-- those are; not those whose label is kept.
WITH found AS (
    SELECT
        run_id,
        count(*) AS requests
    FROM raw.request
    GROUP BY run_id
),

read AS (
    SELECT
        run_id,
        count(*) AS counters
    FROM raw.counter
    GROUP BY run_id
)

SELECT
    run_id,
    plan ->> '$.label' AS label,
    created_at,
    coalesce(found.requests, 0) AS requests,
    coalesce(read.counters, 0) AS counters
FROM raw.run
LEFT JOIN found USING (run_id)
LEFT JOIN read USING (run_id)
WHERE
    created_at < $before
    AND NOT coalesce(list_contains($kept_labels::VARCHAR[], label), FALSE)
    AND coalesce(found.requests, read.counters, 0) > 0
ORDER BY created_at, run_id
