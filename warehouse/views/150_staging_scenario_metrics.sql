-- One row a scenario of a run and metric: the latencies and the rate of `scenario_summary`, one
-- below the other, so that runs and metrics can be joined and chosen by value.
CREATE VIEW staging.scenario_metrics AS
WITH measured AS (
    SELECT
        run_id,
        scenario,
        workload,
        pool_size,
        usable,
        failed,
        limited,
        COLUMNS('^(send_lag|acquire_wait|round_trip|release|end_to_end|response)_(mean|p50|p90|p95|p99|max)_ms$'),
        rate_per_s
    FROM scenario_summary
)

SELECT *
FROM measured UNPIVOT INCLUDE NULLS (
    value FOR metric IN (
        COLUMNS(* EXCLUDE (run_id, scenario, workload, pool_size, usable, failed, limited))
    )
)
