"""Builds plausible runs on disk, without a server: for tests of everything after the measuring.

A small model of a throttled server stands in for the real one, so the shape of the published
experiment is there: with bursts a small pool waits for connections, a large one for the processor.
Every number follows from the seed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from poolexp.arrivals import ArrivalSchedule, schedule
from poolexp.catalogue import load_experiment, source_of
from poolexp.cgroups import CpuLimit
from poolexp.experiment import Experiment
from poolexp.landing import (
    COUNTERS,
    REQUESTS,
    attempt_directory,
    run_directory,
    write_attempt,
    write_json,
)
from poolexp.plan import Plan, Trial, make_plan

RUN_ID = "20261130T211530Z-3f9a"
CREATED_AT = datetime(2026, 11, 30, 21, 15, 30, tzinfo=UTC)
NS_PER_MS = 1_000_000
MIB = 1_048_576
FAILURES = ("acquire_timeout", "query_timeout", "error", "not_sent")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spoiling:
    """What is wrong with a run.

    Attributes:
        leave_out: numbers of the trials that have no attempt at all.
        failures: how many measured requests of a trial did not end well; of the four kinds in turn.
        keep: how many measured rows a trial keeps; the manifest and the plan know nothing of it.
        retried: trials whose first attempt failed half-way, so that a second one was accepted.
        unlimited: the limits could not be set, and no control group could be read.
        edit: a last change to the request rows of a trial, for faults that nothing above covers.
    """

    leave_out: Collection[int] = ()
    failures: Mapping[int, int] = field(default_factory=dict)
    keep: Mapping[int, int] = field(default_factory=dict)
    retried: Collection[int] = ()
    unlimited: bool = False
    edit: Callable[[Trial, list[Row]], list[Row]] | None = None


SOUND = Spoiling()


def write_run(
    home: Path,
    *,
    experiment: str | Experiment = "pool-lab-quick",
    run_id: str = RUN_ID,
    label: str | None = None,
    seed: int = 1,
    created_at: datetime = CREATED_AT,
    state: str | None = "complete",
    spoiling: Spoiling = SOUND,
) -> Path:
    """Write one run below `home` and return its directory; with no `state` it still runs."""
    made = load_experiment(experiment) if isinstance(experiment, str) else experiment
    plan = make_plan(made, run_id)
    run = run_directory(home, run_id)
    run.mkdir(parents=True, mode=0o700)
    write_json(run / "plan.json", plan_document(plan, experiment, label, created_at))
    write_json(run / "run.json", _run_document(plan, created_at, spoiling))
    for trial in plan.trials:
        if trial.number not in spoiling.leave_out:
            _write_trial(run, plan, trial, seed=seed, spoiling=spoiling)
    if state is not None:
        write_json(run / "outcome.json", _outcome_document(plan, created_at, state))
    return run


def plan_document(
    plan: Plan, source: str | Experiment, label: str | None, created_at: datetime
) -> dict[str, Any]:
    """The contents of plan.json."""
    return {
        "format": 1,
        "run_id": plan.run_id,
        "label": label,
        "created_at": created_at.isoformat(),
        "experiment": plan.experiment.model_dump(mode="json"),
        "experiment_source": source if isinstance(source, str) else plan.experiment.name,
        "experiment_text": source_of(source)[1] if isinstance(source, str) else "",
        "experiment_hash": plan.experiment.digest,
        "database": "embedded",
        "trials": [_trial_document(trial) for trial in plan.trials],
    }


def _trial_document(trial: Trial) -> dict[str, Any]:
    scenario = trial.scenario
    return {
        "number": trial.number,
        "block": trial.block,
        "position": trial.position,
        "scenario": scenario.slug,
        "workload": scenario.workload,
        "pool_size": scenario.pool.size,
        "pool_reset": scenario.pool.reset,
        "acquire_timeout_s": scenario.pool.acquire_timeout_s,
        "query_timeout_s": scenario.pool.query_timeout_s,
        **_flat_limit("database", scenario.database_limit),
        **_flat_limit("generator", scenario.generator_limit),
        "seed": trial.seed,
        "start_offset_ns": trial.start_offset_ns,
        "planned_requests": trial.planned_requests,
        "planned_measured": trial.planned_measured,
    }


def _flat_limit(group: str, limit: CpuLimit | None) -> dict[str, float | None]:
    return {
        f"{group}_cores": None if limit is None else limit.cores,
        f"{group}_period_ms": None if limit is None else limit.period_ms,
    }


def _run_document(plan: Plan, created_at: datetime, spoiling: Spoiling) -> dict[str, Any]:
    reason = "the control groups are mounted read-only" if spoiling.unlimited else None
    return {
        "format": 1,
        "run_id": plan.run_id,
        "started_at": (created_at + timedelta(seconds=5)).isoformat(),
        "version": "0.1.0",
        "command": ["poolexp", "run", plan.experiment.name],
        "limits": {
            "mode": "auto",
            "state": "unlimited" if spoiling.unlimited else "limited",
            "reason": reason,
            "remedy": reason and "Give the container writable control groups.",
        },
        "host": {
            "kernel": "6.18.0",
            "cpu_model": "Synthetic CPU",
            "cpu_count": 2,
            "memory_bytes": 4 * 1024 * MIB,
            "cgroup_layout": "v2",
            "sched_cfs_bandwidth_slice_us": 5000,
            "versions": {"python": "3.11.7", "asyncpg": "0.32.0", "uvloop": "0.23.0"},
            "host_key": "synthetic-host",
        },
        "database": {
            "kind": "embedded",
            "version": "18.6",
            "settings": {"max_connections": "110", "plan_cache_mode": "force_generic_plan"},
            "socket": "tcp",
        },
        "dataset": {"name": "pool_lab", "rows": 20_000, "bytes": 3_984_588, "digest": "0" * 32},
        "calibrations": [
            {
                "workload": workload.name,
                "parameter": workload.calibrated[0],
                "value": 9_800,
                "overflow_value": None,
                "target_cpu_ms": workload.calibrated[1].calibrate_cpu_ms,
                "measured_cpu_ms": 6.19,
                "calibrated_at": created_at.isoformat(),
            }
            for workload in plan.experiment.workload
            if workload.calibrated
        ],
        "plans": {
            workload.name: ["Aggregate", "  ->  Index Scan using pool_lab_pkey on pool_lab"]
            for workload in plan.experiment.workload
        },
    }


def _outcome_document(plan: Plan, created_at: datetime, state: str) -> dict[str, Any]:
    trials_s = plan.measuring_s * 1.05
    return {
        "format": 1,
        "state": state,
        "finished_at": (created_at + timedelta(seconds=trials_s + 20)).isoformat(),
        "error": None if state == "complete" else "stopped by a test",
        "wall_s": {"start_up": 10.0, "trials": trials_s, "landing": 1.0},
    }


def _write_trial(run: Path, plan: Plan, trial: Trial, *, seed: int, spoiling: Spoiling) -> None:
    random = Random(f"{seed}/{trial.number}")
    workload = plan.experiment.find_workload(trial.scenario.workload)
    design = plan.experiment.design
    arrivals = schedule(workload.arrivals, warm_up_s=design.warm_up_s, measure_s=design.measure_s)
    cost_ms = workload.calibrated[1].calibrate_cpu_ms if workload.calibrated else 0.18
    rows = _serve(arrivals, trial, cost_ms, random)
    rows = _spoil(rows, trial, spoiling)
    counters = [] if spoiling.unlimited else list(_counters(arrivals, trial, cost_ms, random))
    manifest = _manifest(plan.run_id, trial, arrivals, spoiling)
    attempt = 1
    if trial.number in spoiling.retried:
        broken = {"attempt": 1, "status": "failed", "error": "the server ended the connection"}
        _land(run, trial, rows[: len(rows) // 2], counters, manifest | broken)
        attempt = 2
    _land(run, trial, rows, counters, manifest | {"attempt": attempt})


def _land(
    run: Path, trial: Trial, rows: list[Row], counters: list[Row], manifest: dict[str, Any]
) -> None:
    write_attempt(
        attempt_directory(run, trial.number, manifest["attempt"]),
        pa.Table.from_pylist(rows, schema=REQUESTS),
        pa.Table.from_pylist(counters, schema=COUNTERS),
        manifest,
    )


@dataclass(slots=True)
class _Job:
    """A request inside the modelled server: CPU work left, and its weight in the sharing."""

    seq: int
    left_ms: float
    weight: float
    acquired_ms: float
    backend: int


def _serve(arrivals: ArrivalSchedule, trial: Trial, cost_ms: float, random: Random) -> list[Row]:
    """A pool of connections, first come first served, in front of a shared, throttled processor."""
    free = list(range(trial.scenario.pool.size))
    waiting: list[int] = []
    active: list[_Job] = []
    rows = [_planned_row(arrivals, seq) for seq in range(len(arrivals))]
    now_ms, coming = 0.0, 0
    while coming < len(rows) or active:
        arrival_ms = arrivals.planned_ns[coming] / NS_PER_MS if coming < len(rows) else None
        finish_ms, first = _next_finish(active, now_ms)
        if arrival_ms is not None and arrival_ms <= finish_ms:
            _work(active, arrival_ms - now_ms)
            now_ms = arrival_ms
            rows[coming]["requested_ns"] += int(random.uniform(2e4, 1.2e5))
            waiting.append(coming)
            coming += 1
        elif first is not None:
            _work(active, finish_ms - now_ms)
            now_ms = finish_ms
            active.remove(first)
            free.append(first.backend)
            _finish(rows[first.seq], first, now_ms, 0.2 + 1.1 * len(active), random)
        while waiting and free:
            work_ms = cost_ms * random.lognormvariate(0, 0.12)
            active.append(
                _Job(waiting.pop(0), work_ms, random.uniform(0.3, 1.7), now_ms, free.pop())
            )
    return rows


def _planned_row(arrivals: ArrivalSchedule, seq: int) -> Row:
    planned_ns = arrivals.planned_ns[seq]
    return {
        "seq": seq,
        "burst": arrivals.burst[seq],
        "burst_position": arrivals.position[seq],
        "warm_up": planned_ns < arrivals.warm_up_ns,
        "scheduled_ns": planned_ns,
        "requested_ns": planned_ns,
    }


def _rates(active: list[_Job]) -> dict[int, float]:
    """Cores that each request gets: nearly one when alone, the throttled rest when many."""
    total = 0.93 if len(active) == 1 else 0.62
    weights = sum(job.weight for job in active)
    return {job.seq: total * job.weight / weights for job in active}


def _next_finish(active: list[_Job], now_ms: float) -> tuple[float, _Job | None]:
    if not active:
        return float("inf"), None
    rates = _rates(active)
    first = min(active, key=lambda job: job.left_ms / rates[job.seq])
    return now_ms + first.left_ms / rates[first.seq], first


def _work(active: list[_Job], elapsed_ms: float) -> None:
    rates = _rates(active)
    for job in active:
        job.left_ms -= elapsed_ms * rates[job.seq]


def _finish(row: Row, job: _Job, now_ms: float, release_ms: float, random: Random) -> None:
    acquired_ns = max(row["requested_ns"] + 10_000, int(job.acquired_ms * NS_PER_MS))
    received_ns = max(acquired_ns + 50_000, int(now_ms * NS_PER_MS))
    released_ns = received_ns + int(release_ms * random.uniform(0.7, 1.3) * NS_PER_MS)
    row |= {
        "acquired_ns": acquired_ns,
        "received_ns": received_ns,
        "released_ns": released_ns,
        "ended_ns": released_ns,
        "outcome": "done",
        "sqlstate": None,
        "backend_pid": 4_000 + job.backend,
    }


def _spoil(rows: list[Row], trial: Trial, spoiling: Spoiling) -> list[Row]:
    measured = [row for row in rows if not row["warm_up"]]
    count = spoiling.failures.get(trial.number, 0)
    for index in range(count):
        _fail(measured[index * len(measured) // count], FAILURES[index % len(FAILURES)])
    if trial.number in spoiling.keep:
        kept = measured[: spoiling.keep[trial.number]]
        rows = [row for row in rows if row["warm_up"] or row in kept]
    return spoiling.edit(trial, rows) if spoiling.edit else rows


def _fail(row: Row, outcome: str) -> None:
    """Take away the instants that do not happen in a request that ends like this."""
    missing = {
        "acquire_timeout": ("acquired_ns", "received_ns", "released_ns", "backend_pid"),
        "query_timeout": ("received_ns", "released_ns"),
        "error": ("received_ns",),
        "not_sent": ("requested_ns", "acquired_ns", "received_ns", "released_ns", "backend_pid"),
    }[outcome]
    row |= dict.fromkeys(missing) | {"outcome": outcome}
    row["sqlstate"] = "XX000" if outcome == "error" else None


def _counters(
    arrivals: ArrivalSchedule, trial: Trial, cost_ms: float, random: Random
) -> Iterator[Row]:
    window_ns = arrivals.end_ns - arrivals.warm_up_ns
    cores = arrivals.measured * cost_ms * NS_PER_MS / window_ns
    bursty = max(arrivals.position) > 0
    memory = round((40 + 1.56 * trial.scenario.pool.size) * MIB)
    throttled = (0.84 if bursty else 0.17 if cost_ms > 1 else 0.0) * random.uniform(0.97, 1.03)
    for group, used, share, memory_bytes in (
        ("database", cores, throttled, memory),
        ("generator", 0.08, 0.01, 60 * MIB),
        ("harness", 0.05, None, 210 * MIB),
    ):
        yield from _readings(arrivals, group, used, share, memory_bytes)


def _readings(
    arrivals: ArrivalSchedule, group: str, cores: float, share: float | None, memory_bytes: int
) -> Iterator[Row]:
    step_ns = 100 * NS_PER_MS
    edges = arrivals.warm_up_ns, arrivals.end_ns
    instants = [edges[0], *range(edges[0] + step_ns, edges[1], step_ns), edges[1]]
    for at_ns in instants:
        moment = {edges[0]: "window_start", edges[1]: "window_end"}.get(at_ns, "sample")
        periods = None if share is None else round(at_ns / (10 * NS_PER_MS) * 0.55)
        stopped = None if periods is None or share is None else round(periods * share)
        yield {
            "group": group,
            "moment": moment,
            "at_ns": at_ns,
            "cpu_usage_ns": round(cores * at_ns),
            "nr_periods": periods,
            "nr_throttled": stopped,
            "throttled_ns": None if stopped is None else stopped * 4 * NS_PER_MS,
            "memory_bytes": memory_bytes - (MIB if moment == "window_start" else 0),
            "memory_anon_bytes": round(memory_bytes * 0.7),
            "memory_shmem_bytes": round(memory_bytes * 0.2),
            "memory_file_bytes": round(memory_bytes * 0.1),
            "pressure_us": None,
        }


def _manifest(
    run_id: str, trial: Trial, arrivals: ArrivalSchedule, spoiling: Spoiling
) -> dict[str, Any]:
    start = CREATED_AT + timedelta(seconds=10 + 15 * (trial.number - 1))
    size = trial.scenario.pool.size
    return {
        "run_id": run_id,
        "trial": trial.number,
        "attempt": 1,
        "scenario": trial.scenario.slug,
        "status": "complete",
        "error": None,
        "schedule_hash": arrivals.digest,
        "planned_requests": trial.planned_requests,
        "planned_measured": trial.planned_measured,
        "warm_up_ns": arrivals.warm_up_ns,
        "end_ns": arrivals.end_ns,
        "origin_at": start.isoformat(),
        "start_offset_ns": trial.start_offset_ns,
        "limits": {
            "database": _limit_document(trial.scenario.database_limit, spoiling),
            "generator": _limit_document(trial.scenario.generator_limit, spoiling),
        },
        "generator": {
            "pid": 3_000 + trial.number,
            "python": sys.version.split()[0],
            "loop": "uvloop 0.23.0",
            "gc_collections": 0,
            "connections_opened": size,
            "connections_lost": 0,
            "open_s": 0.005 * size,
            "warm_s": 0.004 * size,
        },
        "maintenance": {
            "before": {"autovacuum_count": 0, "checkpoints": 1},
            "after": {"autovacuum_count": 0, "checkpoints": 1},
            "changed": False,
        },
        "timings_s": {
            "open": 0.005 * size,
            "window": (arrivals.end_ns - arrivals.warm_up_ns) / 1e9,
        },
    }


def _limit_document(limit: CpuLimit | None, spoiling: Spoiling) -> dict[str, Any]:
    asked = None if limit is None else {"cores": limit.cores, "period_ms": limit.period_ms}
    found = None if spoiling.unlimited else asked
    return {"asked": asked, "before": found, "after": found}
