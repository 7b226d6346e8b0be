"""One experiment over its runs: each value against the earlier ones, and where the level changed.

Only valid runs count, and only runs that are alike in what matters are judged by each other: they
form a group. A run with other conditions begins a new group, or goes back to an earlier one; it is
said in what it is unlike, and nothing is joined across.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from poolexp.errors import UsageError
from warehouse.change_points import change_points
from warehouse.database import Warehouse
from warehouse.likeness import Difference, differences
from warehouse.runs_read import Key, KnownRun, Value, known_runs, metric_values, require_metric
from warehouse.statements import statement
from warehouse.statistics import ALPHA, Interval
from warehouse.whole_runs import FEWEST_RUNS, MOST_RUNS, prediction_interval, spread_of


@dataclass(frozen=True, slots=True)
class Point:
    """One run in the series of a scenario.

    Attributes:
        group: number of its group, from 0; None for a run that does not count at all.
        value: the metric; None where the run has none.
        uncounted: why the value counts for nothing; empty where it counts.
        earlier: runs of the group before it whose values count.
        expected: where it was to lie if nothing changed, in the metric's unit; None with fewer
            than `FEWEST_RUNS` earlier ones.
    """

    run: KnownRun
    group: int | None
    value: float | None
    uncounted: str
    earlier: int
    expected: Interval | None

    @property
    def place(self) -> str:
        """`inside`, `above` or `below` what was expected; empty where that is not known."""
        if self.uncounted or self.value is None or self.expected is None:
            return ""
        if self.value > self.expected.high:
            return "above"
        return "below" if self.value < self.expected.low else "inside"


@dataclass(frozen=True, slots=True)
class Change:
    """Another level from `run` on: medians before and after, and how many runs they are of."""

    run: KnownRun
    before: float
    after: float
    runs_before: int
    runs_after: int


@dataclass(frozen=True, slots=True)
class Series:
    """One scenario over all runs of the experiment, the oldest first."""

    scenario: str
    points: tuple[Point, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Break:
    """From `run` on the conditions are others than in the valid run before.

    Attributes:
        group: the group that the run belongs to; `returns` says whether there were such before.
    """

    run: KnownRun
    unlike: tuple[Difference, ...]
    group: int
    returns: bool


@dataclass(frozen=True, slots=True)
class History:
    """An experiment's runs, the oldest first; the series in the order of its file."""

    experiment: str
    metric: str
    runs: tuple[KnownRun, ...]
    breaks: tuple[Break, ...]
    series: tuple[Series, ...]


def experiment_history(
    warehouse: Warehouse,
    experiment: str | None = None,
    *,
    metric: str | None = None,
    scenario: str | None = None,
) -> History:
    """The history of an experiment, by default of the newest run's, in its primary metric.

    Raises:
        UsageError: there is no such experiment, metric or scenario; those that exist are named.
    """
    name, newest = _newest_of(warehouse, experiment)
    runs = known_runs(warehouse, [newest])
    chosen = require_metric(warehouse, metric or runs[-1].primary)
    values = metric_values(warehouse, [run.run_id for run in runs], [chosen])
    groups = _groups(runs)
    scenarios = _scenarios(runs[-1], values)
    # What is expected does not depend on what is looked at: all scenarios are one family.
    alpha = ALPHA / len(scenarios)
    return History(
        name,
        chosen,
        runs,
        tuple(_breaks(runs, groups)),
        tuple(
            _series(each, runs, groups, values, chosen, alpha)
            for each in _wanted(scenarios, scenario)
        ),
    )


def _newest_of(warehouse: Warehouse, experiment: str | None) -> tuple[str, str]:
    """The experiment's name and its newest run."""
    found = dict(warehouse.connection.execute(statement("newest_of_experiments")).fetchall())
    if not found:
        raise UsageError("there are no runs yet", "Make one with `poolexp run`.")
    name = next(iter(found)) if experiment is None else experiment
    if name not in found:
        raise UsageError(
            f"there is no run of an experiment {name!r}; there are: {', '.join(found)}",
            "Give an experiment's name, as `poolexp runs` shows it.",
        )
    return name, found[name]


def _scenarios(newest: KnownRun, values: Mapping[Key, Value]) -> list[str]:
    """All scenarios of any run, in the order of the newest run's file."""
    order = {
        scenario: (newest.place_of(value.workload), value.pool_size, scenario)
        for (_, scenario, _), value in values.items()
    }
    return sorted(order, key=order.__getitem__)


def _wanted(scenarios: Sequence[str], scenario: str | None) -> Sequence[str]:
    """All of them, or the one that is looked at."""
    if scenario is None:
        return scenarios
    if scenario not in scenarios:
        raise UsageError(
            f"there is no scenario {scenario!r}", f"Choose one of: {', '.join(scenarios)}."
        )
    return [scenario]


def _groups(runs: Sequence[KnownRun]) -> dict[str, int]:
    """The group of each valid run: runs alike in what matters share one."""
    numbers: dict[str, int] = {}
    return {run.run_id: numbers.setdefault(run.key, len(numbers)) for run in runs if run.valid}


def _breaks(runs: Sequence[KnownRun], groups: Mapping[str, int]) -> Iterator[Break]:
    valid = [run for run in runs if run.valid]
    seen: set[int] = set()
    for place, run in enumerate(valid):
        group = groups[run.run_id]
        before = valid[place - 1] if place else run
        if group != groups[before.run_id]:
            unlike = differences([before.conditions, run.conditions])
            matter = tuple(each for each in unlike if each.matters)
            yield Break(run, matter, group, group in seen)
        seen.add(group)


def _series(
    scenario: str,
    runs: Sequence[KnownRun],
    groups: Mapping[str, int],
    values: Mapping[Key, Value],
    metric: str,
    alpha: float,
) -> Series:
    """The points in their order; what each is judged by is what its group had before it."""
    before: dict[int, list[tuple[KnownRun, float]]] = defaultdict(list)
    points: list[Point] = []
    for run in runs:
        value, group = values.get((run.run_id, scenario, metric)), groups.get(run.run_id)
        earlier = before[group] if group is not None else []
        expected = _expected([log for _, log in earlier[-MOST_RUNS:]], alpha)
        uncounted = run.invalid_because or _uncounted(value)
        points.append(
            Point(run, group, value.value if value else None, uncounted, len(earlier), expected)
        )
        if group is not None and value is not None and value.log is not None:
            earlier.append((run, value.log))
    changes = [change for members in before.values() for change in _changes(members)]
    return Series(
        scenario,
        tuple(points),
        tuple(sorted(changes, key=lambda change: (change.run.created_at, change.run.run_id))),
    )


def _uncounted(value: Value | None) -> str:
    if value is None:
        return "the run does not have this scenario"
    return value.unfit or ("" if value.log is not None else "no value")


def _expected(logs: Sequence[float], alpha: float) -> Interval | None:
    """In the metric's unit; None where too few runs say how far they lie apart."""
    spread = spread_of(logs)
    if spread is None or spread.runs < FEWEST_RUNS:
        return None
    interval = prediction_interval(spread, alpha)
    return Interval(math.exp(interval.low), math.exp(interval.high))


def _changes(members: Sequence[tuple[KnownRun, float]]) -> Iterator[Change]:
    """Each change with the level on either side of it, up to the next one."""
    logs = [log for _, log in members]
    places = change_points(logs)
    edges = (0, *places, len(logs))
    for number, place in enumerate(places, start=1):
        before, after = logs[edges[number - 1] : place], logs[place : edges[number + 1]]
        yield Change(
            members[place][0],
            math.exp(statistics.median(before)),
            math.exp(statistics.median(after)),
            len(before),
            len(after),
        )
