"""One run as a report needs it: read once from the warehouse, then only looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from reports.gating import Gating, gating
from reports.scenarios import Cell, cells_of
from reports.summary import limits_tag
from warehouse import queries
from warehouse.database import Warehouse

Facts = Mapping[str, Any]

POINTS_OF_ALL_CURVES = 4_000
"""So many points draw all distributions of a page, however many trials there are."""

FEWEST_POINTS, MOST_POINTS = 7, 51
TAIL = (0.99, 0.995, 0.999, 1.0)


@dataclass(frozen=True, slots=True)
class RunReading:
    """What the warehouse knows of one run.

    Attributes:
        run: its row of the view `runs`.
        plan, facts, outcome: the documents that it left; the later ones empty until written.
        cells: its scenarios in the order of the page.
        everything: the summary of scenarios as if no block were excluded.
        quantiles: end-to-end quantiles of every usable trial, in ms.
        failure_kinds: the kinds of errors that requests ended with.
        gates, gate_limits: what the gates found in each accepted trial, and the gates themselves.
        comparisons, drifts: what was concluded when it was judged; empty before.
    """

    run: Facts
    plan: Facts
    facts: Facts
    outcome: Facts
    cells: tuple[Cell, ...]
    trials: pl.DataFrame
    trial_summary: pl.DataFrame
    scenario_summary: pl.DataFrame
    everything: pl.DataFrame
    validations: pl.DataFrame
    quantiles: pl.DataFrame
    gates: pl.DataFrame
    gate_limits: pl.DataFrame
    comparisons: pl.DataFrame
    drifts: pl.DataFrame
    failure_kinds: pl.DataFrame

    @property
    def gating(self) -> Gating:
        """What became of the trials at the gates."""
        return gating(self.gates, self.trials, self.scenario_summary)

    @property
    def limits_tag(self) -> str:
        """What stands beside every result where the limits were not in force; else empty."""
        return limits_tag(self.run["limits_state"] or "not known yet")

    def scenario(self, cell: Cell) -> Facts:
        """The cell's row of `scenario_summary`."""
        rows = self.scenario_summary.filter(pl.col("scenario") == cell.scenario)
        return rows.row(0, named=True)

    def units(self, cell: Cell) -> int:
        """Independent observations in one of the cell's windows: bursts, or single requests."""
        workloads = {row["name"]: row for row in self.plan["experiment"]["workload"]}
        arrivals = workloads[cell.workload]["arrivals"] or {}
        together: int = arrivals.get("size", 1)
        own = self.trial_summary.filter(pl.col("scenario") == cell.scenario)
        # A closed loop plans no requests: those that there were.
        planned = own.select(pl.coalesce("planned", "n").min()).item()
        return int(planned) // together

    def repetitions(self, cell: Cell) -> list[Facts]:
        """The cell's usable trials, in the order of the blocks; none of an excluded block."""
        usable = pl.col("attempt").is_not_null() & ~pl.col("excluded")
        own = (pl.col("scenario") == cell.scenario) & usable
        return list(self.trial_summary.filter(own).sort("block").iter_rows(named=True))


def read_run(warehouse: Warehouse, run_id: str) -> RunReading:
    """Everything that a report about one run shows.

    Raises:
        UsageError: there is no such run, or its raw rows were pruned.
    """
    queries.require_raw_rows(warehouse, run_id)
    documents = queries.run_facts(warehouse, run_id)
    run = queries.runs(warehouse).filter(pl.col("run_id") == run_id).row(0, named=True)
    scenario_summary = queries.scenario_summary(warehouse, run_id)
    trials = queries.trials(warehouse, run_id)
    probabilities = curve_probabilities(trials.height)
    return RunReading(
        run=run,
        plan=documents["plan"],
        facts=documents["facts"],
        outcome=documents["outcome"],
        cells=cells_of(scenario_summary),
        trials=trials,
        trial_summary=queries.trial_summary(warehouse, run_id),
        scenario_summary=scenario_summary,
        everything=queries.scenario_summary_all(warehouse, run_id),
        validations=queries.validations(warehouse, run_id),
        quantiles=queries.latency_quantiles(warehouse, run_id, probabilities).join(
            trials.filter(~pl.col("excluded")).select("trial"), on="trial", how="semi"
        ),
        gates=queries.gates(warehouse, run_id),
        gate_limits=queries.gate_limits(warehouse),
        comparisons=queries.comparisons(warehouse, run_id),
        drifts=queries.drifts(warehouse, run_id),
        failure_kinds=queries.failure_kinds(warehouse, run_id),
    )


def curve_probabilities(trials: int) -> list[float]:
    """Where to read each trial's distribution: evenly, and closer together in the tail."""
    points = min(max(POINTS_OF_ALL_CURVES // max(trials, 1), FEWEST_POINTS), MOST_POINTS)
    even = [round((place + 0.5) / points, 4) for place in range(points)]
    return sorted({*even, 0.01, 0.5, 0.9, *TAIL})
