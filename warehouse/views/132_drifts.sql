-- Whether the numbers of a run moved while it went on, whatever the scenario.
CREATE VIEW drifts AS
SELECT * FROM raw.drift
