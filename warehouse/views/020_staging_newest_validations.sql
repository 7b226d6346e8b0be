-- The last validation of each run, and whether everything in it held.
CREATE VIEW staging.newest_validations AS
WITH judged AS (
    SELECT
        run_id,
        validation_id,
        max(validated_at) AS validated_at,
        bool_and(success) AS success
    FROM raw.validation
    GROUP BY run_id, validation_id
)

SELECT
    run_id,
    arg_max(validation_id, (validated_at, validation_id)) AS validation_id,
    max(validated_at) AS validated_at,
    arg_max(success, (validated_at, validation_id)) AS success
FROM judged
GROUP BY run_id
