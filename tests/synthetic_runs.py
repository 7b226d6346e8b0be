"""Builds plausible runs on disk, without a server: for tests of everything after the measuring."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from synthetic_server import MIB, Row, read_counters, serve

from poolexp.arrivals import ArrivalSchedule
from poolexp.catalogue import load_experiment, source_of
from poolexp.databases.maintenance import Maintenance
from poolexp.experiment import Experiment
from poolexp.landing import (
    COUNTERS,
    FORMAT,
    REQUESTS,
    attempt_directory,
    run_directory,
    write_attempt,
    write_json,
)
from poolexp.plan import Plan, Trial, make_plan, schedule_for
from poolexp.records import Course, Document, Source, manifest, outcome_document, plan_document
from poolexp.variants import Variant

RUN_ID = "20261130T211530Z-3f9a"
CREATED_AT = datetime(2026, 11, 30, 21, 15, 30, tzinfo=UTC)

QUIET = Maintenance(
    checkpoints_timed=0,
    checkpoints_requested=1,
    checkpoints_done=1,
    checkpoint_buffers=120,
    checkpoints_running=0,
    vacuums=1,
    analyzes=1,
    vacuums_running=0,
    checkpointer_since=1.8e9,
)
"""A server that did nothing of its own accord."""

MISSING_INSTANTS = {
    "acquire_timeout": ("acquired_ns", "received_ns", "released_ns", "backend_pid"),
    "query_timeout": ("received_ns", "released_ns"),
    "error": ("received_ns",),
    "given_up": ("received_ns", "released_ns"),
    "not_sent": ("requested_ns", "acquired_ns", "received_ns", "released_ns", "backend_pid"),
}
"""What does not happen in a request that ends like this."""


@dataclass(frozen=True, slots=True)
class Spoiling:
    """What is wrong with a run.

    Attributes:
        leave_out: numbers of the trials that have no attempt at all.
        failures: how many measured requests of a trial did not end well; of the five kinds in turn.
        keep: how many measured rows a trial keeps; the plan and the manifest know nothing of it.
        retried: trials whose first attempt failed half-way, so that a second one was accepted.
        unlimited: the limits could not be set, and no control group could be read.
        edit_rows: a last change to the request rows of a trial, for faults not covered above.
        edit_counters: the same for its counter rows.
        edit_manifest: the same for its manifest.
    """

    leave_out: Collection[int] = ()
    failures: Mapping[int, int] = field(default_factory=dict)
    keep: Mapping[int, int] = field(default_factory=dict)
    retried: Collection[int] = ()
    unlimited: bool = False
    edit_rows: Callable[[Trial, list[Row]], list[Row]] = lambda _, rows: rows
    edit_counters: Callable[[Trial, list[Row]], list[Row]] = lambda _, rows: rows
    edit_manifest: Callable[[Trial, Document], Document] = lambda _, document: document


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
    text = source_of(experiment)[1] if isinstance(experiment, str) else ""
    source = Source(made.name, text, label)
    created = {"created_at": created_at.isoformat()}
    write_json(run / "plan.json", plan_document(plan, source) | created)
    write_json(run / "run.json", _facts(plan, created_at, spoiling))
    for trial in plan.trials:
        if trial.number not in spoiling.leave_out:
            started_at = created_at + timedelta(seconds=10 + 15 * (trial.number - 1))
            _write_trial(run, plan, trial, Random(f"{seed}/{trial.number}"), started_at, spoiling)
    if state is not None:
        write_json(run / "outcome.json", _outcome(plan, created_at, state))
    return run


def _outcome(plan: Plan, created_at: datetime, state: str) -> Document:
    wall_s = {"start_up": 10.0, "trials": plan.measuring_s * 1.05, "landing": 1.0}
    error = None if state == "complete" else "stopped by a test"
    finished_at = created_at + timedelta(seconds=sum(wall_s.values()))
    return outcome_document(state, wall_s, error) | {"finished_at": finished_at.isoformat()}


def _facts(plan: Plan, created_at: datetime, spoiling: Spoiling) -> Document:
    return {
        "format": FORMAT,
        "run_id": plan.run_id,
        "started_at": (created_at + timedelta(seconds=5)).isoformat(),
        "version": "0.1.0",
        "command": ["poolexp", "run", plan.experiment.name],
        "limits": {
            "mode": "auto",
            "state": "unlimited" if spoiling.unlimited else "limited",
            "reason": "the control groups are mounted read-only" if spoiling.unlimited else None,
            "remedy": "Mount them writable." if spoiling.unlimited else None,
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
        "calibrations": [_calibration(plan, name, created_at) for name in _calibrated(plan)],
        "plans": {
            workload.name: ["Aggregate", "  ->  Index Scan using pool_lab_pkey on pool_lab"]
            for workload in plan.experiment.workload
        },
        "variants": [_variant(variant) for variant in plan.experiment.variant],
    }


def _variant(variant: Variant) -> Document:
    settings = {"max_connections": "110", **variant.settings}
    return {
        "name": variant.name,
        "work": variant.work,
        "group": "database-2" if variant.settings else "database",
        "pg_bin": None,
        "values": {},
        "database": {"version": "18.6", "settings": settings},
    }


def _calibrated(plan: Plan) -> list[str]:
    return [workload.name for workload in plan.experiment.workload if workload.calibrated]


def _calibration(plan: Plan, workload: str, created_at: datetime) -> Document:
    calibrated = plan.experiment.find_workload(workload).calibrated
    assert calibrated is not None
    return {
        "workload": workload,
        "parameter": calibrated[0],
        "value": 9_800,
        "overflow_value": None,
        "target_cpu_ms": calibrated[1].calibrate_cpu_ms,
        "measured_cpu_ms": calibrated[1].calibrate_cpu_ms * 0.998,
        "calibrated_at": created_at.isoformat(),
    }


def _write_trial(
    run: Path, plan: Plan, trial: Trial, random: Random, started_at: datetime, spoiling: Spoiling
) -> None:
    workload = plan.experiment.find_workload(trial.scenario.workload)
    arrivals = schedule_for(plan.experiment, workload.name, trial.seed)
    assert arrivals is not None, "closed loops are not modelled"
    cost_ms = workload.calibrated[1].calibrate_cpu_ms if workload.calibrated else 0.18
    cost_ms *= {each.name: each.work for each in plan.experiment.variant}.get(
        trial.scenario.variant or "", 1.0
    )
    rows = _spoil(serve(arrivals, trial, cost_ms, random), trial, spoiling)
    counters = [] if spoiling.unlimited else list(read_counters(arrivals, trial, cost_ms, random))
    counters = spoiling.edit_counters(trial, counters)
    attempt = 1
    if trial.number in spoiling.retried:
        broken = {"status": "failed", "error": "the server ended the connection"}
        document = _manifest(plan.run_id, trial, 1, arrivals, spoiling) | broken
        _land(run, rows[: len(rows) // 2], counters, document)
        attempt = 2
    document = _manifest(plan.run_id, trial, attempt, arrivals, spoiling)
    _land(run, rows, counters, document | {"origin_at": started_at.isoformat()})


def _land(run: Path, rows: list[Row], counters: list[Row], document: dict[str, Any]) -> None:
    write_attempt(
        attempt_directory(run, document["trial"], document["attempt"]),
        pa.Table.from_pylist(rows, schema=REQUESTS),
        pa.Table.from_pylist(counters, schema=COUNTERS),
        document,
    )


def _spoil(rows: list[Row], trial: Trial, spoiling: Spoiling) -> list[Row]:
    measured = [row for row in rows if not row["warm_up"]]
    count = spoiling.failures.get(trial.number, 0)
    for index in range(count):
        outcome = list(MISSING_INSTANTS)[index % len(MISSING_INSTANTS)]
        fail(measured[index * len(measured) // count], outcome)
    if trial.number in spoiling.keep:
        kept = measured[: spoiling.keep[trial.number]]
        rows = [row for row in rows if row["warm_up"] or row in kept]
    return spoiling.edit_rows(trial, rows)


def fail(row: Row, outcome: str) -> None:
    """Make of a request that was done one that ended like this."""
    row |= dict.fromkeys(MISSING_INSTANTS[outcome]) | {"outcome": outcome}
    row["sqlstate"] = "XX000" if outcome == "error" else None


def _manifest(
    run_id: str, trial: Trial, attempt: int, arrivals: ArrivalSchedule, spoiling: Spoiling
) -> Document:
    size = trial.scenario.pool.size
    limits = {} if spoiling.unlimited else trial.scenario.limits
    now_ns = time.monotonic_ns()
    course = Course(
        began_ns=now_ns - 15_000_000_000,
        origin_ns=now_ns - 14_000_000_000,
        measured_ns=now_ns,
        limits_before=limits,
        limits_after=limits,
        maintenance_before=QUIET,
        maintenance_after=QUIET,
        generator={
            "pid": 3_000 + trial.number,
            "python": "3.11.7",
            "loop": "uvloop 0.23.0",
            "processes": 1,
            "cpus": [0, 1],
            "gc_collections": 0,
            "connections_opened": size,
            "connections_lost": 0,
            "open_s": 0.005 * size,
            "warm_s": 0.004 * size,
            "warm_failures": 0,
            "errors": [],
        },
        meters=_meters(arrivals, spoiling),
    )
    return spoiling.edit_manifest(trial, manifest(run_id, trial, attempt, arrivals, course))


def _meters(arrivals: ArrivalSchedule, spoiling: Spoiling) -> Document:
    """A quiet machine."""
    window_ns = arrivals.end_ns - arrivals.warm_up_ns
    return {
        "machine": {
            "cpus": 2,
            "source": "cpuacct.usage",
            "between_ns": window_ns,
            "cpu_ns": window_ns // 2,
            "foreign_cpu_ns": None if spoiling.unlimited else window_ns // 100,
            "steal_ns": 0,
            "pressure_us": 5_000,
        },
        "suspended_ns": 0,
        "hiccups": {
            "real_time": True,
            "cpus": 2,
            "period_ns": 8_000_000,
            "late_above_ns": 3_000_000,
            "wakes": window_ns // 4_000_000,
            "late": 0,
            "late_total_ns": 0,
            "max_ns": 400_000,
            "cpu_ns": window_ns // 100,
        },
        "loop": {
            "beats": window_ns // 5_000_000,
            "late": 0,
            "late_above_ns": 5_000_000,
            "late_total_ns": 0,
            "max_ns": 900_000,
        },
    }
