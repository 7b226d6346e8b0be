-- One row an accepted trial and gate that applies to it: what was observed, against what limit.
CREATE VIEW gates AS
WITH observed AS (
    SELECT
        run_id,
        trial,
        scenario,
        block,
        unnest([
            {'gate': 'foreign_cpu', 'value': foreign_cpu_cores, 'applies': TRUE},
            {'gate': 'harness_cpu', 'value': harness_cpu_cores, 'applies': TRUE},
            {'gate': 'steal', 'value': steal_share, 'applies': TRUE},
            {'gate': 'hiccup_max', 'value': hiccup_max_ms, 'applies': TRUE},
            {'gate': 'hiccup_total', 'value': hiccup_share, 'applies': TRUE},
            {'gate': 'suspend', 'value': suspended_ms, 'applies': TRUE},
            {'gate': 'maintenance', 'value': maintenance, 'applies': TRUE},
            {'gate': 'send_lag', 'value': send_lag_p99_ms, 'applies': open_loop},
            {
                'gate': 'generator_throttled',
                'value': generator_throttled_share,
                'applies': generator_limited
            },
            {'gate': 'loop_stall', 'value': loop_stall_ms, 'applies': open_loop},
            {'gate': 'connections', 'value': connections, 'applies': TRUE},
            {'gate': 'backlog', 'value': backlog_ms, 'applies': open_loop},
            {'gate': 'collections', 'value': collections, 'applies': TRUE},
            {'gate': 'unfinished', 'value': unfinished_share, 'applies': TRUE},
            {'gate': 'generator_busy', 'value': generator_busy_share, 'applies': TRUE},
            {'gate': 'burst_lag', 'value': burst_lag_share, 'applies': open_loop AND in_bursts}
        ], recursive := TRUE)
    FROM staging.observations
),

judged AS (
    SELECT
        observed.* EXCLUDE (value, applies),
        limits.* EXCLUDE (gate),
        nullif(value, 'inf') AS observed,
        value <= threshold AS passed,
        list_transform([nullif(value, 'inf'), threshold], lambda number: CASE unit
            WHEN 'cores' THEN printf('%.3g cores', number)
            WHEN 'share' THEN printf('%.3g %%', 100 * number)
            WHEN 'ms' THEN printf('%.4g ms', number)
            ELSE printf('%d', round(number)::BIGINT)
        END) AS in_words
    FROM observed
    INNER JOIN gate_limits AS limits USING (gate)
    WHERE applies
)

SELECT
    run_id,
    trial,
    scenario,
    block,
    number,
    gate,
    effect,
    threshold,
    observed,
    unit,
    passed,
    label || ': ' || CASE
        WHEN passed IS NULL THEN 'not measured'
        WHEN observed IS NULL THEN 'without bound: requests were not sent or did not end well'
        WHEN threshold = 0 THEN in_words[1] || ', none allowed'
        ELSE in_words[1] || ', at most ' || in_words[2]
    END AS message,
    remedy
FROM judged
