-- What is analysed: accepted attempts, requests planned within the measured window.
CREATE VIEW requests AS
SELECT * EXCLUDE (accepted, warm_up)
FROM all_requests
WHERE accepted AND NOT warm_up
