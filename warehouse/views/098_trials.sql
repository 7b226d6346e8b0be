-- One row a planned trial, with what became of it and whether its block is left out.
CREATE VIEW trials AS
SELECT
    planned.*,
    exclusions.reason IS NOT NULL AS excluded,
    exclusions.reason AS excluded_reason
FROM staging.trials AS planned
LEFT JOIN staging.exclusions USING (run_id, block)
