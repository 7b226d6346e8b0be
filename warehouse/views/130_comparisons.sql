-- What one scenario is against another of its run that differs from it in one factor, by paired
-- ratios within blocks. Only rows of the kind `primary` can have a verdict; they were named before
-- anything was measured.
CREATE VIEW comparisons AS
SELECT * FROM raw.comparison
