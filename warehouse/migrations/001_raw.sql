-- What runs leave behind, as they left it. Documents stay whole, as JSON, so a later view can use
-- what an earlier version already recorded; what queries join or filter on has columns as well.
-- Only the small tables have keys: an index over the requests would cost more than the requests,
-- and whether their rows are unique is for the validation to find out.

CREATE SCHEMA IF NOT EXISTS raw;
CREATE SCHEMA staging;

CREATE TABLE raw.run (
    run_id     VARCHAR PRIMARY KEY,
    digest     VARCHAR NOT NULL,
    plan       JSON NOT NULL,
    facts      JSON,
    outcome    JSON,
    created_at TIMESTAMP NOT NULL,
    loaded_at  TIMESTAMP NOT NULL
);

CREATE TABLE raw.trial (
    run_id              VARCHAR NOT NULL,
    trial               INTEGER NOT NULL,
    block               INTEGER NOT NULL,
    position            INTEGER NOT NULL,
    scenario            VARCHAR NOT NULL,
    workload            VARCHAR NOT NULL,
    pool_size           INTEGER NOT NULL,
    concurrency         INTEGER,
    pool_reset          BOOLEAN NOT NULL,
    selection           VARCHAR NOT NULL,
    statement_cache     BOOLEAN NOT NULL,
    acquire_timeout_s   DOUBLE,
    query_timeout_s     DOUBLE,
    database_cores      DOUBLE,
    database_period_ms  DOUBLE,
    generator_cores     DOUBLE,
    generator_period_ms DOUBLE,
    seed                BIGINT NOT NULL,
    start_offset_ns     BIGINT NOT NULL,
    planned_requests    INTEGER,
    planned_measured    INTEGER
);

CREATE TABLE raw.attempt (
    run_id        VARCHAR NOT NULL,
    trial         INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    digest        VARCHAR NOT NULL,
    status        VARCHAR NOT NULL,
    schedule_hash VARCHAR,
    warm_up_ns    BIGINT,
    end_ns        BIGINT,
    manifest      JSON NOT NULL,
    loaded_at     TIMESTAMP NOT NULL,
    PRIMARY KEY (run_id, trial, attempt)
);

CREATE TABLE raw.request (
    run_id         VARCHAR NOT NULL,
    trial          INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    burst          INTEGER NOT NULL,
    burst_position INTEGER NOT NULL,
    warm_up        BOOLEAN NOT NULL,
    scheduled_ns   BIGINT NOT NULL,
    requested_ns   BIGINT,
    acquired_ns    BIGINT,
    received_ns    BIGINT,
    released_ns    BIGINT,
    ended_ns       BIGINT,
    outcome        VARCHAR NOT NULL,
    sqlstate       VARCHAR,
    backend_pid    INTEGER
);

CREATE TABLE raw.counter (
    run_id             VARCHAR NOT NULL,
    trial              INTEGER NOT NULL,
    attempt            INTEGER NOT NULL,
    control_group      VARCHAR NOT NULL,
    moment             VARCHAR NOT NULL,
    at_ns              BIGINT NOT NULL,
    cpu_usage_ns       BIGINT,
    nr_periods         BIGINT,
    nr_throttled       BIGINT,
    throttled_ns       BIGINT,
    memory_bytes       BIGINT,
    memory_anon_bytes  BIGINT,
    memory_shmem_bytes BIGINT,
    memory_file_bytes  BIGINT,
    pressure_us        BIGINT
);

CREATE TABLE raw.validation (
    validation_id VARCHAR NOT NULL,
    run_id        VARCHAR NOT NULL,
    validated_at  TIMESTAMP NOT NULL,
    number        INTEGER NOT NULL,
    expectation   VARCHAR NOT NULL,
    statement     VARCHAR NOT NULL,
    message       VARCHAR NOT NULL,
    trial         INTEGER,
    success       BOOLEAN NOT NULL,
    observed      VARCHAR,
    expected      VARCHAR,
    details       JSON
);
