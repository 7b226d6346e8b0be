-- The attempts that land or are derived next, with their files where they land, and their rows.
CREATE OR REPLACE TEMP TABLE fresh_attempt AS
SELECT
    run_id,
    trial,
    attempt,
    ''::VARCHAR AS requests_file,
    ''::VARCHAR AS counters_file
FROM raw.attempt
LIMIT 0;

CREATE OR REPLACE TEMP TABLE fresh_request AS
SELECT * FROM raw.request
LIMIT 0;

CREATE OR REPLACE TEMP TABLE fresh_counter AS
SELECT * FROM raw.counter
LIMIT 0;
