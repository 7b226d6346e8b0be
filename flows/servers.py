"""The servers of a run: one for all variants that need the same one, each with data and facts.

They stand side by side for the whole run. One that is not under test has no connections, and what
it uses all the same is counted as foreign.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

from poolexp.calibration import Calibration
from poolexp.cgroups import Group
from poolexp.databases.embedded import embedded_server
from poolexp.databases.facts import query_plan, server_facts
from poolexp.databases.server import Server
from poolexp.datasets import load_dataset
from poolexp.errors import DatabaseError, ExperimentError, Problem, StatementError
from poolexp.experiment import Experiment
from poolexp.pinning import Pinning
from poolexp.variants import Variant, WantedServer, with_work

Values = Mapping[str, Mapping[str, int]]
"""What calibration found, by workload and parameter."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that stands ready; `facts` has `database`, `dataset` and `plans`."""

    wanted: WantedServer
    server: Server
    facts: dict[str, Any]


@asynccontextmanager
async def running_servers(
    experiment: Experiment,
    wanted: Sequence[WantedServer],
    groups: Mapping[str, Group],
    pinning: Pinning,
) -> AsyncIterator[list[RunningServer]]:
    """Run all of them for as long as the context lasts, in the order in which they are wanted.

    Raises:
        DatabaseError: one of them cannot be had, or its data; its variants are named.
        ExperimentError: one of them does not accept a statement.

    """
    async with AsyncExitStack() as stack:
        running = []
        for each in wanted:
            try:
                running.append(await _start(stack, experiment, each, groups, pinning))
            except DatabaseError as error:
                message = f"{error.message}{_whose(each)}"
                raise DatabaseError(message, error.remedy) from error
        yield running


async def _start(
    stack: AsyncExitStack,
    experiment: Experiment,
    wanted: WantedServer,
    groups: Mapping[str, Group],
    pinning: Pinning,
) -> RunningServer:
    database = experiment.database
    starting = embedded_server(
        group=groups.get(wanted.group),
        max_connections=database.max_connections,
        settings=wanted.settings,
        pg_bin=wanted.pg_bin,
        cpus=pinning.database,
    )
    server = await stack.enter_async_context(starting)
    dataset = await load_dataset(server, database.dataset)
    facts = {
        "database": {"kind": database.kind, **await server_facts(server)},
        "dataset": asdict(dataset),
        "plans": await _query_plans(experiment, server, wanted),
    }
    return RunningServer(wanted, server, facts)


async def _query_plans(
    experiment: Experiment, server: Server, wanted: WantedServer
) -> dict[str, list[str]]:
    """The plan of every statement; those that the server does not accept are told all at once."""
    plans, problems = {}, []
    for number, workload in enumerate(experiment.workload, start=1):
        try:
            plans[workload.name] = await query_plan(server, workload.statement.sql)
        except StatementError as error:
            problems.append(Problem(f"workload[{number}].sql", error.message + _whose(wanted)))
    if problems:
        raise ExperimentError(experiment.name, problems)
    return plans


def _whose(wanted: WantedServer) -> str:
    names = [name for name in wanted.variants if name is not None]
    return f" (the server of {', '.join(names)})" if names else ""


def values_of(
    experiment: Experiment, calibrations: Mapping[str, Calibration]
) -> dict[str | None, Values]:
    """For each variant the values that its requests use: those that were found, times its work.

    Raises:
        ExperimentError: some variant's work does not fit into a workload's parameters.

    """
    found = {name: calibration.found for name, calibration in calibrations.items()}
    if not experiment.variant:
        return {None: found}
    problems: list[Problem] = []
    values: dict[str | None, Values] = {}
    for number, variant in enumerate(experiment.variant, start=1):
        values[variant.name] = own = {}
        for name, given in found.items():
            try:
                own[name] = with_work(experiment.find_workload(name), given, variant.work)
            except ValueError as error:
                problems.append(Problem(f"variant[{number}].work", f"{name}: {error}"))
    if problems:
        raise ExperimentError(experiment.name, problems)
    return values


def variants_document(
    experiment: Experiment,
    running: Sequence[RunningServer],
    values: Mapping[str | None, Values],
) -> dict[str, Any]:
    """What run.json says of each variant: its server, and the values of its requests."""
    servers = {name: each for each in running for name in each.wanted.variants}
    return (
        {"variants": [_variant(v, servers[v.name], values[v.name]) for v in experiment.variant]}
        if experiment.variant
        else {}
    )


def _variant(variant: Variant, running: RunningServer, values: Values) -> dict[str, Any]:
    return {
        "name": variant.name,
        "work": variant.work,
        "group": running.wanted.group,
        "pg_bin": str(running.wanted.pg_bin) if running.wanted.pg_bin else None,
        "values": values,
        "database": running.facts["database"],
        "plans": running.facts["plans"],
    }
