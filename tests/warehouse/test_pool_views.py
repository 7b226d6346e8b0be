"""The pool over time, and lateness by place in a burst: against a slow count of their own."""

from __future__ import annotations

import itertools
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from synthetic_runs import RUN_ID, Spoiling, write_run

from poolexp.catalogue import load_experiment
from poolexp.landing import run_directory
from warehouse.database import open_warehouse
from warehouse.load import load_run
from warehouse.queries import run_sql, trial_summary

SLICE_NS = 100_000_000
ONE_BLOCK = load_experiment("pool-lab-quick", repetitions=1)

Row = dict[str, Any]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one block, some of whose requests failed in each way there is."""
    place = tmp_path_factory.mktemp("pools")
    run = write_run(place, experiment=ONE_BLOCK, spoiling=Spoiling(failures={1: 9, 2: 9}))
    with open_warehouse(place) as warehouse:
        load_run(warehouse, run)
    return place


def ask(home: Path, sql: str) -> list[Row]:
    with open_warehouse(home, read_only=True) as warehouse:
        return list(run_sql(warehouse, sql).iter_rows(named=True))


def rows_of(home: Path, trial: int) -> list[Row]:
    file = run_directory(home, RUN_ID) / f"trial-{trial:03d}" / "attempt-1" / "requests.parquet"
    return list(pl.read_parquet(file).iter_rows(named=True))


def spans(rows: list[Row]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """From when to when each request used a connection, and waited for one."""
    sent = [row for row in rows if row["requested_ns"] is not None]
    using = [
        (row["acquired_ns"], row["released_ns"] or row["ended_ns"])
        for row in sent
        if row["acquired_ns"] is not None
    ]
    waiting = [(row["requested_ns"], row["acquired_ns"] or row["ended_ns"]) for row in sent]
    return using, waiting


def shared_ns(intervals: list[tuple[int, int]], start: int, end: int) -> int:
    return sum(max(0, min(b, end) - max(a, start)) for a, b in intervals)


@pytest.mark.parametrize("trial", [1, 2, 3, 4, 5])
def test_levels_of_each_slice(home: Path, trial: int) -> None:
    found = ask(home, f"SELECT * FROM pool_use WHERE trial = {trial} ORDER BY slice")
    using, waiting = spans(rows_of(home, trial))
    assert [row["slice"] for row in found] == list(range(len(found)))
    assert (found[0]["from_ns"], found[-1]["to_ns"]) == (500_000_000, 2_500_000_000)
    for row in found:
        start, end = row["from_ns"], row["to_ns"]
        assert end - start == SLICE_NS
        assert row["in_use_mean"] == pytest.approx(shared_ns(using, start, end) / SLICE_NS)
        assert row["pending_mean"] == pytest.approx(shared_ns(waiting, start, end) / SLICE_NS)
        starts = [a for a, b in using if a < b and start <= a < end] + [start]
        most = max(sum(a <= at < b for a, b in using) for at in starts)
        assert row["in_use_max"] == most


def test_the_busy_share_is_that_of_the_window(home: Path) -> None:
    with open_warehouse(home, read_only=True) as warehouse:
        summary = {row["trial"]: row for row in trial_summary(warehouse, RUN_ID).to_dicts()}
    for trial in (1, 2, 3):
        using, _ = spans(rows_of(home, trial))
        edges = sorted({500_000_000, 2_500_000_000, *(at for span in using for at in span)})
        inside = [at for at in edges if 500_000_000 <= at <= 2_500_000_000]
        enough = 0.9 * summary[trial]["pool_size"]
        busy_ns = sum(
            b - a
            for a, b in itertools.pairwise(inside)
            if sum(start <= a < end for start, end in using) >= enough
        )
        assert summary[trial]["pool_busy_share"] == pytest.approx(busy_ns / 2_000_000_000)


def test_lateness_by_place_in_a_burst(home: Path) -> None:
    for trial in (1, 2, 3):
        found = ask(
            home,
            f"SELECT * FROM send_lag_by_position WHERE trial = {trial} ORDER BY burst_position",
        )
        lags: dict[int, list[float]] = {}
        for row in rows_of(home, trial):
            if not row["warm_up"] and row["requested_ns"] is not None:
                lag_ms = (row["requested_ns"] - row["scheduled_ns"]) / 1e6
                lags.setdefault(row["burst_position"], []).append(lag_ms)
        assert [row["burst_position"] for row in found] == sorted(lags)
        for row in found:
            own = sorted(lags[row["burst_position"]])
            assert row["n"] == len(own)
            assert row["send_lag_mean_ms"] == pytest.approx(fmean(own))
            assert row["send_lag_max_ms"] == own[-1]
            assert row["send_lag_p50_ms"] == own[(len(own) + 1) // 2 - 1]
