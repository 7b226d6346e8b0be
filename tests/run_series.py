"""Several runs of one experiment, one a day, as slow as a test wants them; landed and validated."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from synthetic_runs import CREATED_AT, Spoiling, write_run
from synthetic_server import Row
from written_reports import HOSTILE, experiment

from poolexp.experiment import Experiment
from poolexp.plan import Trial
from warehouse.database import Warehouse, open_warehouse
from warehouse.load import load_run

INSTANTS = ("acquired_ns", "received_ns", "released_ns", "ended_ns")
SCATTER = 0.02
DESIGN = {"repetitions": 1, "seed": 7, "warm_up_s": 0.1, "measure_s": 0.6}

# What `validate_run` leaves of a sound run, in short: judging all of them would take half a minute.
PASSED = """
INSERT INTO raw.validation BY NAME
SELECT
    'judged ' || ? AS validation_id,
    ? AS run_id,
    TIMESTAMP '2027-06-01' AS validated_at,
    1 AS number,
    'all' AS expectation,
    'everything held' AS statement,
    'everything held' AS message,
    TRUE AS success
"""

Facts = dict[str, Any]


def slowed(factor: float) -> Spoiling:
    """Every phase but the send lag takes `factor` times as long."""

    def edit(_: Trial, rows: list[Row]) -> list[Row]:
        for row in rows:
            begin = row["requested_ns"]
            row |= {name: begin + round((row[name] - begin) * factor) for name in INSTANTS}
        return rows

    return Spoiling(edit_rows=edit)


@dataclass(slots=True)
class RunSeries:
    """Lands runs below a home, each a day after the one before."""

    home: Path
    warehouse: Warehouse
    days: int = 0
    random: Random = field(default_factory=lambda: Random(11))

    def run(
        self,
        made: Experiment,
        label: str | None = None,
        *,
        factor: float = 1.0,
        edit: Callable[[Facts], None] = lambda _: None,
        spoiling: Spoiling | None = None,
        validated: bool = True,
    ) -> str:
        """One run with a scatter of its own; its id."""
        self.days += 1
        run_id = f"20270101T{self.days:06}Z-{self.days:04x}"
        chosen = spoiling or slowed(factor * self.random.lognormvariate(0, SCATTER))
        created_at = CREATED_AT + timedelta(days=self.days)
        run = write_run(
            self.home,
            experiment=made,
            run_id=run_id,
            label=label,
            created_at=created_at,
            spoiling=chosen,
        )
        facts = json.loads((run / "run.json").read_text())
        edit(facts)
        (run / "run.json").write_text(json.dumps(facts))
        load_run(self.warehouse, run)
        if validated:
            self.warehouse.connection.execute(PASSED, [run_id, run_id])
        return run_id


def other_kernel(facts: Facts) -> None:
    """The host was booted with another kernel."""
    facts["host"]["kernel"] = "6.19.0"


def land_series(home: Path) -> None:
    """The experiments that tests of comparisons and histories look at, by their labels.

    steady: quiet-0 to quiet-10 and `equal` are alike; `slow` takes 1.4 times as long; then
        `kernel` on another kernel, `unlimited` without limits, `unjudged` never validated.
    stepped: before-0 to before-7, and from `after-0` to after-3 1.3 times as long.
    moved: one run, one on another kernel, and one as before; texts that try to be more than text.
    """
    with open_warehouse(home) as warehouse:
        series = RunSeries(home, warehouse)
        steady = experiment(name="steady", design=DESIGN)
        for number in range(11):
            series.run(steady, f"quiet-{number}")
        series.run(steady, "equal")
        series.run(steady, "slow", factor=1.4)
        series.run(steady, "kernel", edit=other_kernel)
        series.run(steady, "unlimited", spoiling=Spoiling(unlimited=True))
        series.run(steady, "unjudged", validated=False)
        _land_stepped(series)
        _land_moved(series)


def _land_stepped(series: RunSeries) -> None:
    stepped = experiment(name="stepped", design=DESIGN, pool={"size": [8]})
    for number in range(8):
        series.run(stepped, f"before-{number}")
    for number in range(4):
        series.run(stepped, f"after-{number}", factor=1.3)


def _land_moved(series: RunSeries) -> None:
    moved = experiment(name="moved", design=DESIGN, pool={"size": [8]}, question=HOSTILE)
    for label, edit in (("m-0", None), ("m-1", other_kernel), (HOSTILE, None)):
        series.run(moved, label, edit=edit or (lambda _: None))
