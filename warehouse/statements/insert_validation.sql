-- The results of one validation, all in one go.
WITH results AS (
    SELECT unnest(
        from_json(
            $results::JSON,
            '[{
                "number": "INTEGER",
                "expectation": "VARCHAR",
                "statement": "VARCHAR",
                "message": "VARCHAR",
                "trial": "INTEGER",
                "success": "BOOLEAN",
                "observed": "VARCHAR",
                "expected": "VARCHAR",
                "details": "JSON"
            }]'
        ),
        recursive := true
    )
)

INSERT INTO raw.validation BY NAME
SELECT
    $validation_id AS validation_id,
    $run_id AS run_id,
    $validated_at AS validated_at,
    *
FROM results
