"""An A/A run of synthetic trials, from its directory to the verdicts of other runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest
from synthetic_runs import write_run

from poolexp.aa import AaDesign, aa_document
from poolexp.catalogue import load_experiment, parse_experiment, source_of
from poolexp.experiment import Experiment
from warehouse.aa import METRICS, aa_plan, measure_noise
from warehouse.conclusions import draw_conclusions
from warehouse.database import Warehouse, open_warehouse
from warehouse.load import load_run
from warehouse.queries import aa_results, noise_floors_of_run, run_sql

QUICK = "pool-lab-quick"
SCENARIO = "heavy-burst-pool-5"


def _aa_experiment() -> Experiment:
    document = tomllib.loads(source_of(QUICK)[1])
    wanted = AaDesign(pairs=8, power=True, measure_s=0.5)
    made = aa_document(document, load_experiment(QUICK), wanted, Path())
    return parse_experiment(made, source="test")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the experiment itself, and afterwards its A/A."""
    place = tmp_path_factory.mktemp("aa")
    with open_warehouse(place) as warehouse:
        plain = load_experiment(QUICK, repetitions=3)
        only = plain.design.model_copy(update={"only": (SCENARIO, "heavy-burst-pool-20")})
        plain = plain.model_copy(update={"design": only})
        load_run(warehouse, write_run(place, experiment=plain, run_id="run-1"))
        draw_conclusions(warehouse, "run-1")
        load_run(warehouse, write_run(place, experiment=_aa_experiment(), run_id="run-2"))
        assert _floor_used(warehouse) is None
        assert measure_noise(warehouse, "run-2")
        assert not measure_noise(warehouse, "run-1"), "it is no A/A"
    return place


def _floor_used(warehouse: Warehouse) -> float | None:
    sql = "SELECT noise_floor FROM comparisons WHERE run_id = 'run-1' AND kind = 'primary'"
    row = warehouse.connection.execute(sql).fetchone()
    assert row is not None, "there is a primary comparison"
    found: float | None = row[0]
    return found


def test_floors_are_stored_and_used_by_earlier_runs(home: Path) -> None:
    with open_warehouse(home, read_only=True) as warehouse:
        found = noise_floors_of_run(warehouse, "run-2")
        used = _floor_used(warehouse)
    assert set(found["metric"]) == set(METRICS)
    assert set(found["scenario"]) == {SCENARIO}
    assert set(found["experiment"]) == {QUICK}
    assert found["newest"].all()
    primary = found.filter(pl.col("metric") == METRICS[0]).sort("blocks")
    assert primary["blocks"].to_list() == [3, 4, 5, 8, 10]
    assert primary["floor_ratio"].is_sorted(descending=True)
    assert set(primary["pairs"]) == {4}
    assert used == primary["floor_ratio"][0]


def test_equal_conditions_are_not_told_apart_and_more_work_is_called_worse(home: Path) -> None:
    with open_warehouse(home, read_only=True) as warehouse:
        found = aa_results(warehouse, "run-2").filter(pl.col("metric") == METRICS[0])
    twins = found.filter(pl.col("work") == 1)
    assert twins["blocks"].to_list() == [3, 4]
    assert twins["decided"].sum() == 0
    assert set(twins["pairs"]) == {4}, "the blocks that the floor has not seen"
    more = found.filter((pl.col("work") == 1.25) & (pl.col("blocks") == 8)).row(0, named=True)
    assert (more["pairs"], more["comparisons"], more["decided"]) == (8, 1, 1)
    assert more["share_low"] < more["share"] == 1.0
    assert more["ratio_low"] > 1
    assert more["noise_floor"] is not None


def test_the_ratio_recomputes_from_the_trials(home: Path) -> None:
    with open_warehouse(home, read_only=True) as warehouse:
        row = aa_results(warehouse, "run-2").filter(pl.col("work") == 1.1).row(0, named=True)
        sql = f"""
            SELECT exp(avg(ln(c.{row["metric"]} / b.{row["metric"]}))) AS ratio
            FROM trial_summary c JOIN trial_summary b USING (run_id, block)
            WHERE run_id = 'run-2'
            AND c.scenario = '{SCENARIO}-{row["variant"]}'
            AND b.scenario = '{SCENARIO}-{row["baseline"]}'"""
        assert run_sql(warehouse, sql)["ratio"][0] == pytest.approx(row["ratio"])


def test_taking_it_again_changes_nothing(home: Path) -> None:
    with open_warehouse(home) as warehouse:
        before = aa_results(warehouse, "run-2"), noise_floors_of_run(warehouse, "run-2")
        measure_noise(warehouse, "run-2")
        after = aa_results(warehouse, "run-2"), noise_floors_of_run(warehouse, "run-2")
    for old, new in zip(before, after, strict=True):
        assert old.equals(new)


def test_only_an_experiment_that_says_so_is_an_aa() -> None:
    assert aa_plan(load_experiment(QUICK).model_dump(mode="json")) is None
    plan = aa_plan(_aa_experiment().model_dump(mode="json"))
    assert plan is not None
    assert sorted(plan.others.values()) == [pytest.approx(1.1), pytest.approx(1.25)]
    assert plan.baseline != plan.twin
