-- One row a run, out of its documents; NULL for what it has not written yet, or what
-- cannot be read: one odd document must not hide all the other runs.
CREATE VIEW runs AS
WITH counted AS (
    SELECT
        run_id,
        count(*) AS planned_trials,
        count(attempt) AS landed_trials,
        coalesce(sum(planned_measured), 0)::BIGINT AS planned_measured
    FROM staging.trials
    GROUP BY run_id
)

SELECT
    run_id,
    plan ->> '$.label' AS label,
    plan ->> '$.experiment.name' AS experiment,
    plan ->> '$.experiment.question' AS question,
    coalesce(outcome ->> '$.state', 'running') AS state,
    created_at,
    TRY_CAST(facts ->> '$.started_at' AS TIMESTAMPTZ) AT TIME ZONE 'UTC' AS started_at,
    TRY_CAST(outcome ->> '$.finished_at' AS TIMESTAMPTZ) AT TIME ZONE 'UTC' AS finished_at,
    outcome ->> '$.error' AS error,
    TRY_CAST(plan ->> '$.experiment.design.repetitions' AS INTEGER) AS repetitions,
    TRY_CAST(plan ->> '$.experiment.design.seed' AS BIGINT) AS seed,
    TRY_CAST(plan ->> '$.experiment.design.warm_up_s' AS DOUBLE) AS warm_up_s,
    TRY_CAST(plan ->> '$.experiment.design.measure_s' AS DOUBLE) AS measure_s,
    counted.planned_trials,
    counted.landed_trials,
    counted.planned_measured,
    newest.success AS validated,
    newest.validated_at,
    pruned.pruned_at,
    facts ->> '$.limits.mode' AS limits_mode,
    facts ->> '$.limits.state' AS limits_state,
    facts ->> '$.limits.reason' AS limits_reason,
    facts ->> '$.limits.remedy' AS limits_remedy,
    CAST(facts ->> '$.pinning.database' AS VARCHAR) AS pinned_database_cpus,
    CAST(facts ->> '$.pinning.generator' AS VARCHAR) AS pinned_generator_cpus,
    facts ->> '$.host.host_key' AS host_key,
    facts ->> '$.host.cpu_model' AS host_cpu_model,
    TRY_CAST(facts ->> '$.host.cpu_count' AS INTEGER) AS host_cpu_count,
    facts ->> '$.host.kernel' AS host_kernel,
    facts ->> '$.database.kind' AS database_kind,
    facts ->> '$.database.version' AS database_version,
    plan ->> '$.experiment_source' AS experiment_source,
    plan ->> '$.experiment_hash' AS experiment_hash,
    facts ->> '$.version' AS version,
    TRY_CAST(outcome ->> '$.wall_s.start_up' AS DOUBLE) AS start_up_s,
    TRY_CAST(outcome ->> '$.wall_s.trials' AS DOUBLE) AS trials_s,
    TRY_CAST(outcome ->> '$.wall_s.landing' AS DOUBLE) AS landing_s,
    facts
FROM raw.run
LEFT JOIN counted USING (run_id)
LEFT JOIN staging.newest_validations AS newest USING (run_id)
LEFT JOIN raw.pruned AS pruned USING (run_id)
