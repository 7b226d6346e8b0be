"""Measure one trial: the side that commands, outside the groups under test.

What happens, in this order: with all limits lifted the generator starts inside its group, opens
its connections and runs the statement once on each; the limits are set and read back; both
groups stand idle for a moment; then comes the origin, the warm-up, the window, and the wait for
the last requests. The counters are read at the window's two edges and sampled in between.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from poolexp.arrivals import NS_PER_S, ArrivalSchedule
from poolexp.cgroups import CpuLimit, Group
from poolexp.databases.maintenance import maintenance
from poolexp.databases.server import Server
from poolexp.experiment import Experiment
from poolexp.generator_facts import together
from poolexp.generator_process import GeneratorProcess, generator_process
from poolexp.landing import COUNTERS, attempt_directory, write_attempt
from poolexp.loop_meter import together as together_loops
from poolexp.meters import Machine, hiccup_meter
from poolexp.orders import Given, make_orders
from poolexp.plan import UNLIMITED_PERIOD_MS, Trial, schedule_for
from poolexp.pools import OPENING_TIMEOUT_S
from poolexp.records import ClosedWindow, Course, manifest
from poolexp.request_rows import Columns, closed_loop_rows, open_loop_rows
from poolexp.watching import Watched, meters_document, watch

IDLE_NS = 50_000_000
"""Both groups have stood still at least this long before the origin, so that none is in debt."""

_MARGIN_S = 30.0
_LIMITED = ("database", "generator")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """What all trials of a run share.

    Attributes:
        groups: control groups by name; empty where none could be made.
        found: values found by calibration, by workload and parameter.
        machine: reads what the whole machine does meanwhile.
        generator_cpus: the only CPUs that the generator may use; None for all.

    """

    run_id: str
    run_directory: Path
    experiment: Experiment
    server: Server
    groups: Mapping[str, Group]
    found: Mapping[str, Mapping[str, int]]
    generator_cpus: Sequence[int] | None = None
    machine: Machine = field(default_factory=Machine)


async def measure(
    bench: Bench, trial: Trial, attempt: int, *, before_origin: Awaitable[object] | None = None
) -> Path:
    """Measure one trial and land it as an attempt directory, which is returned.

    `before_origin` is work that may overlap the opening of the connections but must be done
    before anything is measured.

    Raises:
        TrialError: the attempt broke off.
        LimitsError: a limit could not be set; whether it was in force is judged later.

    """
    began_ns = time.monotonic_ns()
    planned = schedule_for(bench.experiment, trial.scenario.workload, trial.seed)
    _set_limits(bench, trial, lifted=True)
    _set_precedence(bench, punctual=planned is not None)
    async with AsyncExitStack() as stack:
        crew = await _start(stack, bench, trial, planned)
        hiccups = await stack.enter_async_context(hiccup_meter(bench.groups.get("harness")))
        maintenance_before = await maintenance(bench.server)
        opened = await _hear(crew, "opened", within_s=2 * OPENING_TIMEOUT_S)
        if before_origin is not None:
            await before_origin
        _set_limits(bench, trial, lifted=False)
        limits_before = _limits_in_force(bench)
        origin_ns = origin_after(time.monotonic_ns() + IDLE_NS, trial)
        await asyncio.gather(*(each.tell(origin_ns=origin_ns) for each in crew))
        await hiccups.watch(*(origin_ns + at_ns for at_ns in _edges(bench)))
        watched = await _watch_until_measured(bench, crew, origin_ns, early=planned is None)
        measured_ns = time.monotonic_ns()
        limits_after = _limits_in_force(bench)
        maintenance_after = await maintenance(bench.server)
        closed = await _hear(crew, "closed", within_s=_MARGIN_S)
        loops = together_loops([report["loop_meter"] for report in closed])
        meters = await meters_document(watched, bench.machine, hiccups, loops)
        seen = [each.columns(origin_ns) for each in crew]
    course = Course(
        began_ns=began_ns,
        origin_ns=origin_ns,
        measured_ns=measured_ns,
        limits_before=limits_before,
        limits_after=limits_after,
        maintenance_before=maintenance_before,
        maintenance_after=maintenance_after,
        generator=together(opened, closed),
        meters=meters,
    )
    return _land(bench, trial, attempt, planned, seen, watched.rows, course)


def _land(
    bench: Bench,
    trial: Trial,
    attempt: int,
    planned: ArrivalSchedule | None,
    seen: Sequence[Columns],
    readings: list[Row],
    course: Course,
) -> Path:
    if planned is None:
        load: ArrivalSchedule | ClosedWindow = _counted(bench, course.generator)
        requests = closed_loop_rows(load.warm_up_ns, seen)
    else:
        load, requests = planned, open_loop_rows(planned, seen)
    directory = attempt_directory(bench.run_directory, trial.number, attempt)
    counters = pa.Table.from_pylist(readings, schema=COUNTERS)
    document = manifest(bench.run_id, trial, attempt, load, course)
    write_attempt(directory, requests, counters, document)
    return directory


async def _start(
    stack: AsyncExitStack, bench: Bench, trial: Trial, planned: ArrivalSchedule | None
) -> list[GeneratorProcess]:
    """Start the trial's generator processes and tell each its part; they open connections now."""
    limit = trial.scenario.generator_limit
    given = Given(
        experiment=bench.experiment,
        server=bench.server,
        found=bench.found.get(trial.scenario.workload, {}),
        quota_cores=limit.cores if limit and bench.groups else None,
    )
    crew = []
    for order in make_orders(given, trial, planned):
        starting = generator_process(bench.groups.get("generator"), bench.generator_cpus)
        generator = await stack.enter_async_context(starting)
        await generator.tell(**order, log_descriptor=generator.log_descriptor)
        crew.append(generator)
    return crew


async def _hear(crew: Sequence[GeneratorProcess], event: str, *, within_s: float) -> list[Row]:
    """What each process says when it reports `event`; the first failure is that of all."""
    return await asyncio.gather(*(each.hear(event, within_s=within_s) for each in crew))


def _edges(bench: Bench) -> tuple[int, int]:
    """Where the window opens and is to close, in ns from the origin."""
    design = bench.experiment.design
    warm_up_ns = round(design.warm_up_s * NS_PER_S)
    return warm_up_ns, round((design.warm_up_s + design.measure_s) * NS_PER_S)


def _patience_s(bench: Bench) -> float:
    """How long after the origin a generator may be silent."""
    return _edges(bench)[1] / NS_PER_S + 2 * bench.experiment.design.drain_s + _MARGIN_S


def _counted(bench: Bench, facts: Row) -> ClosedWindow:
    return ClosedWindow(
        requests=facts["requests"],
        measured=facts["measured"],
        warm_up_ns=_edges(bench)[0],
        end_ns=facts["end_ns"],
        stopped_by=facts["stopped_by"],
    )


def _set_precedence(bench: Bench, *, punctual: bool) -> None:
    """Where requests have their times the generator comes first; workers share as others do.

    A generator that always has something to send would else keep whole connections from the CPU.
    """
    if "generator" in bench.groups:
        bench.groups["generator"].come_first(punctual)


def _set_limits(bench: Bench, trial: Trial, *, lifted: bool) -> None:
    for name, limit in trial.scenario.limits.items():
        if name in bench.groups:
            bench.groups[name].set_limit(None if lifted else limit)


def _limits_in_force(bench: Bench) -> dict[str, CpuLimit | None]:
    return {name: bench.groups[name].limit_in_force() for name in _LIMITED if name in bench.groups}


def origin_after(earliest_ns: int, trial: Trial) -> int:
    """The first instant from `earliest_ns` on that lies at the trial's offset in the period.

    The period is the database's, or the generator's where only that is limited: the kernel
    renews a quota at whole periods of the monotonic clock, shifted by a constant of the group.
    """
    limit = trial.scenario.database_limit or trial.scenario.generator_limit
    period_ns = round((limit.period_ms if limit else UNLIMITED_PERIOD_MS) * NS_PER_S / 1000)
    return earliest_ns + (trial.start_offset_ns - earliest_ns) % period_ns


async def _watch_until_measured(
    bench: Bench, crew: Sequence[GeneratorProcess], origin_ns: int, *, early: bool
) -> Watched:
    """Watch the window, whose end may come `early`, and wait for the last requests."""
    measuring = asyncio.ensure_future(_hear(crew, "measured", within_s=_patience_s(bench)))
    try:
        ending = measuring if early else None
        watched = await watch(bench.groups, bench.machine, _edges(bench), origin_ns, ending)
        await measuring
    finally:
        measuring.cancel()
    return watched
