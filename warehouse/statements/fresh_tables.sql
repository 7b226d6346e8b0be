-- The raw rows of the attempts that are derived next.
CREATE OR REPLACE TEMP TABLE fresh_attempt AS
SELECT
    run_id,
    trial,
    attempt
FROM raw.attempt
LIMIT 0;

CREATE OR REPLACE TEMP TABLE fresh_request AS
SELECT * FROM raw.request
LIMIT 0;

CREATE OR REPLACE TEMP TABLE fresh_counter AS
SELECT * FROM raw.counter
LIMIT 0;
