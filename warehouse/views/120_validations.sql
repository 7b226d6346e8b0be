-- One row a result: what was expected of a run, and whether it held. A run may have been validated
-- several times; the last one counts.
CREATE VIEW validations AS
SELECT
    result.validation_id,
    result.run_id,
    result.validated_at,
    result.validation_id = newest.validation_id AS newest,
    result.number,
    result.expectation,
    result.statement,
    result.message,
    result.trial,
    result.success,
    result.observed,
    result.expected,
    result.details
FROM raw.validation AS result
INNER JOIN staging.newest_validations AS newest USING (run_id)
