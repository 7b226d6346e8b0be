"""Runs side by side, as the warehouse holds them: their conditions, and scenarios' values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from poolexp.errors import UsageError
from warehouse.database import Warehouse
from warehouse.likeness import Conditions, conditions, likeness_key
from warehouse.statements import statement

MORE_IS_BETTER = frozenset({"rate_per_s"})


@dataclass(frozen=True)
class KnownRun:
    """One run with what tells whether it is like another; no slots, because it reads only once."""

    run_id: str
    created_at: datetime
    label: str | None
    state: str
    validated: bool | None
    experiment_text: str
    facts_text: str | None

    @property
    def valid(self) -> bool:
        """Whether it ended as planned and everything held that was expected of it."""
        return self.state == "complete" and self.validated is True

    @property
    def invalid_because(self) -> str:
        """Why it is not valid; empty where it is."""
        if self.state != "complete":
            return f"the run is {self.state}"
        judged = {None: "the run was never validated", False: "its validation failed"}
        return "" if self.validated else judged[self.validated]

    @cached_property
    def experiment(self) -> Mapping[str, Any]:
        """The experiment's file, as the plan holds it."""
        return dict(json.loads(self.experiment_text))

    @cached_property
    def conditions(self) -> Conditions:
        """Everything that may differ from another run's."""
        return _conditions(self.experiment_text, self.facts_text, self.label)

    @property
    def key(self) -> str:
        """The same for all runs that are alike in what matters."""
        return _key(self.experiment_text, self.facts_text)

    @property
    def limits_state(self) -> str:
        """What became of its CPU limits: limited, unlimited, not asked, or not recorded."""
        return self.conditions["CPU limits"].value

    @property
    def primary(self) -> str:
        """The metric that its experiment names for comparisons."""
        return str((self.experiment.get("analysis") or {}).get("primary", "end_to_end_mean_ms"))

    @property
    def delta(self) -> float:
        """The relevant difference that its experiment names, as a share."""
        return float((self.experiment.get("analysis") or {}).get("delta", 0.05))

    def place_of(self, workload: str) -> int:
        """Where in the experiment's file a workload stands; behind all where it does not."""
        names = [each["name"] for each in self.experiment["workload"]]
        return names.index(workload) if workload in names else len(names)


def _conditions(experiment: str, facts: str | None, label: str | None) -> Conditions:
    return conditions(json.loads(experiment), json.loads(facts) if facts else {}, label)


@lru_cache(maxsize=4096)
def _key(experiment: str, facts: str | None) -> str:
    """Most runs of an experiment have the same texts, and reading them is dear."""
    return likeness_key(_conditions(experiment, facts, None))


@dataclass(frozen=True, slots=True)
class Value:
    """A metric of a scenario in one run.

    Attributes:
        unfit: why nothing can be claimed of it, nor counted on it; empty where something can.
    """

    workload: str
    pool_size: int
    value: float | None
    unfit: str

    @property
    def log(self) -> float | None:
        """Its logarithm; None where there is none, or the value is unfit."""
        if self.unfit or self.value is None or self.value <= 0:
            return None
        return math.log(self.value)


Key = tuple[str, str, str]
"""Run, scenario, metric."""


def known_runs(warehouse: Warehouse, run_ids: Sequence[str]) -> tuple[KnownRun, ...]:
    """All runs of the experiments that these runs belong to, the oldest first.

    Raises:
        UsageError: there is no run of such an id.
    """
    rows = warehouse.connection.execute(statement("alike_candidates"), [list(run_ids)]).fetchall()
    found = tuple(_known_run(*row) for row in rows)
    missing = set(run_ids) - {run.run_id for run in found}
    if missing:
        raise UsageError(f"there is no run {min(missing)!r}", "See `poolexp runs`.")
    return found


def _known_run(
    run_id: str,
    created_at: datetime,
    label: str | None,
    experiment: str,
    facts: str | None,
    state: str,
    validated: bool | None,
) -> KnownRun:
    return KnownRun(run_id, created_at, label, state, validated, experiment, facts)


def metric_values(
    warehouse: Warehouse, run_ids: Iterable[str], metrics: Iterable[str]
) -> dict[Key, Value]:
    """Values of scenarios, by run, scenario and metric: the medians over usable trials."""
    wanted = {"runs": list(dict.fromkeys(run_ids)), "metrics": list(dict.fromkeys(metrics))}
    if not wanted["runs"]:
        return {}
    found = warehouse.connection.execute(statement("metric_values"), wanted).pl()
    return {
        (row["run_id"], row["scenario"], metric): Value(
            row["workload"],
            row["pool_size"],
            row[metric],
            _unfit(row["usable"], row["failed"], limited=row["limited"]),
        )
        for row in found.iter_rows(named=True)
        for metric in wanted["metrics"]
    }


def _unfit(usable: int, failed: int, *, limited: bool) -> str:
    if not usable:
        return "no usable trial"
    if failed:
        return "requests failed"
    return "limited" if limited else ""


def require_metric(warehouse: Warehouse, metric: str) -> str:
    """The metric, if runs can be compared by it.

    Raises:
        UsageError: they cannot; those by which they can are named.
    """
    names = [name for (name,) in warehouse.connection.execute(statement("metric_names")).fetchall()]
    if metric not in names:
        raise UsageError(f"there is no metric {metric!r}", f"Choose one of: {', '.join(names)}.")
    return metric
