"""The JSON documents of a run directory: plan.json, run.json, outcome.json, trial.json."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from poolexp.arrivals import NS_PER_S, ArrivalSchedule
from poolexp.cgroups import CpuLimit
from poolexp.databases.maintenance import Maintenance, maintenance_between
from poolexp.landing import FORMAT
from poolexp.plan import Plan, Trial

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """Where an experiment came from: built-in name or path, text; and a person's label."""

    reference: str
    text: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class LimitsState:
    """What became of the CPU limits.

    `state` is `limited`, `unlimited` (asked for, but they cannot be set here, for `reason`, with
    `remedy`) or `not asked`.
    """

    mode: str
    state: str
    reason: str | None = None
    remedy: str | None = None

    @property
    def warning(self) -> str | None:
        """What must be said first and last of a run whose limits could not be set."""
        if self.state != "unlimited":
            return None
        return f"UNLIMITED: no CPU limit is in force, because {self.reason}. {self.remedy or ''}"


GENERATOR_FACTS = (
    "pid",
    "python",
    "loop",
    "processes",
    "cpus",
    "gc_collections",
    "connections_opened",
    "connections_lost",
    "open_s",
    "warm_s",
    "warm_failures",
    "errors",
)
"""What a manifest keeps of what the generator reports."""


@dataclass(frozen=True, slots=True)
class Course:
    """How one attempt went, besides its rows; instants on the monotonic clock.

    `limits_before` and `limits_after` were read back from the kernel on the window's two sides;
    `meters` is what was measured beside the trial.
    """

    began_ns: int
    origin_ns: int
    measured_ns: int
    limits_before: Mapping[str, CpuLimit | None]
    limits_after: Mapping[str, CpuLimit | None]
    maintenance_before: Maintenance
    maintenance_after: Maintenance
    generator: Document
    meters: Document


@dataclass(frozen=True, slots=True)
class ClosedWindow:
    """What a closed loop counted itself: all its requests, and those of the window.

    The window closed at `end_ns`, because of `stopped_by`: `time`, `operations`, or `full`, when
    there was no room for more rows.
    """

    requests: int
    measured: int
    warm_up_ns: int
    end_ns: int
    stopped_by: str


def now() -> str:
    """The wall time, UTC, as ISO 8601; for people, never for durations."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def plan_document(plan: Plan, source: Source) -> Document:
    """What is stored before anything runs: the experiment, and every trial in its order."""
    return {
        "format": FORMAT,
        "run_id": plan.run_id,
        "label": source.label,
        "created_at": now(),
        "experiment": plan.experiment.model_dump(mode="json"),
        "experiment_source": source.reference,
        "experiment_text": source.text,
        "experiment_hash": plan.experiment.digest,
        "database": plan.experiment.database.kind,
        "trials": [planned_trial(trial) for trial in plan.trials],
    }


def planned_trial(trial: Trial) -> Document:
    """One row of a plan; the limits are those that are asked for."""
    scenario = trial.scenario
    return {
        "number": trial.number,
        "block": trial.block,
        "position": trial.position,
        "scenario": scenario.slug,
        "variant": scenario.variant,
        "workload": scenario.workload,
        "pool_size": scenario.pool.size,
        "concurrency": scenario.concurrency,
        "pool_reset": scenario.pool.reset,
        "selection": scenario.pool.selection,
        "statement_cache": scenario.pool.statement_cache,
        "acquire_timeout_s": scenario.pool.acquire_timeout_s,
        "query_timeout_s": scenario.pool.query_timeout_s,
        **_limit_columns(scenario.limits),
        "seed": trial.seed,
        "start_offset_ns": trial.start_offset_ns,
        "planned_requests": trial.planned_requests,
        "planned_measured": trial.planned_measured,
    }


def _limit_columns(limits: Mapping[str, CpuLimit | None]) -> Document:
    columns: Document = {}
    for group, limit in limits.items():
        columns[f"{group}_cores"] = limit.cores if limit else None
        columns[f"{group}_period_ms"] = limit.period_ms if limit else None
    return columns


def manifest(
    run_id: str,
    trial: Trial,
    attempt: int,
    load: ArrivalSchedule | ClosedWindow,
    course: Course,
) -> Document:
    """What trial.json says about one attempt that reached its end."""
    return {
        "run_id": run_id,
        "trial": trial.number,
        "attempt": attempt,
        "scenario": trial.scenario.slug,
        "status": "complete",
        "error": None,
        **_extent(load),
        "warm_up_ns": load.warm_up_ns,
        "end_ns": load.end_ns,
        "origin_at": _wall_time(course.origin_ns),
        "origin_monotonic_ns": course.origin_ns,
        "start_offset_ns": trial.start_offset_ns,
        "limits": {
            group: {
                "asked": _limit(asked),
                "before": _limit(course.limits_before.get(group)),
                "after": _limit(course.limits_after.get(group)),
            }
            for group, asked in trial.scenario.limits.items()
        },
        "generator": {name: course.generator[name] for name in GENERATOR_FACTS},
        "meters": course.meters,
        "maintenance": {
            "before": asdict(course.maintenance_before),
            "after": asdict(course.maintenance_after),
            **asdict(maintenance_between(course.maintenance_before, course.maintenance_after)),
        },
        "timings_s": {
            "set_up": (course.origin_ns - course.began_ns) / NS_PER_S,
            "measuring": (course.measured_ns - course.origin_ns) / NS_PER_S,
            "closing": (time.monotonic_ns() - course.measured_ns) / NS_PER_S,
        },
    }


def _extent(load: ArrivalSchedule | ClosedWindow) -> Document:
    """How many requests there must be: as many as planned, or as a closed loop counted."""
    planned = ("schedule_hash", "planned_requests", "planned_measured")
    counted = ("counted_requests", "counted_measured", "stopped_by")
    values: tuple[object, ...]
    if isinstance(load, ArrivalSchedule):
        values = (load.digest, len(load), load.measured, None, None, None)
    else:
        values = (None, None, None, load.requests, load.measured, load.stopped_by)
    return dict(zip((*planned, *counted), values, strict=True))


def _limit(limit: CpuLimit | None) -> Document | None:
    return None if limit is None else {"cores": limit.cores, "period_ms": limit.period_ms}


def _wall_time(monotonic_ns: int) -> str:
    ago = timedelta(microseconds=(time.monotonic_ns() - monotonic_ns) / 1000)
    return (datetime.now(UTC) - ago).isoformat(timespec="microseconds")


def outcome_document(state: str, wall_s: dict[str, float], error: str | None = None) -> Document:
    """How a run ended, and where its time went, in seconds."""
    return {
        "format": FORMAT,
        "state": state,
        "finished_at": now(),
        "error": error,
        "wall_s": {name: round(seconds, 3) for name, seconds in wall_s.items()},
    }
