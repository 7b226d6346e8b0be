"""Everything that must stand before the first trial: groups, server, data, calibration, facts."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from flows.progress import Reporter
from poolexp.calibration import Calibration, calibrate_workload
from poolexp.cgroups import Group, control_groups
from poolexp.databases.embedded import embedded_server
from poolexp.databases.facts import query_plan, server_facts
from poolexp.databases.server import Server
from poolexp.datasets import load_dataset
from poolexp.errors import ExperimentError, LimitsError, Problem, StatementError
from poolexp.host import host_facts
from poolexp.landing import FORMAT, run_directory
from poolexp.measuring import Bench
from poolexp.pinning import Pinning, make_pinning
from poolexp.plan import Plan
from poolexp.records import LimitsState, now

GROUPS = ("database", "generator", "harness")

Groups = Mapping[str, Group]


@dataclass(frozen=True, slots=True)
class Provision:
    """What stands: the bench for the trials, and what run.json says about it."""

    bench: Bench
    limits: LimitsState
    document: dict[str, Any]


@asynccontextmanager
async def provisioned(
    plan: Plan, home: Path, *, limits: str, pg_bin: Path | None, reporter: Reporter
) -> AsyncIterator[Provision]:
    """Provision for as long as the context lasts; nothing is left over afterwards.

    Raises:
        LimitsError: limits are required and cannot be set, or pinning is.
        DatabaseError: the server or its data cannot be had.
        ExperimentError: the server does not accept a statement.
    """
    database, design = plan.experiment.database, plan.experiment.design
    pinning = make_pinning(plan.experiment.generator.processes) if design.pinning else Pinning()
    with _limited_groups(plan, limits) as (groups, state):
        if state.warning:
            reporter.say(state.warning)
        _adopt_this_process(groups)
        reporter.begin("starting PostgreSQL")
        async with embedded_server(
            group=groups.get("database"),
            max_connections=database.max_connections,
            settings=database.settings,
            pg_bin=pg_bin,
            cpus=pinning.database,
        ) as server:
            dataset = await load_dataset(server, database.dataset)
            plans = await _query_plans(plan, server)
            calibrations = await _calibrate(plan, server, home, reporter)
            document = {
                **_facts(plan, state),
                "pinning": asdict(pinning),
                "host": host_facts(),
                "database": {"kind": database.kind, **await server_facts(server)},
                "dataset": asdict(dataset),
                "calibrations": [
                    {"workload": workload, **asdict(calibration)}
                    for workload, calibration in calibrations.items()
                ],
                "plans": plans,
            }
            found = {name: calibration.found for name, calibration in calibrations.items()}
            directory = run_directory(home, plan.run_id)
            bench = Bench(
                plan.run_id, directory, plan.experiment, server, groups, found, pinning.generator
            )
            yield Provision(bench, state, document)


def require_limits(plan: Plan) -> None:
    """Raise LimitsError if the plan's limits cannot be set here; leave nothing behind."""
    with _limited_groups(plan, "required"):
        pass


@contextmanager
def _limited_groups(plan: Plan, mode: str) -> Iterator[tuple[Groups, LimitsState]]:
    """The control groups of the run, or none where they cannot be had and need not be."""
    asked = [limit for trial in plan.trials for limit in trial.scenario.limits.values() if limit]
    with ExitStack() as stack:
        try:
            groups = stack.enter_context(control_groups(plan.run_id, GROUPS))
            for limit in dict.fromkeys(asked):
                groups["database"].set_limit(limit)
            groups["database"].set_limit(None)
            groups["generator"].come_first()
        except LimitsError as error:
            if mode == "required":
                raise
            stack.close()
            state = "unlimited" if asked else "not asked"
            yield {}, LimitsState(mode, state, error.message, error.remedy)
        else:
            yield groups, LimitsState(mode, "limited" if asked else "not asked")


def _adopt_this_process(groups: Groups) -> None:
    """Count this process, and what it has started, apart from what is measured."""
    if "harness" not in groups:
        return
    for child in psutil.Process().children(recursive=True):
        groups["harness"].adopt(child.pid)
    groups["harness"].adopt(os.getpid())


async def _calibrate(
    plan: Plan, server: Server, home: Path, reporter: Reporter
) -> dict[str, Calibration]:
    found = {}
    for workload in plan.experiment.workload:
        if workload.calibrated is not None:
            reporter.begin(f"calibrating {workload.name}")
            found[workload.name] = await calibrate_workload(
                server, workload, store=home / "calibration.json"
            )
    return found


async def _query_plans(plan: Plan, server: Server) -> dict[str, list[str]]:
    """The plan of every statement; those that the server does not accept are told all at once."""
    plans, problems = {}, []
    for number, workload in enumerate(plan.experiment.workload, start=1):
        try:
            plans[workload.name] = await query_plan(server, workload.statement.sql)
        except StatementError as error:
            problems.append(Problem(f"workload[{number}].sql", error.message))
    if problems:
        raise ExperimentError(plan.experiment.name, problems)
    return plans


def _facts(plan: Plan, state: LimitsState) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "run_id": plan.run_id,
        "started_at": now(),
        "version": version("poolexp"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "limits": asdict(state),
    }
