"""Closed-loop throughput against pgbench with as many clients as the pool has connections.

usage:  .venv/bin/uv run python -m benchmarks.throughput [PAIRS]

Nothing is limited here. Our side has 96 workers, more than connections, so that every connection
is wanted all the time; pgbench's clients each own one.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import numpy as np

from benchmarks.stand import LIGHT, LIGHT_PARAMETERS, LIGHT_SCRIPT, Ratios, Stand, show, stand

SECONDS = 3
WORKERS = 96
SLEEP = "SELECT pg_sleep(0.003)"


def closed(sql: str, concurrency: int, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """A workload of workers that never think."""
    loop = {"concurrency": concurrency}
    return {"sql": sql, "parameters": parameters or {}, "closed_loop": loop}


async def sleeping(place: Stand, size: int, selection: str, pairs: int, goal: str) -> Ratios:
    """Throughput of a statement that holds its connection for 3 ms and uses no CPU."""
    ratios = Ratios(f"pg_sleep(0.003), pool {size}, {selection}, requests/s", goal)
    pool = {"size": size, "selection": selection, "reset": False}
    for seed in range(pairs):
        ours = await place.ours(closed(SLEEP, WORKERS), pool, measure_s=SECONDS, seed=seed)
        peer = place.pgbench(f"{SLEEP};\n", "-c", size, "-j", 2, "-T", SECONDS)
        ratios.add(ours.rate_per_s, peer.rate_per_s)
    return ratios


async def fairness(place: Stand, pairs: int) -> Ratios:
    """How far the slowest hundredth lies from the middle when 96 workers share 10 connections."""
    ratios = Ratios("p99 over p50, 96 workers, pool 10, fifo, ms", "at most 1.25")
    pool = {"size": 10, "selection": "fifo", "reset": False}
    for seed in range(pairs):
        trial = await place.ours(closed(SLEEP, WORKERS), pool, measure_s=SECONDS, seed=seed)
        latency = trial.ms("released_ns", "scheduled_ns")
        ratios.add(float(np.percentile(latency, 99)), float(np.percentile(latency, 50)))
    return ratios


async def light(place: Stand, pairs: int) -> tuple[Ratios, list[float]]:
    """Throughput of a statement that takes next to no time, and our CPU time per request in us."""
    ratios, cpu_us = Ratios("light statement, 8 connections, fifo, requests/s", "at least 0.6"), []
    pool = {"size": 8, "selection": "fifo", "reset": False}
    for seed in range(pairs):
        load = closed(LIGHT, 16, LIGHT_PARAMETERS)
        ours = await place.ours(load, pool, measure_s=SECONDS, seed=seed)
        peer = place.pgbench(LIGHT_SCRIPT, "-c", 8, "-j", 1, "-T", SECONDS)
        ratios.add(ours.rate_per_s, peer.rate_per_s)
        cpu_us.append(ours.generator_cpu_s / ours.rows.height * 1e6)
    return ratios, cpu_us


async def main(pairs: int) -> None:
    """Measure and print."""
    rows = []
    async with stand(None) as place:
        for size in (10, 20, 40):
            goal = "least of 10 at least 0.93"
            rows.append((await sleeping(place, size, "lifo", pairs, goal)).cells())
        rows.append((await sleeping(place, 70, "fifo", pairs, "at least 0.95")).cells())
        rows.append((await fairness(place, pairs)).cells())
        ratios, cpu_us = await light(place, pairs)
        rows.append(ratios.cells())
        told = f"{np.median(cpu_us):.1f}"
        rows.append(("client CPU per light request, us", told, "", "", "", str(pairs), ""))
    show("Closed loop against pgbench", rows)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
