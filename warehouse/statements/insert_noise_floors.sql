-- The noise floors that one A/A run gave; they were measured when it was.
WITH found AS (
    SELECT unnest(
        from_json(
            $rows::JSON,
            '[{
                "scenario": "VARCHAR",
                "metric": "VARCHAR",
                "blocks": "INTEGER",
                "ratio": "DOUBLE",
                "difference": "DOUBLE",
                "pairs": "INTEGER"
            }]'
        ),
        recursive := true
    )
)

INSERT INTO raw.noise_floor BY NAME
SELECT
    $host_key AS host_key,
    $experiment AS experiment,
    scenario,
    metric,
    blocks,
    ratio AS floor_ratio,
    difference AS floor_ms,
    pairs,
    $run_id AS aa_run_id,
    (SELECT created_at FROM raw.run WHERE run_id = $run_id) AS measured_at
FROM found
