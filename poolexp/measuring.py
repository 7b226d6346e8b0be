"""Measure one trial: the side that commands, outside the groups under test.

What happens, in this order: with all limits lifted the generator starts inside its group, opens
its connections and runs the statement once on each; the limits are set and read back; both
groups stand idle for a moment; then comes the origin, the warm-up, the window, and the wait for
the last requests. The counters are read at the window's two edges and sampled in between.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from poolexp.arrivals import NS_PER_S, ArrivalSchedule, schedule
from poolexp.cgroups import CpuLimit, Group
from poolexp.databases.server import Server, maintenance
from poolexp.experiment import Experiment
from poolexp.generator_process import Column, GeneratorProcess, generator_process
from poolexp.landing import COUNTERS, REQUESTS, attempt_directory, write_attempt
from poolexp.meters import Machine, hiccup_meter
from poolexp.pacing import spin_budget_ns
from poolexp.plan import UNLIMITED_PERIOD_MS, Trial
from poolexp.pools import OPENING_TIMEOUT_S
from poolexp.records import Course, manifest
from poolexp.request_log import INSTANTS, NEVER, OUTCOMES
from poolexp.watching import meters_document, watch
from poolexp.workload import draw_arguments

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

    """

    run_id: str
    run_directory: Path
    experiment: Experiment
    server: Server
    groups: Mapping[str, Group]
    found: Mapping[str, Mapping[str, int]]
    machine: Machine = field(default_factory=Machine)


async def measure(
    bench: Bench, trial: Trial, attempt: int, *, before_origin: Awaitable[object] | None = None
) -> Path:
    """Measure one trial and land it as an attempt directory, which is returned.

    `before_origin` is work that may overlap the opening of the connections but must be done
    before anything is measured.

    Raises:
        TrialError: the attempt broke off.
        LimitsError: a limit could not be set or was not in force.

    """
    began_ns = time.monotonic_ns()
    planned = schedule_of(bench.experiment, trial)
    _set_limits(bench, trial, lifted=True)
    async with (
        generator_process(bench.groups.get("generator")) as generator,
        hiccup_meter(bench.groups.get("harness")) as hiccups,
    ):
        await generator.tell(**_order(bench, trial, planned, generator))
        maintenance_before = await maintenance(bench.server)
        opened = await generator.hear("opened", within_s=2 * OPENING_TIMEOUT_S)
        if before_origin is not None:
            await before_origin
        _set_limits(bench, trial, lifted=False)
        limits_before = _limits_in_force(bench)
        origin_ns = origin_after(time.monotonic_ns() + IDLE_NS, trial)
        await generator.tell(origin_ns=origin_ns)
        await hiccups.watch(origin_ns + planned.warm_up_ns, origin_ns + planned.end_ns)
        window_ns = planned.warm_up_ns, planned.end_ns
        watched = await watch(bench.groups, bench.machine, window_ns, origin_ns)
        await generator.hear("measured", within_s=2 * bench.experiment.design.drain_s + _MARGIN_S)
        measured_ns = time.monotonic_ns()
        limits_after = _limits_in_force(bench)
        maintenance_after = await maintenance(bench.server)
        closed = await generator.hear("closed", within_s=_MARGIN_S)
        columns = generator.columns()
        meters = await meters_document(watched, bench.machine, hiccups, closed["loop_meter"])
    course = Course(
        began_ns=began_ns,
        origin_ns=origin_ns,
        measured_ns=measured_ns,
        limits_before=limits_before,
        limits_after=limits_after,
        maintenance_before=asdict(maintenance_before),
        maintenance_after=asdict(maintenance_after),
        generator={**opened, **closed},
        meters=meters,
    )
    directory = attempt_directory(bench.run_directory, trial.number, attempt)
    write_attempt(
        directory,
        _requests(planned, columns, closed["sqlstate"]),
        pa.Table.from_pylist(watched.rows, schema=COUNTERS),
        manifest(bench.run_id, trial, attempt, planned, course),
    )
    return directory


def schedule_of(experiment: Experiment, trial: Trial) -> ArrivalSchedule:
    """When a trial's requests are to be sent."""
    design = experiment.design
    return schedule(
        experiment.find_workload(trial.scenario.workload).arrivals,
        warm_up_s=design.warm_up_s,
        measure_s=design.measure_s,
    )


def _order(
    bench: Bench, trial: Trial, planned: ArrivalSchedule, generator: GeneratorProcess
) -> Row:
    """What the generator is told: all it needs, decided beforehand."""
    workload = bench.experiment.find_workload(trial.scenario.workload)
    pool, limit = trial.scenario.pool, trial.scenario.generator_limit
    found = dict(bench.found.get(workload.name, {}))
    wakes_per_s = workload.arrivals.rate_per_s / getattr(workload.arrivals, "size", 1)
    return {
        "connect": bench.server.connect_arguments(),
        "pool_size": pool.size,
        "pool_reset": pool.reset,
        "acquire_timeout_s": pool.acquire_timeout_s,
        "query_timeout_s": pool.query_timeout_s,
        "sql": workload.statement.sql,
        "arguments": list(islice(draw_arguments(workload, found, trial.seed), len(planned))),
        "planned_ns": planned.planned_ns.tolist(),
        "spin_ns": spin_budget_ns(wakes_per_s, limit.cores if limit and bench.groups else None),
        "window_ns": [planned.warm_up_ns, planned.end_ns],
        "drain_s": bench.experiment.design.drain_s,
        "log_descriptor": generator.log_descriptor,
    }


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


def _requests(
    planned: ArrivalSchedule, columns: Mapping[str, Column], sqlstate: Mapping[str, str]
) -> pa.Table:
    """Every planned request as a row: what was planned beside what was seen."""
    count = len(planned)
    optional = {
        name: pa.array(columns[name], mask=columns[name] == NEVER)
        for name in (*INSTANTS, "backend_pid")
    }
    values = {
        "seq": pa.array(range(count)),
        "burst": pa.array(planned.burst),
        "burst_position": pa.array(planned.position),
        "warm_up": pa.array([at_ns < planned.warm_up_ns for at_ns in planned.planned_ns]),
        "scheduled_ns": pa.array(planned.planned_ns),
        "outcome": pa.array([OUTCOMES[code] for code in columns["outcome"]]),
        "sqlstate": pa.array([sqlstate.get(str(seq)) for seq in range(count)], pa.string()),
        **optional,
    }
    return pa.table([values[field.name].cast(field.type) for field in REQUESTS], schema=REQUESTS)
