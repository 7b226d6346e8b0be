-- How often the comparisons of one A/A run came to a verdict.
WITH found AS (
    SELECT unnest(
        from_json(
            $rows::JSON,
            '[{
                "scenario": "VARCHAR",
                "metric": "VARCHAR",
                "variant": "VARCHAR",
                "baseline": "VARCHAR",
                "work": "DOUBLE",
                "blocks": "INTEGER",
                "pairs": "INTEGER",
                "ratio": "DOUBLE",
                "ratio_low": "DOUBLE",
                "ratio_high": "DOUBLE",
                "sd_log_ratio": "DOUBLE",
                "delta": "DOUBLE",
                "noise_floor": "DOUBLE",
                "comparisons": "INTEGER",
                "decided": "INTEGER",
                "indicated": "INTEGER",
                "share": "DOUBLE",
                "share_low": "DOUBLE",
                "share_high": "DOUBLE",
                "subsets": "INTEGER",
                "subsets_decided": "INTEGER",
                "subsets_indicated": "INTEGER"
            }]'
        ),
        recursive := true
    )
)

INSERT INTO raw.aa_result BY NAME
SELECT
    $run_id AS run_id,
    $host_key AS host_key,
    $experiment AS experiment,
    *,
    (SELECT created_at FROM raw.run WHERE run_id = $run_id) AS measured_at
FROM found
