"""A small model of a throttled server with a pool in front of it: request and counter rows.

It has the shape of the published experiment: with bursts a small pool waits for connections, a
large one for the processor. Every number follows from the source of random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from poolexp.arrivals import ArrivalSchedule
from poolexp.plan import Trial

NS_PER_MS = 1_000_000
MIB = 1_048_576

Row = dict[str, Any]


@dataclass(slots=True)
class _Job:
    """A request inside the modelled server: CPU work left, and its weight in the sharing."""

    seq: int
    left_ms: float
    weight: float
    acquired_ms: float
    backend: int


def serve(arrivals: ArrivalSchedule, trial: Trial, cost_ms: float, random: Random) -> list[Row]:
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


def read_counters(
    arrivals: ArrivalSchedule, trial: Trial, cost_ms: float, random: Random
) -> Iterator[Row]:
    """Readings of the three control groups: at the window's edges and ten times a second inside."""
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
