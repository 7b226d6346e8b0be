"""From trial directories to verdicts: what is stored when a run is judged."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from synthetic_runs import RUN_ID, Spoiling, write_run
from written_reports import experiment

from poolexp.experiment import Experiment
from poolexp.plan import Trial, make_plan
from poolexp.records import Document
from warehouse.conclusions import draw_conclusions, draw_conclusions_again
from warehouse.database import Warehouse, open_warehouse
from warehouse.load import load_run
from warehouse.queries import comparisons, drifts, noise_floors, trial_summary

WINDOW = {"warm_up_s": 0.1, "measure_s": 1.0, "seed": 7}
SIZES = [2, 4, 8]
WORKLOAD = {
    "name": "even",
    "sql": "SELECT 1",
    "arrivals": {"kind": "uniform", "rate_per_s": 40.0},
}
TRIAL_NOISE, BLOCK_NOISE = 0.03, 0.1
"""Spread of a trial about its block, and of blocks; pools of these sizes do not differ here."""

SLOW = 8


def made(blocks: int, **changes: Any) -> Experiment:
    document = {"pool": {"size": SIZES}, "workload": [WORKLOAD]}
    return experiment(**(document | {"design": WINDOW | {"repetitions": blocks}} | changes))


def slowed(
    factor: float, size: int = SLOW, *, noise: float = TRIAL_NOISE
) -> Callable[[Trial, list[Document]], list[Document]]:
    """Every duration of a trial times noise, and for one size of the pool times `factor`."""

    def edit(trial: Trial, rows: list[Document]) -> list[Document]:
        # Never shorter than it was: no instant may come before the one before it.
        times = 1.6 * math.exp(Random(f"block {trial.block}").gauss(0, BLOCK_NOISE))
        times *= math.exp(Random(f"trial {trial.number}").gauss(0, noise))
        times *= factor if trial.scenario.pool.size == size else 1
        for row in rows:
            for instant in ("acquired_ns", "received_ns", "released_ns", "ended_ns"):
                if row.get(instant) is not None:
                    passed = (row[instant] - row["scheduled_ns"]) * times
                    row[instant] = row["scheduled_ns"] + round(passed)
        return rows

    return edit


@dataclass(frozen=True, slots=True)
class Concluded:
    """A run with its conclusions."""

    frame: pl.DataFrame
    summary: pl.DataFrame
    drifts: pl.DataFrame

    @property
    def primary(self) -> pl.DataFrame:
        return self.frame.filter(pl.col("kind") == "primary")

    @property
    def verdicts(self) -> Mapping[str, str | None]:
        return dict(self.primary.select("level", "verdict").iter_rows())


def conclude(home: Path, **options: Any) -> Concluded:
    run = write_run(home, **options)
    with open_warehouse(home) as warehouse:
        load_run(warehouse, run)
        draw_conclusions(warehouse, RUN_ID)
        return read(warehouse)


def read(warehouse: Warehouse) -> Concluded:
    return Concluded(
        comparisons(warehouse, RUN_ID),
        trial_summary(warehouse, RUN_ID),
        drifts(warehouse, RUN_ID),
    )


@pytest.fixture(scope="module")
def eight_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight blocks, in which one pool does everything a quarter slower."""
    home = tmp_path_factory.mktemp("eight") / "home"
    conclude(home, experiment=made(8), spoiling=Spoiling(edit_rows=slowed(1.25)))
    return home


@pytest.fixture(scope="module")
def eight_blocks(eight_home: Path) -> Concluded:
    """What was concluded of it."""
    with open_warehouse(eight_home, read_only=True) as warehouse:
        return read(warehouse)


def test_only_what_is_slower_is_worse(eight_blocks: Concluded) -> None:
    assert eight_blocks.verdicts["8"] == "worse"
    assert eight_blocks.verdicts["4"] in ("not decided", "no relevant difference")
    slow = eight_blocks.primary.row(by_predicate=pl.col("level") == "8", named=True)
    assert slow["adjusted_low"] < 1.25 < slow["adjusted_high"]
    assert slow["adjusted_low"] < slow["ratio_low"] < slow["ratio"] < slow["ratio_high"]
    assert (slow["blocks"], slow["delta"], slow["noise_floor"]) == (8, 0.05, None)
    assert slow["p_sign_flip"] == 2 / 2**8


def test_what_is_stored_recomputes_from_the_trials(eight_blocks: Concluded) -> None:
    """Independently: with frames, from the view of trials."""
    blocks = eight_blocks.summary.select("block", "pool_size", "round_trip_p50_ms").pivot(
        on="pool_size", index="block", values="round_trip_p50_ms"
    )
    logs = (blocks["4"] / blocks["2"]).log()
    row = eight_blocks.frame.row(
        by_predicate=(pl.col("scenario") == "even-pool-4")
        & (pl.col("baseline") == "even-pool-2")
        & (pl.col("metric") == "round_trip_p50_ms"),
        named=True,
    )
    mean, std = logs.mean(), logs.std()
    assert isinstance(mean, float) and isinstance(std, float)
    assert row["ratio"] == pytest.approx(math.exp(mean))
    # The 97.5 % point of t with seven degrees of freedom.
    assert row["ratio_high"] == pytest.approx(math.exp(mean + 2.364624 * std / math.sqrt(8)))
    assert row["difference"] == pytest.approx((blocks["4"] - blocks["2"]).mean())


def test_no_other_row_has_a_verdict(eight_blocks: Concluded) -> None:
    others = eight_blocks.frame.filter(pl.col("kind") != "primary")
    assert others.height >= 40
    assert others["verdict"].null_count() == others.height
    assert set(eight_blocks.primary["metric"]) == {"end_to_end_mean_ms"}


def test_percentiles_need_enough_beyond_them(eight_blocks: Concluded) -> None:
    """Of 40 requests four lie beyond the p90, two beyond the p95."""
    metrics = set(eight_blocks.frame["metric"])
    assert {"round_trip_p50_ms", "round_trip_p90_ms"} <= metrics
    assert not {"round_trip_p95_ms", "round_trip_p99_ms", "rate_per_s"} & metrics


def test_three_blocks_indicate_at_most(tmp_path: Path) -> None:
    found = conclude(tmp_path, experiment=made(3), spoiling=Spoiling(edit_rows=slowed(4.0)))
    assert found.verdicts["8"] == "indicated worse"
    assert found.verdicts["4"] in ("not decided", "no relevant difference")
    undecided = found.primary.filter(pl.col("verdict") == "not decided")
    assert (undecided["blocks_needed"].drop_nulls() > 3).all()


def test_equal_trials_have_no_relevant_difference(tmp_path: Path) -> None:
    """The deterministic case: the very same numbers in both conditions."""

    def same(trial: Trial, rows: list[Document]) -> list[Document]:
        for row in rows:
            for place, instant in enumerate(
                ("requested_ns", "acquired_ns", "received_ns", "released_ns", "ended_ns")
            ):
                row[instant] = row["scheduled_ns"] + 50_000 * min(place + 1, 4)
        return rows

    chosen = made(7, pool={"size": [2, 8]})
    found = conclude(tmp_path, experiment=chosen, spoiling=Spoiling(edit_rows=same))
    assert set(found.verdicts.values()) == {"no relevant difference"}
    assert set(found.primary["p_value"]) == {1.0}
    assert set(found.primary["ratio"]) == {1.0}


def test_failures_and_limits_get_no_verdict_but_its_reason(tmp_path: Path) -> None:
    chosen = made(3, validation={"allowed_outcomes": ["done", "error"]})
    trials = make_plan(chosen, RUN_ID).trials
    plan = {(trial.scenario.pool.size, trial.block): trial.number for trial in trials}

    def lagging(trial: Trial, document: Document) -> Document:
        if trial.scenario.pool.size == 8:
            document["meters"]["loop"]["max_ns"] = 300_000_000
        return document

    found = conclude(
        tmp_path,
        experiment=chosen,
        spoiling=Spoiling(failures={plan[4, 2]: 1}, edit_manifest=lagging),
    )
    rows = {row["level"]: row for row in found.primary.iter_rows(named=True)}
    assert rows["4"]["verdict"] is None
    assert "requests of even-pool-4 failed" in rows["4"]["reason"] or (
        "even-pool-4 is limited" in rows["4"]["reason"]
    )
    # An infinitely slow trial has no mean to make a ratio of, and is not left out of one.
    assert (rows["4"]["ratio"], rows["4"]["blocks"]) == (None, 0)
    assert (rows["8"]["verdict"], rows["8"]["reason"]) == (None, "even-pool-8 is limited")
    assert rows["8"]["ratio"] is not None


def test_excluded_blocks_do_not_count(tmp_path: Path) -> None:
    def busy(trial: Trial, document: Document) -> Document:
        if trial.number == 1:
            document["meters"]["machine"]["foreign_cpu_ns"] = document["meters"]["machine"][
                "cpu_ns"
            ]
        return document

    spoiling = Spoiling(edit_rows=slowed(1.0), edit_manifest=busy)
    found = conclude(tmp_path, experiment=made(3, pool={"size": [2, 8]}), spoiling=spoiling)
    assert set(found.primary["blocks"]) == {2}
    assert found.drifts["trials"].to_list() == [4]


def test_a_noise_floor_is_used_by_every_verdict(
    eight_home: Path, eight_blocks: Concluded, tmp_path: Path
) -> None:
    before, home = eight_blocks, Path(shutil.copytree(eight_home, tmp_path / "home"))
    floor = ["synthetic-host", "small", "even-pool-8", "end_to_end_mean_ms"]
    with open_warehouse(home) as warehouse:
        for blocks, ratio, run, at in (
            (3, 0.5, "aa-1", datetime(2026, 1, 2)),
            (7, 0.1, "aa-1", datetime(2026, 1, 1)),
            (7, 0.4, "aa-2", datetime(2026, 1, 2)),
            (9, 0.01, "aa-2", datetime(2026, 1, 2)),
        ):
            warehouse.connection.execute(
                "INSERT INTO raw.noise_floor VALUES (?, ?, ?, ?, ?, ?, NULL, 24, ?, ?)",
                [*floor, blocks, ratio, run, at],
            )
        assert noise_floors(warehouse).filter(pl.col("newest")).height == 3
        assert draw_conclusions_again(warehouse, "another-host", "small") == []
        assert read(warehouse).verdicts == before.verdicts
        assert draw_conclusions_again(warehouse, "synthetic-host", "another") == []
        assert draw_conclusions_again(warehouse, "synthetic-host", "small") == [RUN_ID]
        after = read(warehouse)
    assert (before.verdicts["8"], after.verdicts["8"]) == ("worse", "not decided")
    # The newest one for as many blocks, or for the next fewer; only where it was measured.
    assert after.primary["noise_floor"].to_list() == [None, 0.4]
    assert after.primary["relevant"].to_list() == [0.05, 0.4]
    assert after.frame.height == before.frame.height


def test_the_effect_of_a_limit_has_an_interval_and_no_verdict(tmp_path: Path) -> None:
    chosen = made(
        3,
        pool={"size": [2, 8]},
        database={"limits": [{}, {"cpu_cores": 0.5}]},
    )

    def edit(trial: Trial, rows: list[Document]) -> list[Document]:
        limited = trial.scenario.database_limit is not None
        return slowed(1.5 if limited else 1.0)(trial, rows)

    found = conclude(tmp_path, experiment=chosen, spoiling=Spoiling(edit_rows=edit))
    effects = found.frame.filter(pl.col("kind") == "limit effect")
    row = effects.row(by_predicate=pl.col("metric") == "end_to_end_mean_ms", named=True)
    assert (row["factor"], row["level"], row["baseline_level"]) == (
        "database_limit",
        "0.5 cores per 10 ms",
        "no limit",
    )
    assert row["ratio_low"] < 1.5 < row["ratio_high"]
    assert row["verdict"] is None


def test_a_run_that_slows_down_is_warned_of(tmp_path: Path) -> None:
    def slowing(trial: Trial, rows: list[Document]) -> list[Document]:
        return slowed(1 + trial.number / 8, trial.scenario.pool.size, noise=0.01)(trial, rows)

    chosen = made(6, pool={"size": [2, 8]})
    found = conclude(tmp_path, experiment=chosen, spoiling=Spoiling(edit_rows=slowing))
    (drift,) = found.drifts.to_dicts()
    assert drift["warned"] and drift["change"] > 0.5
    assert drift["metric"] == "end_to_end_mean_ms"


def test_a_run_without_any_trial_has_conclusions_too(tmp_path: Path) -> None:
    chosen = made(2)
    found = conclude(
        tmp_path, experiment=chosen, spoiling=Spoiling(leave_out=range(1, 7)), state="failed"
    )
    assert found.primary.height == 2
    assert found.primary["verdict"].null_count() == 2
    assert set(found.primary["reason"]) == {
        "no block has a number for both that a ratio can be made of"
    }
