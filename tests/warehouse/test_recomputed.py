"""Every number of `scenario_summary`, made again from a run's files by other means than SQL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from synthetic_runs import RUN_ID, Spoiling, write_run

from poolexp.landing import read_json, run_directory
from poolexp.plan import Trial
from poolexp.records import Document
from warehouse.database import open_warehouse
from warehouse.load import load_run
from warehouse.queries import scenario_summary, scenario_summary_all

PHASES = {
    "send_lag": ("scheduled_ns", "requested_ns"),
    "acquire_wait": ("requested_ns", "acquired_ns"),
    "round_trip": ("acquired_ns", "received_ns"),
    "release": ("received_ns", "released_ns"),
    "end_to_end": ("scheduled_ns", "released_ns"),
    "response": ("scheduled_ns", "received_ns"),
}
FROM_START = ("end_to_end", "response")
PERCENT = (50, 90, 95, 99)
WARM_UP_NS, WINDOW_S = 500_000_000, 2.0
MIB = 1_048_576

Numbers = dict[str, float | None]


def _disturb(trial: Trial, document: Document) -> Document:
    if trial.number == 12:
        document["meters"]["machine"]["foreign_cpu_ns"] = 400_000_000
    return document


SPOILING = Spoiling(
    failures={1: 1, 2: 3, 3: 80, 4: 400, 7: 2, 20: 1},
    keep={5: 0, 6: 1, 8: 2, 9: 79},
    leave_out=[10],
    retried=[21],
    edit_manifest=_disturb,
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with an empty trial, one of one row, all failed, some failed, and an excluded block."""
    place = tmp_path_factory.mktemp("recomputed")
    run = write_run(place, spoiling=SPOILING)
    with open_warehouse(place) as warehouse:
        load_run(warehouse, run)
    return place


def _nearest_rank(values: list[float], percent: int) -> float | None:
    return values[(percent * len(values) + 99) // 100 - 1] if values else None


def _phases(rows: pl.DataFrame) -> Numbers:
    numbers: Numbers = {}
    for phase, (start, end) in PHASES.items():
        took = (pl.col(end) - pl.col(start)) / 1e6
        if phase in FROM_START:
            took = pl.when(pl.col("outcome") == "done").then(took).otherwise(math.inf)
        values = rows.select(took.alias("ms")).to_series().drop_nulls().sort()
        listed = values.to_list()
        mean = values.mean()
        numbers[f"{phase}_mean_ms"] = mean if isinstance(mean, float) else None
        numbers[f"{phase}_max_ms"] = listed[-1] if listed else None
        for percent in PERCENT:
            numbers[f"{phase}_p{percent}_ms"] = _nearest_rank(listed, percent)
    return numbers


def _requests(attempt: Path) -> pl.DataFrame:
    return pl.read_parquet(attempt / "requests.parquet").filter(~pl.col("warm_up"))


def _of_trial(attempt: Path) -> Numbers:
    rows = _requests(attempt)
    done = int((rows["outcome"] == "done").sum())
    return {
        "n": rows.height,
        "done": done,
        "failed": rows.height - done,
        "rate_per_s": done / WINDOW_S if rows.height else None,
        "backends": rows["backend_pid"].drop_nulls().n_unique() if rows.height else None,
        "pool_busy_share": _busy_share(attempt),
        **_phases(rows),
        **_used(pl.read_parquet(attempt / "counters.parquet")),
    }


def _busy_share(attempt: Path) -> float:
    """Add up the time between all changes at which enough connections were in use."""
    manifest = read_json(attempt / "trial.json")
    plan = read_json(attempt.parents[1] / "plan.json")
    size = plan["trials"][manifest["trial"] - 1]["pool_size"]
    end = WARM_UP_NS + int(WINDOW_S * 1e9)
    over = pl.coalesce("released_ns", "ended_ns")
    spans = pl.read_parquet(attempt / "requests.parquet").filter(
        pl.col("acquired_ns").is_not_null()
    )
    edges = pl.concat(
        [
            spans.select(at=pl.col("acquired_ns").clip(WARM_UP_NS, end), change=1),
            spans.select(at=over.clip(WARM_UP_NS, end), change=-1),
        ]
    ).sort("at")
    steps = edges.with_columns(
        level=pl.col("change").cum_sum(),
        lasts=pl.col("at").shift(-1, fill_value=end) - pl.col("at"),
    )
    busy = steps.filter(pl.col("level") >= 0.9 * size)["lasts"].sum()
    return float(busy) / (end - WARM_UP_NS)


def _used(counters: pl.DataFrame) -> Numbers:
    numbers: Numbers = {}
    for group in ("database", "generator", "harness"):
        own = counters.filter(pl.col("group") == group)
        edge = {
            moment: own.row(by_predicate=pl.col("moment") == moment, named=True)
            for moment in ("window_start", "window_end")
        }
        took = {name: _difference(edge, name) for name in GROWING}
        cpu_ns, at_ns, stopped_ns = took["cpu_usage_ns"], took["at_ns"], took["throttled_ns"]
        periods, stopped = took["nr_periods"], took["nr_throttled"]
        numbers |= {
            f"{group}_cpu_cores": None if cpu_ns is None or not at_ns else cpu_ns / at_ns,
            f"{group}_periods": periods,
            f"{group}_throttled_periods": stopped,
            f"{group}_throttled_share": None
            if stopped is None or not periods
            else stopped / periods,
            f"{group}_throttled_ms": None if stopped_ns is None else stopped_ns / 1e6,
        }
        for kind in ("", "_anon", "_shmem", "_file"):
            readings = own[f"memory{kind}_bytes"].drop_nulls().to_list()
            numbers[f"{group}_memory{kind}_mib"] = max(readings) / MIB if readings else None
    return numbers


GROWING = ("at_ns", "cpu_usage_ns", "nr_periods", "nr_throttled", "throttled_ns")


def _difference(edge: Mapping[str, Mapping[str, Any]], name: str) -> float | None:
    first, last = edge["window_start"][name], edge["window_end"][name]
    return None if first is None or last is None else last - first


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _median(values: list[float]) -> float:
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    return low if low == high else (low + high) / 2


def _of_scenario(attempts: Mapping[int, Path]) -> Numbers:
    trials = [_of_trial(attempt) for attempt in attempts.values()]
    numbers: Numbers = {
        name: sum(int(trial[name] or 0) for trial in trials) for name in ("n", "done", "failed")
    }
    for name in trials[0] if trials else ():
        if name not in numbers:
            values = sorted(value for trial in trials if (value := trial[name]) is not None)
            numbers[name] = _finite(_median(values)) if values else None
            numbers[f"{name}_min"] = _finite(values[0]) if values else None
            numbers[f"{name}_max"] = _finite(values[-1]) if values else None
    rows = pl.concat([_requests(attempt) for attempt in attempts.values()]) if attempts else None
    p99 = _phases(rows)["end_to_end_p99_ms"] if rows is not None else None
    return numbers | {
        "usable": len(trials),
        "end_to_end_p99_pooled_as_published_ms": _finite(p99),
    }


def _attempts(home: Path, scenario: str, *, counted: bool) -> dict[int, Path]:
    run = run_directory(home, RUN_ID)
    planned = read_json(run / "plan.json")["trials"]
    spoilt = next(trial["block"] for trial in planned if trial["number"] == 12)
    return {
        trial["number"]: run / f"trial-{trial['number']:03d}" / f"attempt-{attempt}"
        for trial in planned
        if trial["scenario"] == scenario and not (counted and trial["block"] == spoilt)
        if trial["number"] not in SPOILING.leave_out
        for attempt in (2 if trial["number"] in SPOILING.retried else 1,)
    }


KEYS = {"run_id", "scenario", "workload", "pool_size", "concurrency"}
JUDGED = {"limited", "limited_reasons", "warnings"}
"""What the gates say; their own tests are about it."""


@pytest.mark.parametrize("counted", [True, False])
def test_all_of_scenario_summary(home: Path, counted: bool) -> None:
    ask = scenario_summary if counted else scenario_summary_all
    with open_warehouse(home, read_only=True) as warehouse:
        found = ask(warehouse, RUN_ID)
    assert found.height == 9
    for row in found.iter_rows(named=True):
        attempts = _attempts(home, row["scenario"], counted=counted)
        missing = sum(
            trial not in _attempts(home, row["scenario"], counted=True)
            for trial in _attempts(home, row["scenario"], counted=False)
        )
        expected: dict[str, Any] = {
            **_of_scenario(attempts),
            "trials": 3,
            "excluded_trials": missing,
        }
        names = set(row) - KEYS - JUDGED
        assert names <= set(expected)
        for name in sorted(names):
            value = expected[name]
            wanted = None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)
            assert row[name] == wanted, (row["scenario"], name)
