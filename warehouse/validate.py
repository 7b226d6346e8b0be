"""Judges a run with Great Expectations and stores the judgement.

Great Expectations sees small pandas frames that the warehouse's own queries made: its SQL route
over DuckDB fails in every expectation. It takes seconds to import, so that happens late; it is
kept from the network, from the terminal and from the working directory.
"""

from __future__ import annotations

import json
import os
import traceback
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from poolexp.errors import UsageError
from warehouse.aa import measure_noise
from warehouse.conclusions import draw_conclusions
from warehouse.database import Warehouse, open_warehouse
from warehouse.expectations import EXPECTATIONS, Expectation
from warehouse.migrate import transaction, utc_now
from warehouse.queries import require_raw_rows
from warehouse.statements import statement
from warehouse.validation_report import ExpectationResult, ValidationReport

if TYPE_CHECKING:
    from warehouse.judge import Judge, Outcome

__all__ = ["ExpectationResult", "ValidationReport", "validate_in", "validate_run"]


def validate_run(
    warehouse: Warehouse, run_id: str, expectations: Sequence[Expectation] = EXPECTATIONS
) -> ValidationReport:
    """Judge a run, draw its conclusions, and store both; an error in either is a failed judgement.

    The noise that a valid A/A run measured counts from then on for all runs of its experiment.

    Raises:
        UsageError: there is no such run, or its raw rows were pruned.
    """
    return conclude(warehouse, judge_run(warehouse, run_id, expectations))


def validate_in(home: Path, run_id: str) -> ValidationReport:
    """The same in the warehouse of a home, which is not held for writing while a run is judged.

    Raises:
        UsageError: there is no such run.
    """
    with _quiet(), suppress(Exception):
        # Takes seconds to import; an error of it is met, and told, when it is to judge.
        _great_expectations()
    with open_warehouse(home, read_only=True) as warehouse:
        report = judge_run(warehouse, run_id)
    with open_warehouse(home) as warehouse:
        return conclude(warehouse, report)


def judge_run(
    warehouse: Warehouse, run_id: str, expectations: Sequence[Expectation] = EXPECTATIONS
) -> ValidationReport:
    """Judge a run and store nothing.

    Raises:
        UsageError: there is no such run.
    """
    _require_run(warehouse, run_id)
    require_raw_rows(warehouse, run_id)
    with _quiet():
        try:
            results = _judge_all(warehouse, run_id, expectations, _great_expectations())
        except Exception as error:
            results = (_unjudged("validation", "the run can be judged", error),)
    return ValidationReport(uuid.uuid4().hex, run_id, utc_now(), results)


def conclude(warehouse: Warehouse, report: ValidationReport) -> ValidationReport:
    """Draw the conclusions of a run that was judged, and store them and the judgement."""
    try:
        if report.success:
            measure_noise(warehouse, report.run_id)
        draw_conclusions(warehouse, report.run_id)
    except Exception as error:
        failed = _unjudged("conclusions", "conclusions can be drawn", error)
        report = replace(report, results=(*report.results, failed))
    _store(warehouse, report)
    return report


def _require_run(warehouse: Warehouse, run_id: str) -> None:
    sql = "SELECT count(*) FROM raw.run WHERE run_id = ?"
    if warehouse.connection.execute(sql, [run_id]).fetchone() == (0,):
        raise UsageError(f"there is no run {run_id!r}", "See `poolexp runs`.")


def _judge_all(
    warehouse: Warehouse, run_id: str, expectations: Sequence[Expectation], judge: Judge
) -> tuple[ExpectationResult, ...]:
    @cache
    def rows_of(query: str) -> pd.DataFrame:
        return warehouse.connection.execute(statement(query), {"run_id": run_id}).df()

    results: list[ExpectationResult] = []
    for expectation in expectations:
        try:
            rows = rows_of(expectation.query)
            results += _results(expectation, rows, judge(rows, expectation))
        except Exception as error:
            results.append(_unjudged(expectation.name, expectation.statement, error))
    return tuple(results)


def _results(
    expectation: Expectation, rows: pd.DataFrame, outcome: Outcome
) -> Iterator[ExpectationResult]:
    """One result if everything held, else one for each row that did not."""
    _require_judged(outcome)
    if outcome["success"]:
        yield _held(expectation, rows, outcome)
    for index in outcome["result"].get("unexpected_index_list", []):
        yield _of_row(expectation, rows, index, outcome)


def _require_judged(outcome: Outcome) -> None:
    """Take a judgement that Great Expectations could not make, or made of nothing, for an error."""
    for report in [outcome["exception_info"], *outcome["exception_info"].values()]:
        if isinstance(report, dict) and report.get("raised_exception"):
            raise RuntimeError(report["exception_message"])
    result = outcome["result"]
    if result.get("missing_count"):
        raise RuntimeError(f"{result['missing_count']} rows have nothing to judge")
    if not outcome["success"] and not result.get("unexpected_index_list"):
        raise RuntimeError("it failed without naming a row")


def _held(expectation: Expectation, rows: pd.DataFrame, outcome: Outcome) -> ExpectationResult:
    if len(rows) == 1:
        return replace(_of_row(expectation, rows, 0, outcome), success=True)
    count = f"{len(rows)} of {len(rows)} {expectation.unit}"
    if rows.empty:
        count = f"nothing to judge: {expectation.when_empty}"
    return ExpectationResult(
        expectation=expectation.name,
        statement=expectation.statement,
        message=f"{expectation.statement} ({count})",
        success=True,
        observed=count,
        expected=count,
        details=_details(outcome),
    )


def _of_row(
    expectation: Expectation, rows: pd.DataFrame, index: int, outcome: Outcome
) -> ExpectationResult:
    """The result that reports one row; one that broke the expectation, unless it is replaced."""
    row = rows.iloc[index].to_dict()
    return ExpectationResult(
        expectation=expectation.name,
        statement=expectation.statement,
        message=expectation.message.format_map(row),
        success=False,
        observed=expectation.observed.format_map(row),
        expected=expectation.expected.format_map(row),
        trial=None if pd.isna(row["trial"]) else int(row["trial"]),
        details=_details(outcome),
    )


def _details(outcome: Outcome) -> Outcome:
    result = outcome["result"]
    return {
        "type": outcome["expectation_config"]["type"],
        "element_count": result.get("element_count"),
        "unexpected_count": result.get("unexpected_count"),
    }


def _unjudged(name: str, statement_in_words: str, error: Exception) -> ExpectationResult:
    return ExpectationResult(
        expectation=name,
        statement=statement_in_words,
        message=f"{name} could not be judged: {error}",
        success=False,
        observed=f"{type(error).__name__}: {error}",
        expected="a judgement",
        details={"traceback": "".join(traceback.format_exception(error))},
    )


def _store(warehouse: Warehouse, report: ValidationReport) -> None:
    results = [{"number": number, **asdict(r)} for number, r in enumerate(report.results, start=1)]
    with transaction(warehouse.connection):
        warehouse.connection.execute(
            statement("insert_validation"),
            {
                "validation_id": report.validation_id,
                "run_id": report.run_id,
                "validated_at": report.validated_at,
                "results": json.dumps(results),
            },
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Great Expectations and what it brings warn of their own future, not of the run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _great_expectations() -> Judge:
    # Read at import: otherwise it would tell a server that it was used, and wait for the answer.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    from warehouse.judge import make_judge  # noqa: PLC0415 - takes seconds to import

    return make_judge()
