-- The newest run of each experiment, the experiment of the newest run first.
SELECT
    plan ->> '$.experiment.name' AS experiment,
    arg_max(run_id, (created_at, run_id)) AS run_id
FROM raw.run
GROUP BY experiment
ORDER BY max(created_at) DESC, run_id DESC
