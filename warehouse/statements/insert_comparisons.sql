-- The comparisons of one run, all in one go.
WITH compared AS (
    SELECT unnest(
        from_json(
            $comparisons::JSON,
            '[{
                "number": "INTEGER",
                "kind": "VARCHAR",
                "factor": "VARCHAR",
                "workload": "VARCHAR",
                "scenario": "VARCHAR",
                "baseline": "VARCHAR",
                "level": "VARCHAR",
                "baseline_level": "VARCHAR",
                "metric": "VARCHAR",
                "blocks": "INTEGER",
                "ratio": "DOUBLE",
                "ratio_low": "DOUBLE",
                "ratio_high": "DOUBLE",
                "difference": "DOUBLE",
                "p_value": "DOUBLE",
                "p_sign_flip": "DOUBLE",
                "adjusted_low": "DOUBLE",
                "adjusted_high": "DOUBLE",
                "p_holm": "DOUBLE",
                "delta": "DOUBLE",
                "noise_floor": "DOUBLE",
                "relevant": "DOUBLE",
                "verdict": "VARCHAR",
                "reason": "VARCHAR",
                "blocks_needed": "INTEGER"
            }]'
        ),
        recursive := true
    )
)

INSERT INTO raw.comparison BY NAME
SELECT
    $run_id AS run_id,
    $compared_at AS compared_at,
    *
FROM compared
