"""Reports of synthetic runs, each made once for all tests that look at it."""

from __future__ import annotations

from typing import Any

import pytest
from page_reader import Page
from synthetic_runs import Spoiling, write_run
from written_reports import HOSTILE, Write, Written, experiment

from poolexp.plan import Trial
from poolexp.records import Document
from reports.reading import read_run
from reports.run_report import write_run_report
from warehouse.database import open_warehouse
from warehouse.load import load_run
from warehouse.validate import validate_run


@pytest.fixture(scope="session")
def write_report(tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Land a synthetic run in a home of its own, and write its report."""

    def write(*, validated: bool = False, **options: Any) -> Written:
        home = tmp_path_factory.mktemp("report")
        run = write_run(home, **options)
        with open_warehouse(home) as warehouse:
            load_run(warehouse, run)
            if validated:
                validate_run(warehouse, run.name)
        with open_warehouse(home, read_only=True) as warehouse:
            path = write_run_report(warehouse, run.name, home / "reports")
            reading = read_run(warehouse, run.name)
        text = path.read_text(encoding="utf-8")
        return Written(path, text, Page(text), reading)

    return write


@pytest.fixture(scope="session")
def complete(write_report: Write) -> Written:
    """A sound run: three workloads, three pools, three repetitions."""
    return write_report(validated=True, label="a quiet evening")


@pytest.fixture(scope="session")
def unlimited(write_report: Write) -> Written:
    """A run whose limits could not be set and whose counters could not be read."""
    return write_report(spoiling=Spoiling(unlimited=True))


@pytest.fixture(scope="session")
def with_failures(write_report: Write) -> Written:
    """A run in which requests failed: some in one trial, all of them in another."""
    spoiling = Spoiling(failures={3: 7, 9: 80, 20: 1}, edit_manifest=met_errors)
    return write_report(validated=True, spoiling=spoiling)


def met_errors(trial: Trial, document: Document) -> Document:
    """The generator tells in the manifest what two of the trials met."""
    division = {"kind": "DivisionByZeroError", "message": "division\n<b>by zero", "count": 9}
    codec = {"kind": "ValueError", "message": "", "count": 1}
    errors = {3: [division], 9: [division, codec]}.get(trial.number, [])
    return document | {"generator": document["generator"] | {"errors": errors}}


@pytest.fixture(scope="session")
def with_gaps(write_report: Write) -> Written:
    """An interrupted run: trials missing, one empty, one with a single row, one tried twice."""
    spoiling = Spoiling(leave_out=(5, 6, 7), retried=(9,), keep={2: 0, 3: 1})
    return write_report(state="interrupted", spoiling=spoiling)


@pytest.fixture(scope="session")
def hostile(write_report: Write) -> Written:
    """A run whose every free text tries to be something else than text."""
    workload = {
        "name": "datum.x-.y",
        "sql": f"SELECT 1 /* {HOSTILE} */",
        "arrivals": {"kind": "uniform", "rate_per_s": 50},
    }
    made = experiment(question=HOSTILE, workload=[workload])
    return write_report(experiment=made, label=HOSTILE)
