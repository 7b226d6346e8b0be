"""Runs against a baseline: what differs first, then scenario by scenario, and what may be claimed.

A claim needs runs that are alike in what matters, both valid, and a spread of earlier whole runs:
`warehouse.likeness` and `warehouse.whole_runs` say when.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from poolexp.errors import UsageError
from warehouse.database import Warehouse
from warehouse.likeness import Difference, differences
from warehouse.runs_read import (
    MORE_IS_BETTER,
    Key,
    KnownRun,
    Value,
    known_runs,
    metric_values,
    require_metric,
)
from warehouse.whole_runs import MOST_RUNS, Claim, Pairing, claims, spread_of

SHOWN = tuple(
    f"{phase}_{statistic}_ms"
    for phase in ("acquire_wait", "round_trip", "end_to_end")
    for statistic in ("mean", "p99")
)
"""What is set side by side of every scenario, besides the primary metric."""


@dataclass(frozen=True, slots=True)
class ScenarioPair:
    """A scenario that both runs have: its values in each, by metric, and the claim."""

    scenario: str
    values: Mapping[str, tuple[float | None, float | None]]
    claim: Claim

    def ratio(self, metric: str) -> float | None:
        """The second run's value over the baseline's; None where either is missing or zero."""
        first, second = self.values[metric]
        return second / first if first and second is not None else None


@dataclass(frozen=True, slots=True)
class RunPair:
    """One run against the baseline.

    Attributes:
        unlike: in what that matters they differ; then nothing is claimed.
        earlier: how many earlier valid runs alike there are, `MOST_RUNS` at most.
        only_here, only_there: scenarios that only the baseline, or only the other run, has.
    """

    other: KnownRun
    unlike: tuple[Difference, ...]
    earlier: int
    scenarios: tuple[ScenarioPair, ...]
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two or more runs; the first is the baseline. `primary` is the metric of all claims."""

    runs: tuple[KnownRun, ...]
    differences: tuple[Difference, ...]
    primary: str
    delta: float
    pairs: tuple[RunPair, ...]

    @property
    def any_worse(self) -> bool:
        """Whether any claim says worse."""
        return any(each.claim.word == "worse" for pair in self.pairs for each in pair.scenarios)


def compare_runs(warehouse: Warehouse, run_ids: Sequence[str]) -> Compared:
    """Compare runs with the first of them.

    Raises:
        UsageError: fewer than two runs, one of them twice, or one that does not exist.
    """
    _require_several(run_ids)
    known = known_runs(warehouse, run_ids)
    by_id = {run.run_id: run for run in known}
    runs = tuple(by_id[run_id] for run_id in run_ids)
    baseline = runs[0]
    earlier = {other.run_id: _earlier(known, baseline, other) for other in runs[1:]}
    primary = require_metric(warehouse, baseline.primary)
    values = _values(warehouse, runs, earlier, primary)
    return Compared(
        runs,
        differences([run.conditions for run in runs]),
        baseline.primary,
        baseline.delta,
        _pairs(runs, earlier, values),
    )


def _require_several(run_ids: Sequence[str]) -> None:
    if len(run_ids) < 2:
        raise UsageError(
            "one run cannot be compared", "Name a baseline and at least one other run."
        )
    twice = {run_id for run_id in run_ids if run_ids.count(run_id) > 1}
    if twice:
        raise UsageError(
            f"run {min(twice)} would be compared with itself", "Name every run only once."
        )


Earlier = Mapping[str, Sequence[KnownRun]]


def _earlier(known: Sequence[KnownRun], baseline: KnownRun, other: KnownRun) -> list[KnownRun]:
    """The newest valid runs before the later of the two, alike with both; none if these are not."""
    if baseline.key != other.key:
        return []
    found: list[KnownRun] = []
    until = max(baseline.created_at, other.created_at)
    for run in reversed(known):
        if len(found) == MOST_RUNS:
            break
        apart = run.run_id not in (baseline.run_id, other.run_id) and run.created_at < until
        # The key is dear, so it is asked for last.
        if apart and run.valid and run.key == baseline.key:
            found.append(run)
    return found[::-1]


def _values(
    warehouse: Warehouse, runs: Sequence[KnownRun], earlier: Earlier, primary: str
) -> Mapping[Key, Value]:
    before = [run.run_id for found in earlier.values() for run in found]
    values = metric_values(warehouse, before, [primary])
    # One by one: they may lie years apart, and what lies between is not asked for.
    for run in runs:
        values |= metric_values(warehouse, [run.run_id], [*SHOWN, primary])
    return values


def _pairs(
    runs: Sequence[KnownRun], earlier: Earlier, values: Mapping[Key, Value]
) -> tuple[RunPair, ...]:
    """All pairs; the claims of all of them are one family."""
    baseline, *others = runs
    common = {other.run_id: _common(baseline, other, values) for other in others}
    family = [
        _pairing(baseline, other, scenario, earlier[other.run_id], values)
        for other in others
        for scenario in common[other.run_id]
    ]
    made = iter(claims(family)) if family else iter(())
    return tuple(
        _pair(baseline, other, common[other.run_id], len(earlier[other.run_id]), values, made)
        for other in others
    )


def _scenarios(run: KnownRun, values: Mapping[Key, Value]) -> list[str]:
    """A run's scenarios: workloads in the order of the experiment's file, pools by size."""
    found = {
        scenario: (run.place_of(value.workload), value.pool_size, scenario)
        for (run_id, scenario, metric), value in values.items()
        if run_id == run.run_id and metric == run.primary
    }
    return sorted(found, key=found.__getitem__)


def _common(baseline: KnownRun, other: KnownRun, values: Mapping[Key, Value]) -> list[str]:
    return [
        scenario
        for scenario in _scenarios(baseline, values)
        if (other.run_id, scenario, baseline.primary) in values
    ]


def _pairing(
    baseline: KnownRun,
    other: KnownRun,
    scenario: str,
    earlier: Sequence[KnownRun],
    values: Mapping[Key, Value],
) -> Pairing:
    metric = baseline.primary
    first = values[baseline.run_id, scenario, metric]
    second = values[other.run_id, scenario, metric]
    before = (values.get((run.run_id, scenario, metric)) for run in earlier)
    logs = [value.log for value in before if value is not None and value.log is not None]
    return Pairing(
        None if first.log is None or second.log is None else second.log - first.log,
        spread_of(logs),
        baseline.delta,
        more_is_better=metric in MORE_IS_BETTER,
        barred=_barred(baseline, other) or _unfit(first, second),
    )


def _barred(baseline: KnownRun, other: KnownRun) -> str | None:
    if baseline.key != other.key:
        return "unlike runs"
    return next(
        (f"{run.run_id}: {run.invalid_because}" for run in (baseline, other) if not run.valid), None
    )


def _unfit(first: Value, second: Value) -> str | None:
    reasons = {value.unfit for value in (first, second) if value.unfit}
    return ", ".join(sorted(reasons)) or None


def _pair(
    baseline: KnownRun,
    other: KnownRun,
    common: Sequence[str],
    earlier: int,
    values: Mapping[Key, Value],
    made: Iterator[Claim],
) -> RunPair:
    there = [scenario for run_id, scenario, _ in values if run_id == other.run_id]
    return RunPair(
        other,
        tuple(
            each for each in differences([baseline.conditions, other.conditions]) if each.matters
        ),
        earlier,
        tuple(
            ScenarioPair(scenario, _side_by_side(baseline, other, scenario, values), next(made))
            for scenario in common
        ),
        tuple(each for each in _scenarios(baseline, values) if each not in common),
        tuple(each for each in dict.fromkeys(there) if each not in common),
    )


def _side_by_side(
    baseline: KnownRun, other: KnownRun, scenario: str, values: Mapping[Key, Value]
) -> dict[str, tuple[float | None, float | None]]:
    def of(run: KnownRun, metric: str) -> float | None:
        found = values.get((run.run_id, scenario, metric))
        return found.value if found else None

    metrics = dict.fromkeys([*SHOWN, baseline.primary])
    return {metric: (of(baseline, metric), of(other, metric)) for metric in metrics}
