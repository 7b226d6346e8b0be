-- One row a scenario of a run and basis: of each of a trial's numbers the median over its usable
-- trials, and the least and the greatest as <name>_min and <name>_max. The basis says which trials
-- those are: `all` accepted ones, or `counted`, without those of excluded blocks.
--
-- A trial without a number because requests failed in it counts as infinitely slow, so
-- failures cannot make a scenario look faster: NULL where the result falls on such a trial.
CREATE VIEW staging.scenario_summaries AS
WITH usable AS (
    SELECT
        unnest(if(excluded, ['all'], ['all', 'counted'])) AS basis,
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
        trial, attempt, workload, pool_size, concurrency, block, position, excluded, planned
    )
    FROM usable
),

over_trials AS (
    SELECT
        run_id,
        scenario,
        basis,
        count(*) AS usable,
        sum(n)::BIGINT AS n,
        sum(done)::BIGINT AS done,
        sum(failed)::BIGINT AS failed,
        median(COLUMNS(* EXCLUDE (run_id, scenario, basis, n, done, failed))::DOUBLE) AS '\0',
        min(COLUMNS(* EXCLUDE (run_id, scenario, basis, n, done, failed))::DOUBLE) AS '\0_min',
        max(COLUMNS(* EXCLUDE (run_id, scenario, basis, n, done, failed))::DOUBLE) AS '\0_max'
    FROM metrics
    GROUP BY run_id, scenario, basis
),

-- The median of two infinitely slow trials is not a number; neither is any of them for a reader.
observed AS (
    SELECT
        run_id,
        scenario,
        basis,
        usable,
        n,
        done,
        failed,
        CASE
            WHEN isfinite(COLUMNS(* EXCLUDE (run_id, scenario, basis, usable, n, done, failed)))
                THEN COLUMNS(* EXCLUDE (run_id, scenario, basis, usable, n, done, failed))
        END AS '\0'
    FROM over_trials
),

-- The 99th percentile over all requests together, by the nearest rank, counted from the slow end:
-- the failed ones first, then those that were stored as the slowest of their trials. It is known
-- unless it lies below what a trial stored; only closed loops of very unlike lengths get there.
pooled AS (
    SELECT
        run_id,
        trials.scenario,
        unnest(if(excluded, ['all'], ['all', 'counted'])) AS basis,
        n,
        done,
        failed,
        coalesce(slowest_ns, []) AS slowest_ns
    FROM main.trials
    INNER JOIN stored.measured USING (run_id, trial, attempt)
),

slowest AS (
    SELECT
        run_id,
        scenario,
        basis,
        (sum(n) - (99 * sum(n) + 99) // 100 + 1 - sum(failed))::BIGINT AS place,
        list_sort(flatten(list(slowest_ns)), 'DESC') AS all_ns,
        max(slowest_ns[-1]) FILTER (len(slowest_ns) < done) AS known_down_to_ns
    FROM pooled
    GROUP BY run_id, scenario, basis
),

published AS (
    SELECT
        run_id,
        scenario,
        basis,
        CASE WHEN place > 0 AND all_ns[place] >= coalesce(known_down_to_ns, 0) THEN all_ns[place] END
        / 1e6 AS p99_ms
    FROM slowest
),

planned AS (
    SELECT
        run_id,
        scenario,
        unnest(['all', 'counted']) AS basis,
        any_value(workload) AS workload,
        any_value(pool_size) AS pool_size,
        any_value(concurrency) AS concurrency,
        count(*) AS trials,
        count(*) FILTER (excluded AND attempt IS NOT NULL) AS excluded_trials
    FROM main.trials
    GROUP BY run_id, scenario
)

SELECT
    planned.* EXCLUDE (excluded_trials),
    coalesce(observed.usable, 0) AS usable,
    planned.excluded_trials,
    limitations.reasons IS NOT NULL AS limited,
    limitations.reasons AS limited_reasons,
    limitations.warnings,
    coalesce(observed.n, 0) AS n,
    coalesce(observed.done, 0) AS done,
    coalesce(observed.failed, 0) AS failed,
    observed.* EXCLUDE (run_id, scenario, basis, usable, n, done, failed),
    published.p99_ms AS end_to_end_p99_pooled_as_published_ms
FROM planned
LEFT JOIN observed USING (run_id, scenario, basis)
LEFT JOIN published USING (run_id, scenario, basis)
LEFT JOIN staging.limitations USING (run_id, scenario, basis)
