"""Everything that must stand before the first trial: groups, servers, data, calibration, facts."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from flows.progress import Reporter
from flows.servers import (
    RunningServer,
    Values,
    running_servers,
    values_of,
    variants_document,
)
from poolexp.calibration import Calibration, calibrate_workload
from poolexp.cgroups import Group, control_groups
from poolexp.databases.server import Server
from poolexp.errors import LimitsError
from poolexp.host import host_facts
from poolexp.landing import FORMAT, run_directory
from poolexp.measuring import Bench
from poolexp.pinning import Pinning, make_pinning
from poolexp.plan import Plan
from poolexp.records import LimitsState, now
from poolexp.variants import WantedServer, wanted_servers

Groups = Mapping[str, Group]


@dataclass(frozen=True, slots=True)
class Provision:
    """What stands: a bench for the trials of each variant, and what run.json says about it.

    Where the experiment has no variants there is one bench, under None.
    """

    benches: Mapping[str | None, Bench]
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
    experiment = plan.experiment
    pinned = experiment.design.pinning
    pinning = make_pinning(experiment.generator.processes) if pinned else Pinning()
    wanted = wanted_servers(experiment.variant, experiment.database.settings, pg_bin)
    with _limited_groups(plan, limits, wanted) as (groups, state):
        if state.warning:
            reporter.say(state.warning)
        _adopt_this_process(groups)
        reporter.begin("starting PostgreSQL")
        async with running_servers(experiment, wanted, groups, pinning) as running:
            # The same values for all: a server that is slower must be seen to be slower.
            calibrations = await _calibrate(plan, running[0].server, home, reporter)
            values = values_of(experiment, calibrations)
            document = {
                **_facts(plan, state),
                "pinning": asdict(pinning),
                "host": host_facts(),
                **running[0].facts,
                "calibrations": _calibrations_document(calibrations),
                **variants_document(experiment, running, values),
            }
            benches = {
                variant: _bench(plan, home, each, groups, values[variant], pinning)
                for each in running
                for variant in each.wanted.variants
            }
            yield Provision(benches, state, document)


def _bench(
    plan: Plan,
    home: Path,
    running: RunningServer,
    groups: Groups,
    values: Values,
    pinning: Pinning,
) -> Bench:
    return Bench(
        run_id=plan.run_id,
        run_directory=run_directory(home, plan.run_id),
        experiment=plan.experiment,
        server=running.server,
        groups=_groups_of(running.wanted, groups),
        found=values,
        generator_cpus=pinning.generator,
    )


def _calibrations_document(calibrations: Mapping[str, Calibration]) -> list[dict[str, Any]]:
    return [{"workload": name, **asdict(found)} for name, found in calibrations.items()]


def _groups_of(wanted: WantedServer, groups: Groups) -> Groups:
    """The groups as a trial on this server sees them.

    The groups of other servers are none of its own: what those use counts as foreign.
    """
    if not groups:
        return {}
    return {
        "database": groups[wanted.group],
        "generator": groups["generator"],
        "harness": groups["harness"],
    }


def require_limits(plan: Plan) -> None:
    """Raise LimitsError if the plan's limits cannot be set here; leave nothing behind."""
    experiment = plan.experiment
    wanted = wanted_servers(experiment.variant, experiment.database.settings, None)
    with _limited_groups(plan, "required", wanted):
        pass


@contextmanager
def _limited_groups(
    plan: Plan, mode: str, wanted: Sequence[WantedServer]
) -> Iterator[tuple[Groups, LimitsState]]:
    """The control groups of the run, or none where they cannot be had and need not be."""
    asked = [limit for trial in plan.trials for limit in trial.scenario.limits.values() if limit]
    with ExitStack() as stack:
        try:
            names = (*(server.group for server in wanted), "generator", "harness")
            groups = stack.enter_context(control_groups(plan.run_id, names))
            for limit in dict.fromkeys(asked):
                groups["database"].set_limit(limit)
            groups["database"].set_limit(None)
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
    measured = {trial.scenario.workload for trial in plan.trials}
    for workload in plan.experiment.workload:
        if workload.calibrated is not None and workload.name in measured:
            reporter.begin(f"calibrating {workload.name}")
            found[workload.name] = await calibrate_workload(
                server, workload, store=home / "calibration.json"
            )
    return found


def _facts(plan: Plan, state: LimitsState) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "run_id": plan.run_id,
        "started_at": now(),
        "version": version("poolexp"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "limits": asdict(state),
    }
