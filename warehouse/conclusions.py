"""Draws a run's conclusions and stores them: its comparisons with their verdicts, and its drift.

They follow from what is in the warehouse and can be drawn again at any time: whenever a run is
judged, and for all runs of a host when a noise floor of its is measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from warehouse.comparisons import Comparison, compare
from warehouse.conditions import Row
from warehouse.database import Warehouse
from warehouse.drift import Drift, drift
from warehouse.measured import Floors, Measured
from warehouse.migrate import transaction, utc_now
from warehouse.queries import run_facts, scenario_summary, trial_summary, trials
from warehouse.statements import statement

_FORGET = (
    "DELETE FROM raw.comparison WHERE run_id = ?",
    "DELETE FROM raw.drift WHERE run_id = ?",
)


def draw_conclusions(warehouse: Warehouse, run_id: str) -> None:
    """Compare a run's scenarios and look for drift, and replace what was stored of both.

    Raises:
        UsageError: there is no such run.
    """
    measured = _measured(warehouse, run_id)
    comparisons, found = compare(measured), _drift(measured)
    with transaction(warehouse.connection):
        for sql in _FORGET:
            warehouse.connection.execute(sql, [run_id])
        _store(warehouse, run_id, comparisons)
        _store_drift(warehouse, run_id, measured.primary, found)


def draw_conclusions_again(warehouse: Warehouse, host_key: str, experiment: str) -> list[str]:
    """The same for all runs of a host and experiment that have conclusions, after an A/A of it.

    Returns their ids, the oldest first.
    """
    rows = warehouse.connection.execute(
        statement("concluded_runs"), [host_key, experiment]
    ).fetchall()
    for (run_id,) in rows:
        draw_conclusions(warehouse, run_id)
    return [run_id for (run_id,) in rows]


def _measured(warehouse: Warehouse, run_id: str) -> Measured:
    documents = run_facts(warehouse, run_id)
    experiment = documents["plan"]["experiment"]
    planned, summary = trials(warehouse, run_id), trial_summary(warehouse, run_id)
    new = ["trial", *(name for name in summary.columns if name not in planned.columns)]
    summaries = scenario_summary(warehouse, run_id).filter(pl.col("limited"))
    return Measured(
        experiment=experiment,
        trials=planned.join(summary.select(new), on="trial").sort("trial").to_dicts(),
        limited=summaries["scenario"].to_list(),
        floors=Floors(_floors(warehouse, documents["facts"], _noise_of(experiment))),
    )


def _noise_of(experiment: Row) -> str:
    """The name of the experiment whose noise floor holds: of an A/A the one that it is about."""
    return str((experiment.get("aa") or {}).get("experiment") or experiment["name"])


def _floors(warehouse: Warehouse, facts: Row, experiment: str) -> Sequence[Row]:
    host_key = facts.get("host", {}).get("host_key")
    parameters = {"host_key": host_key, "experiment": experiment}
    return warehouse.connection.execute(statement("floors_of_host"), parameters).pl().to_dicts()


def _drift(measured: Measured) -> Drift:
    rows = [row for row in measured.counted if (row[measured.primary] or 0) > 0]
    return drift(
        [row["scenario"] for row in rows],
        [row["trial"] for row in rows],
        [math.log(row[measured.primary]) for row in rows],
    )


def _store(warehouse: Warehouse, run_id: str, comparisons: Sequence[Comparison]) -> None:
    rows = [{"number": number, **asdict(row)} for number, row in enumerate(comparisons, start=1)]
    _insert(
        warehouse, "insert_comparisons", run_id, {"comparisons": json.dumps(rows, allow_nan=False)}
    )


def _store_drift(warehouse: Warehouse, run_id: str, metric: str, found: Drift) -> None:
    change = None if found.change is None else math.expm1(found.change)
    values = {"metric": metric, "change": change, "warned": found.warned}
    values |= {"trials": found.trials, "p_value": found.p_value}
    _insert(warehouse, "insert_drift", run_id, values)


def _insert(warehouse: Warehouse, name: str, run_id: str, values: dict[str, Any]) -> None:
    parameters = {"run_id": run_id, "compared_at": utc_now(), **values}
    warehouse.connection.execute(statement(name), parameters)
