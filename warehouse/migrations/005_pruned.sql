-- The runs whose raw rows were dropped on request; what was derived from them stays.
CREATE TABLE raw.pruned (
    run_id        VARCHAR PRIMARY KEY,
    pruned_at     TIMESTAMP NOT NULL,
    requests      BIGINT NOT NULL,
    counters      BIGINT NOT NULL
);
