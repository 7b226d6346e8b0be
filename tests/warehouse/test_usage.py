"""Usage and limits of control groups: differences between the window's edges, as read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from synthetic_runs import RUN_ID, Spoiling, write_run
from synthetic_server import MIB, Row

from poolexp.catalogue import load_experiment
from poolexp.experiment import Database, Experiment, Generator
from poolexp.plan import Trial
from warehouse.database import open_warehouse
from warehouse.load import load_run
from warehouse.queries import runs, trial_summary, trials

ONE_BLOCK = load_experiment("pool-lab-quick", repetitions=1)


def _land(home: Path, spoiling: Spoiling, experiment: Experiment = ONE_BLOCK) -> None:
    run = write_run(home, experiment=experiment, spoiling=spoiling)
    with open_warehouse(home) as warehouse:
        load_run(warehouse, run)


def _counter_faults(trial: Trial, rows: list[Row]) -> list[Row]:
    """Trial 1: exact figures; trial 2: never ran; trial 3: the last reading is missing."""
    if trial.number == 1:
        return [row | _exact(row) if row["group"] == "database" else row for row in rows]
    if trial.number == 2:
        return [row | {"nr_periods": 7, "nr_throttled": 7} for row in rows]
    if trial.number == 3:
        return [row for row in rows if row["moment"] != "window_end"]
    return rows


def _exact(row: Row) -> Row:
    late_ns = 3_000_000 if row["moment"] == "window_end" else 0
    place = {"window_start": 0, "sample": 1, "window_end": 2}[row["moment"]]
    return {
        "at_ns": row["at_ns"] + late_ns,
        "cpu_usage_ns": 10**12 + 250_000_000 * place,
        "nr_periods": 1000 + 100 * place,
        "nr_throttled": 500 + 84 * place,
        "throttled_ns": 10**9 + 400_000_000 * place,
        "memory_bytes": (70 if place == 1 else 50) * MIB,
    }


def test_usage_is_the_difference_between_the_edges(tmp_path: Path) -> None:
    _land(tmp_path, Spoiling(edit_counters=_counter_faults))
    with open_warehouse(tmp_path, read_only=True) as warehouse:
        exact, idle, cut = trial_summary(warehouse, RUN_ID).head(3).iter_rows(named=True)
    assert exact["database_cpu_cores"] == pytest.approx(0.5 / 2.003)
    assert (exact["database_periods"], exact["database_throttled_periods"]) == (200, 168)
    assert exact["database_throttled_share"] == pytest.approx(0.84)
    assert exact["database_throttled_ms"] == 800
    assert exact["database_memory_mib"] == 70
    assert exact["harness_cpu_cores"] == pytest.approx(0.05)
    assert idle["database_periods"] == 0
    assert idle["database_throttled_share"] is None
    assert cut["database_cpu_cores"] is None
    assert cut["database_memory_mib"] > 40


def _limits(trial: Trial, document: dict[str, Any]) -> dict[str, Any]:
    database = document["limits"]["database"]
    if trial.number == 1:
        database["after"] = {"cores": 0.25, "period_ms": 10.0}
    if trial.number == 2:
        database["before"] = None
    if trial.number == 3:
        # The same in whole microseconds, as the kernel keeps them.
        database["before"] = {"cores": 0.50000001, "period_ms": 10.0}
    if trial.number == 4:
        database["after"] = {"cores": 0.5, "period_ms": 100.0}
    return document


def test_a_limit_is_in_force_when_it_was_found_as_asked_on_both_sides(tmp_path: Path) -> None:
    _land(tmp_path, Spoiling(edit_manifest=_limits, leave_out=[6]))
    with open_warehouse(tmp_path, read_only=True) as warehouse:
        found = trials(warehouse, RUN_ID).head(6)
    assert found["database_limit_in_force"].to_list() == [False, False, True, False, True, None]
    assert found["generator_limit_in_force"].to_list() == [True] * 5 + [None]


def test_no_limit_asked_is_neither_in_force_nor_broken(tmp_path: Path) -> None:
    unlimited = ONE_BLOCK.model_copy(update={"database": Database(), "generator": Generator()})
    _land(tmp_path, Spoiling(), unlimited)
    with open_warehouse(tmp_path, read_only=True) as warehouse:
        row = trials(warehouse, RUN_ID).row(0, named=True)
    assert (row["database_cores"], row["database_limit_in_force"]) == (None, None)


def test_an_unlimited_run_has_no_counters_and_says_why(tmp_path: Path) -> None:
    _land(tmp_path, Spoiling(unlimited=True))
    with open_warehouse(tmp_path, read_only=True) as warehouse:
        run = runs(warehouse).row(0, named=True)
        summary = trial_summary(warehouse, RUN_ID)
        in_force = trials(warehouse, RUN_ID)["database_limit_in_force"]
    assert run["limits_state"] == "unlimited"
    assert "read-only" in run["limits_reason"]
    assert in_force.unique().to_list() == [False]
    assert summary["database_cpu_cores"].null_count() == 9
    assert summary["end_to_end_p99_ms"].null_count() == 0
