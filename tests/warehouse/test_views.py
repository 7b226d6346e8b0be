"""The numbers: against an implementation of their own, and where there are none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from statistics import fmean, median
from typing import Any

import polars as pl
import pytest
from synthetic_runs import RUN_ID, Spoiling, write_run

from poolexp.catalogue import load_experiment
from poolexp.experiment import Experiment
from poolexp.landing import run_directory
from warehouse.database import open_warehouse
from warehouse.load import load_run
from warehouse.queries import (
    latency_quantiles,
    scenario_summary,
    trial_summary,
    trials,
)

PHASES: Mapping[str, tuple[str, str]] = {
    "send_lag": ("scheduled_ns", "requested_ns"),
    "acquire_wait": ("requested_ns", "acquired_ns"),
    "round_trip": ("acquired_ns", "received_ns"),
    "release": ("received_ns", "released_ns"),
    "end_to_end": ("scheduled_ns", "released_ns"),
    "response": ("scheduled_ns", "received_ns"),
}
PERCENTILES = {"p50": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99"}

ONE_BLOCK = load_experiment("pool-lab-quick", repetitions=1)

Row = dict[str, Any]


def _land(home: Path, spoiling: Spoiling, experiment: str | Experiment = "pool-lab-quick") -> Path:
    run = write_run(home, experiment=experiment, spoiling=spoiling)
    with open_warehouse(home) as warehouse:
        load_run(warehouse, run)
    return run


def _measured(run: Path, trial: int) -> list[Row]:
    return [row for row in _planned(run, trial) if not row["warm_up"]]


def _planned(run: Path, trial: int) -> list[Row]:
    file = run / f"trial-{trial:03d}" / "attempt-1" / "requests.parquet"
    return list(pl.read_parquet(file).iter_rows(named=True))


def _answered(rows: list[Row]) -> int:
    """How many answers came within the window of 2 s, whenever their requests were due."""
    begin_ns, end_ns = 500_000_000, 2_500_000_000
    return sum(row["outcome"] == "done" and begin_ns <= row["received_ns"] < end_ns for row in rows)


def _durations(rows: list[Row], phase: str) -> list[float]:
    """Of one phase, sorted; infinite end to end for what failed."""
    start, end = PHASES[phase]
    if phase in ("end_to_end", "response"):
        return sorted(
            (row[end] - row[start]) / 1e6 if row["outcome"] == "done" else math.inf for row in rows
        )
    both = [row for row in rows if row[start] is not None and row[end] is not None]
    return sorted((row[end] - row[start]) / 1e6 for row in both)


def _nearest_rank(values: list[float], probability: str) -> float | None:
    if not values:
        return None
    found = values[max(1, math.ceil(Fraction(probability) * len(values))) - 1]
    return found if math.isfinite(found) else None


def _expected(rows: list[Row]) -> dict[str, float | None]:
    expected: dict[str, float | None] = {}
    for phase in PHASES:
        values = _durations(rows, phase)
        finite = bool(values) and math.isfinite(values[-1])
        expected[f"{phase}_mean_ms"] = fmean(values) if finite else None
        expected[f"{phase}_max_ms"] = values[-1] if finite else None
        for name, probability in PERCENTILES.items():
            expected[f"{phase}_{name}_ms"] = _nearest_rank(values, probability)
    return expected


def _about(values: list[float | None]) -> list[Any]:
    """Equal up to the rounding of a sum; None only to None."""
    return [None if value is None else pytest.approx(value, rel=1e-12) for value in values]


SPOILING = Spoiling(
    failures={1: 1, 2: 3, 3: 80, 4: 400, 7: 2},
    keep={5: 0, 6: 1, 8: 2, 9: 79},
    leave_out=[10],
)


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run in which one thing or another is wrong with most trials."""
    home = tmp_path_factory.mktemp("spoilt")
    _land(home, SPOILING)
    return home


@pytest.mark.parametrize("trial", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11])
def test_summary_of_a_trial(spoilt: Path, trial: int) -> None:
    rows = _measured(run_directory(spoilt, RUN_ID), trial)
    with open_warehouse(spoilt, read_only=True) as warehouse:
        found = trial_summary(warehouse, RUN_ID).row(trial - 1, named=True)
    done = sum(row["outcome"] == "done" for row in rows)
    assert (found["n"], found["done"], found["failed"]) == (len(rows), done, len(rows) - done)
    answered = _answered(_planned(run_directory(spoilt, RUN_ID), trial))
    assert found["rate_per_s"] == (answered / 2 if rows else None)
    pids = {row["backend_pid"] for row in rows} - {None}
    assert found["backends"] == (len(pids) if rows else None)
    expected = _expected(rows)
    assert [found[name] for name in expected] == _about(list(expected.values()))


def test_a_trial_without_attempt_has_nulls_and_no_requests(spoilt: Path) -> None:
    with open_warehouse(spoilt, read_only=True) as warehouse:
        found = trial_summary(warehouse, RUN_ID).row(9, named=True)
    counts = {"n": 0, "done": 0, "failed": 0, "planned": 80}
    assert {name: found[name] for name in counts} == counts
    numbers = [name for name in found if name.endswith(("_ms", "_cores", "_share", "_mib", "_s"))]
    assert len(numbers) > 40
    assert {found[name] for name in (*numbers, "attempt", "backends")} == {None}


def test_no_number_is_infinite_or_not_a_number(spoilt: Path) -> None:
    with open_warehouse(spoilt, read_only=True) as warehouse:
        for frame in (
            trial_summary(warehouse, RUN_ID),
            scenario_summary(warehouse, RUN_ID),
            latency_quantiles(warehouse, RUN_ID, [0.0, 0.5, 1.0]),
        ):
            floats = frame.select(pl.col(pl.Float64))
            assert floats.select(pl.all().is_infinite().any()).row(0).count(True) == 0
            assert floats.select(pl.all().is_nan().any()).row(0).count(True) == 0


def test_quantiles_of_trials(spoilt: Path) -> None:
    probabilities = ["0", "0.01", "0.07", "0.5", "0.95", "0.99", "1"]
    with open_warehouse(spoilt, read_only=True) as warehouse:
        found = latency_quantiles(warehouse, RUN_ID, [float(text) for text in probabilities])
    assert set(found["trial"]) == set(range(1, 28)) - {5, 10}
    for trial in (1, 2, 3, 6, 9, 11):
        rows = _measured(run_directory(spoilt, RUN_ID), trial)
        own = found.filter(pl.col("trial") == trial)
        assert own["probability"].to_list() == [float(text) for text in probabilities]
        for phase in ("acquire_wait", "round_trip", "end_to_end"):
            values = _durations(rows, phase)
            expected = [_nearest_rank(values, text) for text in probabilities]
            assert own[f"{phase}_ms"].to_list() == _about(expected)


def test_scenarios_take_the_median_of_their_trials(spoilt: Path) -> None:
    with open_warehouse(spoilt, read_only=True) as warehouse:
        summary = trial_summary(warehouse, RUN_ID)
        scenarios = scenario_summary(warehouse, RUN_ID)
    assert scenarios.height == 9
    for row in scenarios.iter_rows(named=True):
        of_trials = summary.filter(
            (pl.col("scenario") == row["scenario"]) & pl.col("attempt").is_not_null()
        )
        assert (row["trials"], row["usable"]) == (3, of_trials.height)
        assert row["n"] == of_trials["n"].sum()
        for metric in ("round_trip_p95_ms", "database_cpu_cores", "rate_per_s", "backends"):
            values = [value for value in of_trials[metric] if value is not None]
            assert row[metric] == pytest.approx(median(values))
            assert row[f"{metric}_min"] == min(values)
            assert row[f"{metric}_max"] == max(values)


def test_failures_cannot_make_a_scenario_faster(tmp_path: Path) -> None:
    _land(tmp_path, Spoiling(failures={2: 3}))
    with open_warehouse(tmp_path, read_only=True) as warehouse:
        summary = trial_summary(warehouse, RUN_ID)
        scenarios = scenario_summary(warehouse, RUN_ID)
    failed = summary.row(1, named=True)
    same = summary.filter(pl.col("scenario") == failed["scenario"])
    sound = [value for value in same["end_to_end_mean_ms"] if value is not None]
    row = scenarios.filter(pl.col("scenario") == failed["scenario"]).row(0, named=True)
    assert (failed["end_to_end_mean_ms"], len(sound)) == (None, 2)
    # The failed trial ranks last, so the median of three is the slower of the sound ones.
    assert row["end_to_end_mean_ms"] == max(sound)
    assert row["end_to_end_mean_ms_min"] == min(sound)
    assert row["end_to_end_mean_ms_max"] is None
    assert row["end_to_end_p99_pooled_as_published_ms"] is None


def test_a_scenario_in_which_everything_failed_has_no_numbers(tmp_path: Path) -> None:
    everything = Spoiling(failures={1: 80, 2: 80, 3: 80, 4: 80})
    _land(tmp_path, everything, _small_experiment(repetitions=4))
    with open_warehouse(tmp_path, read_only=True) as warehouse:
        row = scenario_summary(warehouse, RUN_ID).row(0, named=True)
        quantiles = latency_quantiles(warehouse, RUN_ID, [0.5])
    assert (row["n"], row["done"], row["failed"], row["usable"]) == (320, 0, 320, 4)
    names = [name for name in row if name.startswith("end_to_end")]
    assert {row[name] for name in names} == {None}
    assert quantiles["end_to_end_ms"].to_list() == [None] * 4


def _small_experiment(repetitions: int) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "small",
            "design": {"repetitions": repetitions, "warm_up_s": 0.5, "measure_s": 2.0},
            "pool": {"size": 5},
            "workload": {
                "name": "light",
                "sql": "SELECT 1",
                "arrivals": {"kind": "uniform", "rate_per_s": 40.0},
            },
        }
    )


def test_pooled_percentile_is_over_all_requests(landed_home: Path) -> None:
    run = run_directory(landed_home, RUN_ID)
    with open_warehouse(landed_home, read_only=True) as warehouse:
        planned = trials(warehouse, RUN_ID).filter(pl.col("scenario") == "heavy-burst-pool-5")
        row = scenario_summary(warehouse, RUN_ID).filter(pl.col("scenario") == "heavy-burst-pool-5")
    rows = [row for trial in planned["trial"] for row in _measured(run, trial)]
    expected = _nearest_rank(_durations(rows, "end_to_end"), "0.99")
    assert len(rows) == 240
    assert row["end_to_end_p99_pooled_as_published_ms"].to_list() == pytest.approx([expected])


def test_requests_are_the_measured_ones_and_their_phases_sum(landed_home: Path) -> None:
    with open_warehouse(landed_home, read_only=True) as warehouse:
        counts = warehouse.connection.execute(
            "SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM all_requests)"
        ).fetchone()
        rows = warehouse.connection.execute("SELECT * FROM requests").pl()
        columns = warehouse.connection.execute("SELECT * FROM all_requests LIMIT 0").pl().columns
    assert counts == (5040, 6300)
    assert rows["scheduled_ns"].min() == 500_000_000
    phases = ["send_lag_ms", "acquire_wait_ms", "round_trip_ms", "release_ms"]
    difference = rows.select(pl.sum_horizontal(phases) - pl.col("end_to_end_ms")).to_series()
    assert (difference.abs() < 1e-6).all()
    assert rows.columns == [name for name in columns if name not in ("accepted", "warm_up")]


def test_the_shape_of_the_published_experiment(landed_home: Path) -> None:
    """What the reports' tests rely on: the synthetic server behaves like the real one."""
    with open_warehouse(landed_home, read_only=True) as warehouse:
        rows = {
            row["scenario"]: row
            for row in scenario_summary(warehouse, RUN_ID).iter_rows(named=True)
        }
    small, middle = rows["heavy-burst-pool-5"], rows["heavy-burst-pool-20"]
    assert small["acquire_wait_mean_ms"] > 15
    assert middle["acquire_wait_mean_ms"] < 0.1
    assert 1.4 < middle["round_trip_mean_ms"] / small["round_trip_mean_ms"] < 2.2
    assert 0.9 < middle["end_to_end_mean_ms"] / small["end_to_end_mean_ms"] < 1.4
    assert 0.8 < small["database_throttled_share"] < 0.9
