-- The runs of a host and experiment that have conclusions, the oldest first.
SELECT run_id
FROM raw.run
WHERE (facts ->> '$.host.host_key') = $1
AND (plan ->> '$.experiment.name') = $2
AND run_id IN (SELECT run_id FROM raw.drift)
ORDER BY run_id
