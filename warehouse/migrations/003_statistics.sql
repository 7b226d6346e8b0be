-- What may be claimed of runs: their comparisons and their drift, made when a run is judged, and the
-- noise floors of hosts. All of it can be made again from what was measured; stored, it costs a
-- reader nothing.

ALTER TABLE raw.trial ADD COLUMN variant VARCHAR;

CREATE TABLE raw.noise_floor (
    host_key    VARCHAR NOT NULL,
    experiment  VARCHAR NOT NULL,
    scenario    VARCHAR NOT NULL,
    metric      VARCHAR NOT NULL,
    blocks      INTEGER NOT NULL,
    floor_ratio DOUBLE NOT NULL,
    floor_ms    DOUBLE,
    pairs       INTEGER NOT NULL,
    aa_run_id   VARCHAR NOT NULL,
    measured_at TIMESTAMP NOT NULL
);

CREATE TABLE raw.comparison (
    run_id         VARCHAR NOT NULL,
    number         INTEGER NOT NULL,
    kind           VARCHAR NOT NULL,
    factor         VARCHAR NOT NULL,
    workload       VARCHAR NOT NULL,
    scenario       VARCHAR NOT NULL,
    baseline       VARCHAR NOT NULL,
    level          VARCHAR NOT NULL,
    baseline_level VARCHAR NOT NULL,
    metric         VARCHAR NOT NULL,
    blocks         INTEGER NOT NULL,
    ratio          DOUBLE,
    ratio_low      DOUBLE,
    ratio_high     DOUBLE,
    difference     DOUBLE,
    p_value        DOUBLE,
    p_sign_flip    DOUBLE,
    adjusted_low   DOUBLE,
    adjusted_high  DOUBLE,
    p_holm         DOUBLE,
    delta          DOUBLE,
    noise_floor    DOUBLE,
    relevant       DOUBLE,
    verdict        VARCHAR,
    reason         VARCHAR,
    blocks_needed  INTEGER,
    compared_at    TIMESTAMP NOT NULL
);

CREATE TABLE raw.drift (
    run_id      VARCHAR NOT NULL,
    metric      VARCHAR NOT NULL,
    trials      INTEGER NOT NULL,
    change      DOUBLE,
    p_value     DOUBLE,
    warned      BOOLEAN NOT NULL,
    compared_at TIMESTAMP NOT NULL
);
