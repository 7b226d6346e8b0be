-- One row a scenario of a run: of each of a trial's numbers the median over its usable trials,
-- and the least and the greatest as <name>_min and <name>_max.
--
-- A trial without a number because requests failed in it counts as infinitely slow, so
-- failures cannot make a scenario look faster: NULL where the result falls on such a trial.
CREATE VIEW scenario_summary AS
WITH usable AS (
    SELECT
        * REPLACE (
            if(failed > 0, coalesce(end_to_end_mean_ms, 'inf'), end_to_end_mean_ms)
                AS end_to_end_mean_ms,
            if(failed > 0, coalesce(end_to_end_p50_ms, 'inf'), end_to_end_p50_ms)
                AS end_to_end_p50_ms,
            if(failed > 0, coalesce(end_to_end_p90_ms, 'inf'), end_to_end_p90_ms)
                AS end_to_end_p90_ms,
            if(failed > 0, coalesce(end_to_end_p95_ms, 'inf'), end_to_end_p95_ms)
                AS end_to_end_p95_ms,
            if(failed > 0, coalesce(end_to_end_p99_ms, 'inf'), end_to_end_p99_ms)
                AS end_to_end_p99_ms,
            if(failed > 0, coalesce(end_to_end_max_ms, 'inf'), end_to_end_max_ms)
                AS end_to_end_max_ms,
            if(failed > 0, coalesce(response_mean_ms, 'inf'), response_mean_ms)
                AS response_mean_ms,
            if(failed > 0, coalesce(response_p50_ms, 'inf'), response_p50_ms)
                AS response_p50_ms,
            if(failed > 0, coalesce(response_p90_ms, 'inf'), response_p90_ms)
                AS response_p90_ms,
            if(failed > 0, coalesce(response_p95_ms, 'inf'), response_p95_ms)
                AS response_p95_ms,
            if(failed > 0, coalesce(response_p99_ms, 'inf'), response_p99_ms)
                AS response_p99_ms,
            if(failed > 0, coalesce(response_max_ms, 'inf'), response_max_ms)
                AS response_max_ms
        )
    FROM trial_summary
    WHERE attempt IS NOT NULL
),

metrics AS (
    SELECT * EXCLUDE (
        trial, attempt, workload, pool_size, concurrency, block, position, planned
    )
    FROM usable
),

over_trials AS (
    SELECT
        run_id,
        scenario,
        count(*) AS usable,
        sum(n)::BIGINT AS n,
        sum(done)::BIGINT AS done,
        sum(failed)::BIGINT AS failed,
        median(COLUMNS(* EXCLUDE (run_id, scenario, n, done, failed))::DOUBLE) AS '\0',
        min(COLUMNS(* EXCLUDE (run_id, scenario, n, done, failed))::DOUBLE) AS '\0_min',
        max(COLUMNS(* EXCLUDE (run_id, scenario, n, done, failed))::DOUBLE) AS '\0_max'
    FROM metrics
    GROUP BY run_id, scenario
),

-- The median of two infinitely slow trials is not a number; neither is any of them for a reader.
observed AS (
    SELECT
        run_id,
        scenario,
        usable,
        n,
        done,
        failed,
        CASE
            WHEN isfinite(COLUMNS(* EXCLUDE (run_id, scenario, usable, n, done, failed)))
                THEN COLUMNS(* EXCLUDE (run_id, scenario, usable, n, done, failed))
        END AS '\0'
    FROM over_trials
),

pooled AS (
    SELECT
        run_id,
        scenario,
        quantile_disc(if(outcome = 'done', end_to_end_ms, 'inf'), 0.99) AS p99_ms
    FROM requests
    GROUP BY run_id, scenario
),

planned AS (
    SELECT
        run_id,
        scenario,
        any_value(workload) AS workload,
        any_value(pool_size) AS pool_size,
        any_value(concurrency) AS concurrency,
        count(*) AS trials
    FROM trials
    GROUP BY run_id, scenario
)

SELECT
    planned.*,
    coalesce(observed.usable, 0) AS usable,
    coalesce(observed.n, 0) AS n,
    coalesce(observed.done, 0) AS done,
    coalesce(observed.failed, 0) AS failed,
    observed.* EXCLUDE (run_id, scenario, usable, n, done, failed),
    nullif(pooled.p99_ms, 'inf') AS end_to_end_p99_pooled_as_published_ms
FROM planned
LEFT JOIN observed USING (run_id, scenario)
LEFT JOIN pooled USING (run_id, scenario)
