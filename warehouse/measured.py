"""What a run measured, as its comparisons need it: values by block, and noise floors. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warehouse.conditions import Condition, Pair, Row

RATE = "rate_per_s"

PERCENTILES = {"p50": 0.5, "p90": 0.1, "p95": 0.05, "p99": 0.01}
"""The share of requests beyond each."""

FEWEST_BEYOND = 4
"""So many independent requests must lie beyond a percentile for it to be compared."""


@dataclass(frozen=True, slots=True)
class Floors:
    """Noise floors of the run's host and experiment: rows of `noise_floors`, the newest ones."""

    rows: Sequence[Row]

    def find(self, pair: Pair, metric: str, blocks: int) -> float | None:
        """The floor for this pair, as a share; None where none was measured.

        Where both scenarios have one, the greater. Between fewer blocks equal conditions differ by
        more, so where none was measured for just so many, the one for the next fewer holds.
        """
        found = (self._of(each, metric, blocks) for each in (pair.condition, pair.baseline))
        return max((floor for floor in found if floor is not None), default=None)

    def _of(self, condition: Condition, metric: str, blocks: int) -> float | None:
        # An A/A measurement knows the scenario without the names that it gave its two halves.
        variant = condition.levels["variant"] or ""
        names = {condition.scenario, condition.scenario.removesuffix(f"-{variant}")}
        usable = [
            (row["blocks"], row["floor_ratio"])
            for row in self.rows
            if row["scenario"] in names and row["metric"] == metric and row["blocks"] <= blocks
        ]
        most = max((blocks for blocks, _ in usable), default=0)
        return max((floor for blocks, floor in usable if blocks == most), default=None)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run measured.

    Attributes:
        experiment: the one of plan.json.
        trials: every planned trial: its row of `trials` with that of `trial_summary`.
        limited: the scenarios that are.
        floors: the noise floors that hold for it.
    """

    experiment: Row
    trials: Sequence[Row]
    limited: Collection[str]
    floors: Floors

    @property
    def primary(self) -> str:
        """The metric that verdicts are about."""
        return str(self.experiment.get("analysis", {}).get("primary", "end_to_end_mean_ms"))

    @property
    def delta(self) -> float:
        """The relevant difference, as a share."""
        return float(self.experiment.get("analysis", {}).get("delta", 0.05))

    @property
    def counted(self) -> Iterator[Row]:
        """The trials that count: accepted, in no excluded block."""
        return (row for row in self.trials if row["attempt"] is not None and not row["excluded"])


@dataclass(frozen=True, slots=True)
class Blocks:
    """A condition's and its baseline's value, by block, of the blocks that have both."""

    values: Mapping[int, tuple[float, float]]

    @property
    def logs(self) -> dict[int, float]:
        """Logarithms of the ratios; none at all where one of them would not be finite."""
        if any(not 0 < value < math.inf for both in self.values.values() for value in both):
            return {}
        return {block: math.log(value / base) for block, (value, base) in self.values.items()}

    @property
    def difference(self) -> float | None:
        """Mean of the differences, in the metric's unit; None where one has no bound."""
        differences = [value - base for value, base in self.values.values()]
        if not differences or not all(map(math.isfinite, differences)):
            return None
        return math.fsum(differences) / len(differences)


class Values:
    """The numbers of the trials that count, by scenario and block."""

    def __init__(self, measured: Measured) -> None:
        self._rows: dict[str, dict[int, Row]] = {}
        for row in measured.counted:
            self._rows.setdefault(row["scenario"], {})[row["block"]] = row
        self._together = {
            workload["name"]: (workload.get("arrivals") or {}).get("size", 1)
            for workload in measured.experiment["workload"]
        }

    def of(self, pair: Pair, metric: str) -> Blocks:
        """Both values of each block; infinite where failures leave none."""
        rows, bases = (
            self._rows.get(each.scenario, {}) for each in (pair.condition, pair.baseline)
        )
        both = (
            (block, _value(rows[block], metric), _value(bases[block], metric))
            for block in sorted(rows.keys() & bases.keys())
        )
        return Blocks(
            {
                block: (value, base)
                for block, value, base in both
                if value is not None and base is not None
            }
        )

    def can_tell(self, condition: Condition, metric: str) -> bool:
        """Whether enough lies beyond the percentile, and a rate is more than what was offered."""
        rows = self._rows.get(condition.scenario, {}).values()
        if metric == RATE:
            return all(row["planned"] is None for row in rows)
        statistic = metric.removesuffix("_ms").rpartition("_")[2]
        units = min((row["n"] for row in rows), default=0) // self._together[condition.workload]
        return statistic == "mean" or units * PERCENTILES[statistic] >= FEWEST_BEYOND - 1e-9

    def tell(self, pair: Pair, metric: str) -> bool:
        """Whether both scenarios of a pair can tell a metric."""
        return self.can_tell(pair.condition, metric) and self.can_tell(pair.baseline, metric)


def _value(row: Row, metric: str) -> float | None:
    value: float | None = row[metric]
    return math.inf if value is None and row["failed"] else value
