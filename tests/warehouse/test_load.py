"""Landing: whole or not at all, as often as one likes, and only what was measured."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from synthetic_runs import RUN_ID, Spoiling, write_run

from poolexp.catalogue import load_experiment
from poolexp.errors import WarehouseError
from poolexp.landing import read_json, run_directory, write_json
from warehouse.database import FILE_NAME, Warehouse, open_warehouse
from warehouse.load import load_attempt, load_plan, load_run
from warehouse.queries import resolve_run, run_facts, runs, trial_summary, trials

ONE_BLOCK = load_experiment("pool-lab-quick", repetitions=1)


def _attempt(home: Path, trial: int, attempt: int = 1) -> Path:
    return run_directory(home, RUN_ID) / f"trial-{trial:03d}" / f"attempt-{attempt}"


def _rows(warehouse: Warehouse, table: str) -> int:
    row = warehouse.connection.execute(f"SELECT count(*) FROM raw.{table}").fetchone()
    assert row is not None
    return int(row[0])


def _counts(warehouse: Warehouse) -> dict[str, int]:
    return {
        table: _rows(warehouse, table)
        for table in ("run", "trial", "attempt", "request", "counter")
    }


def test_a_run_lands_whole(landed_home: Path) -> None:
    with open_warehouse(landed_home, read_only=True) as warehouse:
        assert _counts(warehouse) == {
            "run": 1,
            "trial": 27,
            "attempt": 27,
            "request": 9 * 500 + 18 * 100,
            "counter": 27 * 3 * 21,
        }
        run = runs(warehouse).row(0, named=True)
        assert (run["planned_trials"], run["landed_trials"], run["planned_measured"]) == (
            27,
            27,
            5040,
        )
        assert (run["state"], run["validated"], run["limits_state"]) == (
            "complete",
            None,
            "limited",
        )


def test_rows_are_those_of_the_files(landed_home: Path) -> None:
    file = pl.read_parquet(_attempt(landed_home, 4) / "requests.parquet")
    with open_warehouse(landed_home, read_only=True) as warehouse:
        landed = warehouse.connection.execute(
            "SELECT * FROM all_requests WHERE trial = 4 ORDER BY seq"
        ).pl()
    assert landed.select(file.columns).equals(file)


def test_landing_twice_changes_nothing(own_home: Path) -> None:
    run = run_directory(own_home, RUN_ID)
    with open_warehouse(own_home) as warehouse:
        before = _counts(warehouse)
        summary = trial_summary(warehouse, RUN_ID)
        load_run(warehouse, run)
        assert load_attempt(warehouse, _attempt(own_home, 1)) == 0
        assert _counts(warehouse) == before
        assert trial_summary(warehouse, RUN_ID).equals(summary)


def test_an_attempt_that_was_measured_again_replaces_its_rows(own_home: Path) -> None:
    shutil.rmtree(run_directory(own_home, RUN_ID))
    run = write_run(own_home, seed=2)
    with open_warehouse(own_home) as warehouse:
        before = _counts(warehouse)
        summary = trial_summary(warehouse, RUN_ID)
        load_run(warehouse, run)
        assert _counts(warehouse) == before
        assert not trial_summary(warehouse, RUN_ID).equals(summary)


def test_a_run_lands_bit_by_bit(tmp_path: Path) -> None:
    run = write_run(tmp_path, experiment=ONE_BLOCK, state=None)
    facts = (run / "run.json").rename(run / "later.json")
    with open_warehouse(tmp_path) as warehouse:
        load_plan(warehouse, run)
        assert runs(warehouse)["state"].to_list() == ["running"]
        assert run_facts(warehouse, RUN_ID)["facts"] == {}
        assert trials(warehouse, RUN_ID)["status"].unique().to_list() == ["missing"]
        facts.rename(run / "run.json")
        load_plan(warehouse, run)
        assert load_attempt(warehouse, _attempt(tmp_path, 1)) == 100
        assert run_facts(warehouse, RUN_ID)["facts"]["database"]["version"] == "18.6"
        assert runs(warehouse)["landed_trials"].to_list() == [1]
        write_json(run / "outcome.json", {"format": 1, "state": "interrupted", "error": "SIGINT"})
        load_plan(warehouse, run)
        row = runs(warehouse).row(0, named=True)
        assert (row["state"], row["error"]) == ("interrupted", "SIGINT")


def test_an_attempt_without_its_plan_is_refused(own_home: Path, tmp_path: Path) -> None:
    with (
        open_warehouse(tmp_path / "empty") as warehouse,
        pytest.raises(WarehouseError, match="no loaded plan"),
    ):
        load_attempt(warehouse, _attempt(own_home, 1))


Spoil = Callable[[Path], None]


def _edit(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = read_json(directory / "trial.json")
    change(document)
    write_json(directory / "trial.json", document)


def _flip_a_byte(directory: Path) -> None:
    path = directory / "requests.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def _say_another_row_count(directory: Path) -> None:
    # The counters come last: by then the requests of the transaction are in.
    _edit(directory, lambda document: document["files"]["counters.parquet"].update(rows=1))


def _come_from_the_future(directory: Path) -> None:
    _edit(directory, lambda document: document.update(format=99))


def _cut_the_manifest(directory: Path) -> None:
    path = directory / "trial.json"
    path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")


def _belong_elsewhere(directory: Path) -> None:
    _edit(directory, lambda document: document.update(trial=3))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_flip_a_byte, "not the file that was measured: its SHA-256"),
        (_say_another_row_count, r"it has 63 rows, trial\.json says 1"),
        (_come_from_the_future, "has format 99"),
        (_cut_the_manifest, "is damaged"),
        (_belong_elsewhere, "is the manifest of"),
        (lambda directory: (directory / "counters.parquet").unlink(), "it is missing"),
        (lambda directory: (directory / "trial.json").unlink(), r"no trial\.json"),
    ],
)
def test_a_spoilt_attempt_is_refused_and_leaves_nothing(
    own_home: Path, spoil: Spoil, message: str
) -> None:
    (own_home / FILE_NAME).unlink()
    spoil(_attempt(own_home, 2))
    with open_warehouse(own_home) as warehouse:
        load_plan(warehouse, run_directory(own_home, RUN_ID))
        load_attempt(warehouse, _attempt(own_home, 1))
        before = _counts(warehouse)
        with pytest.raises(WarehouseError, match=message) as caught:
            load_attempt(warehouse, _attempt(own_home, 2))
        assert caught.value.remedy
        assert _counts(warehouse) == before
        assert load_attempt(warehouse, _attempt(own_home, 3)) == 500


def test_a_refused_change_leaves_the_rows_that_were_there(own_home: Path) -> None:
    _say_another_row_count(_attempt(own_home, 2))
    with open_warehouse(own_home) as warehouse:
        before = _counts(warehouse)
        with pytest.raises(WarehouseError, match="rows"):
            load_attempt(warehouse, _attempt(own_home, 2))
        assert _counts(warehouse) == before


SPOILT_PLANS = [
    None,
    "",
    "{",
    "[]",
    '{"format": 99}',
    '{"format": "one"}',
    '{"format": 1}',
    '{"format": 1, "run_id": "x", "created_at": "then", "experiment": {}, "trials": []}',
    '{"format": 1, "run_id": "x", "created_at": "2026-01-01T00:00:00Z", "experiment": {}, '
    '"trials": [{"number": 1}]}',
]


@pytest.mark.parametrize("text", SPOILT_PLANS)
def test_a_spoilt_plan_is_refused(tmp_path: Path, text: str | None) -> None:
    run = tmp_path / "runs" / "x"
    run.mkdir(parents=True)
    if text is not None:
        (run / "plan.json").write_text(text, encoding="utf-8")
    with open_warehouse(tmp_path) as warehouse:
        with pytest.raises(WarehouseError, match=r"plan\.json"):
            load_plan(warehouse, run)
        assert _rows(warehouse, "run") == 0


def test_the_last_complete_attempt_counts(tmp_path: Path) -> None:
    spoiling = Spoiling(retried=[2], leave_out=[3])
    run = write_run(tmp_path, experiment=ONE_BLOCK, spoiling=spoiling)
    shutil.rmtree(_attempt(tmp_path, 1))
    _edit(_attempt(tmp_path, 4), lambda document: document.update(status="interrupted"))
    with open_warehouse(tmp_path) as warehouse:
        load_run(warehouse, run)
        found = trials(warehouse, RUN_ID).head(4).select("trial", "attempts", "attempt", "status")
        rows = warehouse.connection.execute(
            "SELECT attempt, accepted, count(*) FROM all_requests WHERE trial = 2 GROUP BY ALL "
            "ORDER BY attempt"
        ).fetchall()
        measured = warehouse.connection.execute(
            "SELECT DISTINCT trial, attempt FROM requests WHERE trial <= 4"
        ).fetchall()
    assert found.rows() == [
        (1, 0, None, "missing"),
        (2, 2, 2, "accepted"),
        (3, 0, None, "missing"),
        (4, 1, None, "interrupted"),
    ]
    assert rows == [(1, False, 50), (2, True, 100)]
    assert measured == [(2, 2)]


HOSTILE = """'; DROP TABLE raw.request; -- "</script>\x1b[31m{{7*7}} ../../x µ"""


def test_hostile_names_are_only_text(tmp_path: Path) -> None:
    run = write_run(tmp_path, experiment=ONE_BLOCK, label=HOSTILE)
    document = read_json(run / "plan.json")
    document["trials"][0]["scenario"] = HOSTILE
    write_json(run / "plan.json", document)
    with open_warehouse(tmp_path) as warehouse:
        load_run(warehouse, run)
        assert resolve_run(warehouse, HOSTILE) == RUN_ID
        assert runs(warehouse)["label"].to_list() == [HOSTILE]
        assert trial_summary(warehouse, RUN_ID)["scenario"][0] == HOSTILE
        assert json.loads(runs(warehouse)["facts"][0])["run_id"] == RUN_ID
