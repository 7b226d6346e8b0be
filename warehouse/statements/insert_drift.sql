-- Whether the numbers of one run moved.
INSERT INTO raw.drift BY NAME
SELECT
    $run_id AS run_id,
    $metric AS metric,
    $trials AS trials,
    $change AS change,
    $p_value AS p_value,
    $warned AS warned,
    $compared_at AS compared_at
