"""Runs against a baseline, and an experiment's history, from runs on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from poolexp.errors import UsageError
from warehouse import queries
from warehouse.database import Warehouse, open_warehouse
from warehouse.runs_compared import Compared, compare_runs
from warehouse.runs_history import History, Series, experiment_history


@pytest.fixture(scope="module")
def warehouse(series_home: Path) -> Iterator[Warehouse]:
    with open_warehouse(series_home, read_only=True) as opened:
        yield opened


def compared(warehouse: Warehouse, *labels: str) -> Compared:
    return compare_runs(warehouse, [queries.resolve_run(warehouse, label) for label in labels])


def words(found: Compared) -> set[str | None]:
    return {each.claim.word for pair in found.pairs for each in pair.scenarios}


def test_a_slower_run_is_worse(warehouse: Warehouse) -> None:
    found = compared(warehouse, "quiet-10", "slow")
    (pair,) = found.pairs
    assert words(found) == {"worse"}
    assert found.any_worse
    assert [each.scenario for each in pair.scenarios] == ["burst-pool-2", "burst-pool-8"]
    assert pair.earlier == 11
    assert [each.fact for each in found.differences] == ["label"]
    for each in pair.scenarios:
        assert each.ratio("end_to_end_mean_ms") == pytest.approx(1.4, rel=0.15)


def test_the_same_two_runs_the_other_way_round_are_better(warehouse: Warehouse) -> None:
    assert words(compared(warehouse, "slow", "quiet-10")) == {"better"}


def test_an_equal_run_is_not_worse(warehouse: Warehouse) -> None:
    found = compared(warehouse, "quiet-10", "equal")
    assert words(found) <= {"not decided", "no relevant difference"}
    assert not found.any_worse


def test_without_a_history_nothing_is_decided(warehouse: Warehouse) -> None:
    found = compared(warehouse, "quiet-0", "quiet-1")
    assert words(found) == {"not decided"}
    (reason,) = {each.claim.reason for each in found.pairs[0].scenarios}
    assert reason == "10 earlier valid runs alike in what matters are needed, there are none"


@pytest.mark.parametrize(("label", "fact"), [("kernel", "kernel"), ("unlimited", "CPU limits")])
def test_unlike_runs_are_listed_and_never_judged(
    warehouse: Warehouse, label: str, fact: str
) -> None:
    found = compared(warehouse, "quiet-10", label)
    (pair,) = found.pairs
    assert [each.fact for each in pair.unlike] == [fact]
    assert found.differences[0].fact == fact
    assert words(found) == {None}
    assert {each.claim.reason for each in pair.scenarios} == {"unlike runs"}
    assert pair.scenarios[0].ratio("round_trip_mean_ms") is not None


def test_a_run_that_was_never_judged_gets_no_claim(warehouse: Warehouse) -> None:
    found = compared(warehouse, "quiet-10", "unjudged")
    assert words(found) == {None}
    assert "never validated" in found.pairs[0].scenarios[0].claim.reason


def test_unlike_and_unjudged_runs_count_for_no_spread(warehouse: Warehouse) -> None:
    assert compared(warehouse, "slow", "unjudged").pairs[0].earlier == 12


def test_several_runs_against_one_baseline(warehouse: Warehouse) -> None:
    found = compared(warehouse, "quiet-10", "slow", "kernel")
    assert [{each.claim.word for each in pair.scenarios} for pair in found.pairs] == [
        {"worse"},
        {None},
    ]
    assert [len(each.values) for each in found.differences] == [3, 3]


def test_runs_of_unlike_experiments(warehouse: Warehouse) -> None:
    found = compared(warehouse, "quiet-10", "after-3")
    assert [each.fact for each in found.pairs[0].unlike] == ["experiment", "pool.size"]
    assert words(found) == {None}


def test_calls_that_compare_nothing(warehouse: Warehouse) -> None:
    with pytest.raises(UsageError, match="cannot be compared"):
        compared(warehouse, "slow")
    with pytest.raises(UsageError, match="with itself"):
        compared(warehouse, "slow", "slow")


def test_the_view_holds_the_same_numbers(warehouse: Warehouse) -> None:
    found = compared(warehouse, "quiet-10", "slow")
    first, second = (run.run_id for run in found.runs)
    rows = warehouse.connection.execute(
        "SELECT scenario, metric, value_a, value_b, ratio, difference FROM run_comparison "
        "WHERE run_a = ? AND run_b = ?",
        [first, second],
    ).fetchall()
    assert len(rows) == 2 * 37
    by_key = {(scenario, metric): rest for scenario, metric, *rest in rows}
    for each in found.pairs[0].scenarios:
        for metric, (value_a, value_b) in each.values.items():
            assert by_key[each.scenario, metric] == [
                value_a,
                value_b,
                pytest.approx(each.ratio(metric)),
                pytest.approx((value_b or 0) - (value_a or 0)),
            ]


# History.


def place_of_newest(found: History) -> set[str]:
    return {series.points[-1].place for series in found.series}


def at(series: Series, label: str) -> str:
    return next(point.place for point in series.points if point.run.label == label)


def test_each_run_against_the_earlier_ones(warehouse: Warehouse) -> None:
    found = experiment_history(warehouse, "steady")
    assert [series.scenario for series in found.series] == ["burst-pool-2", "burst-pool-8"]
    for series in found.series:
        assert at(series, "slow") == "above"
        assert at(series, "equal") == "inside"
        assert at(series, "quiet-8") == ""
        assert at(series, "kernel") == ""
        assert series.changes == ()


def test_unlike_runs_form_groups_and_unjudged_ones_do_not_count(warehouse: Warehouse) -> None:
    found = experiment_history(warehouse, "steady")
    assert [(each.run.label, each.group, each.returns) for each in found.breaks] == [
        ("kernel", 1, False),
        ("unlimited", 2, False),
    ]
    newest = found.series[0].points[-1]
    assert (newest.run.label, newest.group) == ("unjudged", None)
    assert newest.uncounted == "the run was never validated"


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="ruptures has no build for this Python")
def test_the_run_from_which_on_the_level_is_another_one(warehouse: Warehouse) -> None:
    found = experiment_history(warehouse, "stepped")
    for series in found.series:
        (change,) = series.changes
        assert change.run.label == "after-0"
        assert (change.runs_before, change.runs_after) == (8, 4)
        assert change.after / change.before == pytest.approx(1.3, rel=0.1)


def test_going_back_to_earlier_conditions_is_said(warehouse: Warehouse) -> None:
    found = experiment_history(warehouse)
    assert found.experiment == "moved"
    assert [(each.group, each.returns) for each in found.breaks] == [(1, False), (0, True)]
    assert [difference.fact for difference in found.breaks[0].unlike] == ["kernel"]
    assert [point.earlier for point in found.series[0].points] == [0, 0, 1]


def test_what_is_expected_does_not_depend_on_what_is_looked_at(warehouse: Warehouse) -> None:
    whole = experiment_history(warehouse, "steady").series[1]
    alone = experiment_history(warehouse, "steady", scenario=whole.scenario).series[0]
    assert [point.expected for point in alone.points] == [point.expected for point in whole.points]


def test_another_metric_and_one_scenario(warehouse: Warehouse) -> None:
    found = experiment_history(
        warehouse, "stepped", metric="round_trip_p99_ms", scenario="burst-pool-8"
    )
    (series,) = found.series
    assert series.points[-1].value is not None
    alone = experiment_history(warehouse, "stepped", metric="round_trip_p99_ms")
    assert series.points[-1].value == alone.series[0].points[-1].value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"experiment": "nonsense"}, "there are: moved, stepped, steady"),
        ({"metric": "limited"}, "there is no metric"),
        ({"scenario": "nonsense"}, "there is no scenario"),
    ],
)
def test_what_does_not_exist_is_named(
    warehouse: Warehouse, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        experiment_history(warehouse, **options)
