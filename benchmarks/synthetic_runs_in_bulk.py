"""Run directories of `pool-lab` in bulk, as the real loader takes them: drawn, not measured.

What costs the warehouse its time is as in real runs: the number of rows, their columns, a manifest
and two Parquet files a trial. Nothing is synced: this is scenery.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from poolexp.arrivals import ArrivalSchedule
from poolexp.catalogue import load_experiment, source_of
from poolexp.databases.maintenance import Maintenance
from poolexp.landing import (
    COUNTERS,
    FORMAT,
    REQUESTS,
    attempt_directory,
    run_directory,
    write_json,
)
from poolexp.plan import Plan, Trial, make_plan, schedule_for
from poolexp.records import (
    GENERATOR_FACTS,
    Course,
    Document,
    Source,
    manifest,
    outcome_document,
    plan_document,
)

FIRST = datetime(2024, 1, 1, 3, 15, tzinfo=UTC)
READINGS = 121
"""A reading of the counters each 100 ms of the window, as the real meter makes."""

QUIET = Maintenance(**dict.fromkeys(Maintenance.__dataclass_fields__, 0))
"""A server that did nothing of its own accord."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One run, drawn: its directory and how many requests it has."""

    directory: Path
    requests: int


def draw_run(home: Path, number: int) -> Drawn:
    """Write run `number`, one a night."""
    created_at = FIRST + timedelta(days=number)
    plan = make_plan(load_experiment("pool-lab"), f"{created_at:%Y%m%dT%H%M%SZ}-{number:04x}")
    run = run_directory(home, plan.run_id)
    run.mkdir(parents=True)
    document = plan_document(plan, Source(*source_of("pool-lab"), None))
    write_json(run / "plan.json", document | {"created_at": created_at.isoformat()})
    write_json(run / "run.json", _facts(plan, created_at))
    write_json(run / "outcome.json", outcome_document("complete", {"trials": 389.5}, None))
    random = np.random.default_rng(number)
    speed = random.lognormal(0, 0.05)
    rows = [_draw_trial(run, plan, trial, random, speed) for trial in plan.trials]
    return Drawn(run, sum(rows))


def _facts(plan: Plan, created_at: datetime) -> Document:
    return {
        "format": FORMAT,
        "run_id": plan.run_id,
        "started_at": created_at.isoformat(),
        "limits": {"mode": "auto", "state": "limited", "reason": None, "remedy": None},
        "host": {"host_key": "drawn", "kernel": "6.18.0", "cpu_model": "drawn", "cpu_count": 2},
        "database": {"kind": "embedded", "version": "18.6", "settings": {}},
    }


def _draw_trial(
    run: Path, plan: Plan, trial: Trial, random: np.random.Generator, speed: float
) -> int:
    arrivals = schedule_for(plan.experiment, trial.scenario.workload, trial.seed)
    if arrivals is None:
        raise ValueError("closed loops are not drawn")
    directory = attempt_directory(run, trial.number, 1)
    directory.mkdir(parents=True)
    tables = {
        "requests.parquet": _requests(arrivals, trial, random, speed),
        "counters.parquet": _counters(arrivals, random),
    }
    files = {}
    for name, table in tables.items():
        pq.write_table(table, directory / name, compression="zstd")
        digest = hashlib.sha256((directory / name).read_bytes()).hexdigest()
        files[name] = {"rows": table.num_rows, "sha256": digest}
    document = {"format": FORMAT, **manifest(plan.run_id, trial, 1, arrivals, _course(trial))}
    write_json(directory / "trial.json", {**document, "files": files})
    return len(arrivals)


def _requests(
    arrivals: ArrivalSchedule, trial: Trial, random: np.random.Generator, speed: float
) -> pa.Table:
    size = trial.scenario.pool.size
    count = len(arrivals)
    mean_ms = 0.6 if trial.scenario.workload.startswith("light") else 60.0
    scheduled = np.asarray(arrivals.planned_ns, dtype=np.int64)
    spans = [
        random.gamma(2, 2e4, count),
        random.gamma(2, 1.5e7, count) if size == 5 and mean_ms > 1 else random.gamma(2, 5e3, count),
        random.gamma(4, speed * mean_ms * 2.5e5, count),
        random.gamma(3, 5e4, count),
    ]
    instants = scheduled + np.cumsum(np.asarray(spans, dtype=np.int64), axis=0)
    columns = {
        "seq": np.arange(count, dtype=np.int32),
        "burst": np.asarray(arrivals.burst, dtype=np.int32),
        "burst_position": np.asarray(arrivals.position, dtype=np.int32),
        "warm_up": scheduled < arrivals.warm_up_ns,
        "scheduled_ns": scheduled,
        **dict(zip(("requested_ns", "acquired_ns", "received_ns"), instants, strict=False)),
        "released_ns": instants[3],
        "ended_ns": instants[3] + 2_000,
        "outcome": ["done"] * count,
        "sqlstate": [None] * count,
        "backend_pid": random.integers(1000, 1000 + size, count).astype(np.int32),
    }
    return pa.table(columns, schema=REQUESTS)


def _counters(arrivals: ArrivalSchedule, random: np.random.Generator) -> pa.Table:
    groups = [_group(name, arrivals, random) for name in ("database", "generator", "harness")]
    return pa.concat_tables(groups)


def _group(name: str, arrivals: ArrivalSchedule, random: np.random.Generator) -> pa.Table:
    moments = ["window_start", *["sample"] * (READINGS - 2), "window_end"]
    at_ns = np.linspace(arrivals.warm_up_ns, arrivals.end_ns, READINGS).astype(np.int64)
    grown = np.cumsum(random.gamma(4, 6e6, READINGS)).astype(np.int64)
    memory = random.integers(40_000_000, 250_000_000, READINGS)
    columns: dict[str, object] = dict.fromkeys(COUNTERS.names, memory) | {
        "group": [name] * READINGS,
        "moment": moments,
        "at_ns": at_ns,
        "cpu_usage_ns": grown,
        "nr_periods": np.arange(READINGS) * 10,
        "nr_throttled": np.arange(READINGS) * 8,
        "throttled_ns": grown // 2,
        "pressure_us": grown // 1000,
    }
    return pa.table(columns, schema=COUNTERS)


def _course(trial: Trial) -> Course:
    now_ns = 1_000_000_000_000
    return Course(
        began_ns=now_ns - 15_000_000_000,
        origin_ns=now_ns - 14_000_000_000,
        measured_ns=now_ns,
        limits_before=trial.scenario.limits,
        limits_after=trial.scenario.limits,
        maintenance_before=QUIET,
        maintenance_after=QUIET,
        generator={
            **dict.fromkeys(GENERATOR_FACTS),
            "processes": 1,
            "cpus": [0, 1],
            "gc_collections": 0,
            "connections_opened": trial.scenario.pool.size,
            "connections_lost": 0,
        },
        meters={
            "machine": {
                "cpus": 2,
                "between_ns": 12_000_000_000,
                "foreign_cpu_ns": 120_000_000,
                "steal_ns": 0,
            },
            "suspended_ns": 0,
            "hiccups": {"real_time": True, "cpus": 2, "late_total_ns": 0, "max_ns": 400_000},
            "loop": {"max_ns": 900_000},
        },
    )
