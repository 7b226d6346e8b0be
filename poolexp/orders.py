"""What each generator process of a trial is told: all it needs, decided beforehand.

Several processes share a trial as several processes of an application would: each has its share
of the connections as a pool of its own, and requests are dealt out to them in turn, those of a
burst too. Workers and operations are divided.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from poolexp.arrivals import NS_PER_S, ArrivalSchedule, wakes_per_s
from poolexp.contradictions import MAXIMUM_REQUESTS_PER_TRIAL
from poolexp.databases.server import Server
from poolexp.experiment import Design, Experiment
from poolexp.pacing import spin_budget_ns
from poolexp.plan import Trial
from poolexp.workload import Argument, ClosedLoop, Workload, draw_arguments

DIFFERENT_ARGUMENTS = 65_536
"""A closed loop draws so many arguments beforehand and then begins again with the first."""

MOST_PER_S = 100_000
"""More requests a second than one generator process can send; slots are made for so many."""

Order = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """What an order depends on besides the trial.

    Attributes:
        found: the values that calibration found for the trial's workload.
        quota_cores: what the generator may use while it is measured; None where it is not limited.

    """

    experiment: Experiment
    server: Server
    found: Mapping[str, int]
    quota_cores: float | None


def make_orders(given: Given, trial: Trial, planned: ArrivalSchedule | None) -> list[Order]:
    """One order for each generator process; `planned` is None for a closed loop."""
    workload = given.experiment.find_workload(trial.scenario.workload)
    processes = given.experiment.generator.processes
    pool = trial.scenario.pool
    common = {
        "connect": given.server.connect_arguments(),
        "pool": {
            "size": pool.size // processes,
            "selection": pool.selection,
            "reset": pool.reset,
            "statement_cache": pool.statement_cache,
        },
        "acquire_timeout_s": pool.acquire_timeout_s,
        "query_timeout_s": pool.query_timeout_s,
        "sql": workload.statement.sql,
        "spin_ns": _spin_ns(workload, processes, given.quota_cores),
        "window_ns": _window_ns(given.experiment),
        "drain_s": given.experiment.design.drain_s,
    }
    arguments = _arguments(given, trial, workload, planned)
    if planned is None:
        loads = _closed_loads(given.experiment, trial, workload)
    else:
        loads = _open_loads(planned, processes)
    shares = [share_of(len(arguments), process, processes) for process in range(processes)]
    return [
        {**common, **load, **_with_keys(given, workload, [arguments[seq] for seq in share or (0,)])}
        for load, share in zip(loads, shares, strict=True)
    ]


def share_of(requests: int, process: int, processes: int) -> range:
    """The numbers of the requests that one of the processes sends: one after another, in turn."""
    return range(process, requests, processes)


def _window_ns(experiment: Experiment) -> tuple[int, int]:
    """Where the window opens and is to close, from the origin."""
    design = experiment.design
    return (
        round(design.warm_up_s * NS_PER_S),
        round((design.warm_up_s + design.measure_s) * NS_PER_S),
    )


def _spin_ns(workload: Workload, processes: int, quota_cores: float | None) -> int:
    """All processes share the quota; each wakes for a burst of which it has a part.

    A closed loop paces nothing but its start.
    """
    if workload.arrivals is None:
        return spin_budget_ns(1.0, quota_cores)
    wakes = min(processes * wakes_per_s(workload.arrivals), workload.arrivals.rate_per_s)
    return spin_budget_ns(wakes, quota_cores)


def _arguments(
    given: Given, trial: Trial, workload: Workload, planned: ArrivalSchedule | None
) -> list[tuple[Argument, ...]]:
    # At least one, with which connections are warmed.
    needed = DIFFERENT_ARGUMENTS if planned is None else max(len(planned), 1)
    return list(islice(draw_arguments(workload, dict(given.found), trial.seed), needed))


def _with_keys(
    given: Given, workload: Workload, arguments: Sequence[tuple[Argument, ...]]
) -> Order:
    """Arguments, and the hash of each key where a key picks the connection.

    The hash must be the same in every process and version, which Python's own is not.
    """
    key = given.experiment.pool.key
    keys = None
    if key is not None:
        place = workload.statement.names.index(key)
        keys = [zlib.crc32(str(each[place]).encode()) for each in arguments]
    return {"arguments": arguments, "keys": keys}


def _open_loads(planned: ArrivalSchedule, processes: int) -> Iterator[Order]:
    for process in range(processes):
        share = share_of(len(planned), process, processes)
        yield {
            "planned_ns": [planned.planned_ns[seq] for seq in share],
            "closed_loop": None,
        }


def _closed_loads(experiment: Experiment, trial: Trial, workload: Workload) -> Iterator[Order]:
    loop, design = workload.closed_loop, experiment.design
    assert loop is not None  # noqa: S101 - a workload has one or the other
    assert trial.scenario.concurrency is not None  # noqa: S101 - its scenario says how many
    processes = experiment.generator.processes
    workers = trial.scenario.concurrency // processes
    for process in range(processes):
        operations = _divided(loop.operations, process, processes)
        yield {
            "slots": slots_needed(loop, workers, operations, design),
            "closed_loop": {
                "concurrency": workers,
                "think_ns": round(loop.think_ms * NS_PER_S / 1000),
                "think": loop.think,
                "operations": operations,
                "warm_up_ns": round(design.warm_up_s * NS_PER_S),
                "end_ns": round((design.warm_up_s + design.measure_s) * NS_PER_S),
            },
        }


def _divided(whole: int | None, part: int, parts: int) -> int | None:
    return None if whole is None else (whole + parts - 1 - part) // parts


def slots_needed(loop: ClosedLoop, workers: int, operations: int | None, design: Design) -> int:
    """Room for more requests than one process can come to, for its log never grows."""
    length_s = design.warm_up_s + design.measure_s
    most = MOST_PER_S * length_s
    if operations is not None:
        most = min(most, MOST_PER_S * design.warm_up_s + operations)
    if loop.think_ms:
        # Nobody thinks for less than that.
        most = min(most, workers * (length_s * 1000 / loop.think_ms + 1))
    return min(math.ceil(most) + workers, MAXIMUM_REQUESTS_PER_TRIAL)
