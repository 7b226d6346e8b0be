-- What is derived from an attempt's raw rows once, when it lands, so that questions over all runs
-- do not read the requests again, and summaries outlive them. The SQL that fills these tables
-- stands in the folder derivations/; `derivation` says which text of it did.

CREATE SCHEMA stored;

-- From the manifest.
CREATE TABLE stored.attempt (
    run_id                     VARCHAR NOT NULL,
    trial                      INTEGER NOT NULL,
    attempt                    INTEGER NOT NULL,
    derivation                 VARCHAR NOT NULL,
    origin_at                  TIMESTAMP,
    database_before_quota_us   BIGINT,
    database_before_period_us  BIGINT,
    database_after_quota_us    BIGINT,
    database_after_period_us   BIGINT,
    generator_before_quota_us  BIGINT,
    generator_before_period_us BIGINT,
    generator_after_quota_us   BIGINT,
    generator_after_period_us  BIGINT,
    gc_collections             BIGINT,
    maintenance_changed        BOOLEAN,
    connections_opened         INTEGER,
    connections_lost           INTEGER,
    generator_processes        INTEGER,
    generator_cpus             VARCHAR,
    counted_requests           BIGINT,
    counted_measured           BIGINT,
    stopped_by                 VARCHAR,
    foreign_cpu_cores          DOUBLE,
    steal_share                DOUBLE,
    hiccup_max_ms              DOUBLE,
    hiccup_share               DOUBLE,
    suspended_ms               DOUBLE,
    loop_stall_ms              DOUBLE
);

-- From the counters, one row a control group.
CREATE TABLE stored.usage (
    run_id            VARCHAR NOT NULL,
    trial             INTEGER NOT NULL,
    attempt           INTEGER NOT NULL,
    control_group     VARCHAR NOT NULL,
    cpu_cores         DOUBLE,
    periods           BIGINT,
    throttled_periods BIGINT,
    throttled_share   DOUBLE,
    throttled_ms      DOUBLE,
    memory_mib        DOUBLE,
    memory_anon_mib   DOUBLE,
    memory_shmem_mib  DOUBLE,
    memory_file_mib   DOUBLE
);

-- From the requests of the measured window, one row an attempt.
CREATE TABLE stored.measured (
    run_id                VARCHAR NOT NULL,
    trial                 INTEGER NOT NULL,
    attempt               INTEGER NOT NULL,
    derivation            VARCHAR NOT NULL,
    n                     BIGINT NOT NULL,
    done                  BIGINT NOT NULL,
    failed                BIGINT NOT NULL,
    answered              BIGINT NOT NULL,
    backends              BIGINT,
    send_lag_mean_ns      DOUBLE,
    send_lag_p50_ns       BIGINT,
    send_lag_p90_ns       BIGINT,
    send_lag_p95_ns       BIGINT,
    send_lag_p99_ns       BIGINT,
    send_lag_max_ns       BIGINT,
    acquire_wait_mean_ns  DOUBLE,
    acquire_wait_p50_ns   BIGINT,
    acquire_wait_p90_ns   BIGINT,
    acquire_wait_p95_ns   BIGINT,
    acquire_wait_p99_ns   BIGINT,
    acquire_wait_max_ns   BIGINT,
    round_trip_mean_ns    DOUBLE,
    round_trip_p50_ns     BIGINT,
    round_trip_p90_ns     BIGINT,
    round_trip_p95_ns     BIGINT,
    round_trip_p99_ns     BIGINT,
    round_trip_max_ns     BIGINT,
    release_mean_ns       DOUBLE,
    release_p50_ns        BIGINT,
    release_p90_ns        BIGINT,
    release_p95_ns        BIGINT,
    release_p99_ns        BIGINT,
    release_max_ns        BIGINT,
    end_to_end_mean_ns    DOUBLE,
    end_to_end_p50_ns     BIGINT,
    end_to_end_p90_ns     BIGINT,
    end_to_end_p95_ns     BIGINT,
    end_to_end_p99_ns     BIGINT,
    end_to_end_max_ns     BIGINT,
    response_mean_ns      DOUBLE,
    response_p50_ns       BIGINT,
    response_p90_ns       BIGINT,
    response_p95_ns       BIGINT,
    response_p99_ns       BIGINT,
    response_max_ns       BIGINT,
    slowest_ns            BIGINT[],
    first_lag_p99_ns      BIGINT,
    first_lag_unbounded   BOOLEAN NOT NULL,
    backlog_ns            BIGINT,
    backlog_unbounded     BOOLEAN NOT NULL,
    later_lag_mean_ns     DOUBLE,
    later_lag_unbounded   BOOLEAN NOT NULL,
    later_end_to_end_mean_ns DOUBLE,
    pool_busy_share       DOUBLE
);

-- From the requests of the measured window, one row a place in a burst.
CREATE TABLE stored.send_lag (
    run_id           VARCHAR NOT NULL,
    trial            INTEGER NOT NULL,
    attempt          INTEGER NOT NULL,
    burst_position   INTEGER NOT NULL,
    n                BIGINT NOT NULL,
    send_lag_mean_ns DOUBLE,
    send_lag_p50_ns  BIGINT,
    send_lag_p99_ns  BIGINT,
    send_lag_max_ns  BIGINT
);

-- From the requests, one row a slice of 100 ms of the measured window.
CREATE TABLE stored.pool_slice (
    run_id       VARCHAR NOT NULL,
    trial        INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    slice        BIGINT NOT NULL,
    from_ns      BIGINT NOT NULL,
    to_ns        BIGINT NOT NULL,
    in_use_mean  DOUBLE NOT NULL,
    in_use_max   BIGINT NOT NULL,
    pending_mean DOUBLE NOT NULL,
    pending_max  BIGINT NOT NULL,
    outstanding_min BIGINT NOT NULL,
    busy_ns      BIGINT NOT NULL
);

-- The derivation that all stored rows have that can be derived: one row.
CREATE TABLE stored.derivation (
    digest     VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);
