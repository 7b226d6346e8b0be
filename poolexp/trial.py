"""One trial, in a process of its own: `python -m poolexp.trial`.

The process is born inside the generator's control group, imports little, and talks with its
parent in lines of JSON: it reads from standard input, it answers on standard output.

    -> the order (what to send and when, how to connect)   <- {"event": "opened", ...}
    -> {"origin_ns": ...}, the monotonic instant of the start of the warm-up
                                                            <- {"event": "measured"}
    (the raw columns are in the open file it was given)     <- {"event": "closed", facts}

The order carries the password; it is never on a command line or in a file.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import platform
import sys
import time
from array import array
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import asyncpg
import uvloop

from poolexp.generators import closed_loop, open_loop
from poolexp.generators.sender import Sender
from poolexp.loop_meter import LoopMeter
from poolexp.pacing import Pacer
from poolexp.pools import ConnectionCensus, Pool, PoolOrder, open_pool, warm
from poolexp.request_log import RequestLog, empty_column

CLOSING_TIMEOUT_S = 10.0
FAILURES = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What can befall connections that are opened, warmed or closed; timeouts are OSErrors."""


def tell(event: str, **facts: object) -> None:
    """Send one line to the parent."""
    sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, Any]:
    """Read one line from the parent; an end of input means that nobody waits for us any more."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(1)
    message: dict[str, Any] = json.loads(line)
    return message


class CollectionCounter:
    """Counts garbage collections, so that one inside the window is known."""

    def __init__(self) -> None:
        self.collections = 0
        gc.callbacks.append(self._count)

    def _count(self, phase: str, info: dict[str, int]) -> None:
        self.collections += phase == "start"


async def run(order: dict[str, Any]) -> None:
    """Open, warm, send, write down, close."""
    census = ConnectionCensus()
    start = time.monotonic()
    pool = await open_pool(PoolOrder(connect=order["connect"], **order["pool"]), census)
    opened = time.monotonic()
    warm_failures = await warm(pool, order["sql"], tuple(order["arguments"][0]))
    log = RequestLog(scheduled(order))
    warm_s = time.monotonic() - opened
    tell("opened", open_s=opened - start, warm_s=warm_s, warm_failures=warm_failures)
    sent = await send_all(order, pool, log)
    census.closing = True
    tell("measured")
    log.save(order["log_descriptor"], requests=sent["requests"])
    await close(pool)
    tell("closed", **facts(census), **sent)


def scheduled(order: dict[str, Any]) -> array[int]:
    """The planned times of an open loop, or as many empty slots as a closed loop may need."""
    if order["closed_loop"] is None:
        return array("q", order["planned_ns"])
    return empty_column(order["slots"])


async def send_all(order: dict[str, Any], pool: Pool, log: RequestLog) -> dict[str, Any]:
    """Send the requests from the origin that the parent names; say how many, and what else."""
    gc.collect()
    gc.freeze()
    gc.disable()
    # The parent restores the limits before it names the origin: nothing is served meanwhile.
    origin_ns: int = hear()["origin_ns"]
    counter = CollectionCounter()
    sender = Sender(
        pool,
        order["sql"],
        log,
        origin_ns=origin_ns,
        acquire_timeout_s=order["acquire_timeout_s"],
        query_timeout_s=order["query_timeout_s"],
    )
    meter = LoopMeter(*(origin_ns + at_ns for at_ns in order["window_ns"]))
    with meter, Pacer(spin_ns=order["spin_ns"]) as pacer:
        sent = await send(order, sender, pacer)
    gc.enable()
    log.close(time.monotonic_ns(), requests=sent["requests"])
    return {
        "gc_collections": counter.collections,
        "loop_meter": meter.document(),
        "errors": sender.failures.document(),
        **sent,
    }


async def send(order: dict[str, Any], sender: Sender, pacer: Pacer) -> dict[str, Any]:
    """Send in the way that is asked for; say how many were sent, and when and why that ended."""
    arguments, drain_s = order["arguments"], order["drain_s"]
    keys = order["keys"] or [0] * len(arguments)
    if order["closed_loop"] is None:
        await open_loop.run(sender, arguments, keys, pacer, drain_s=drain_s)
        return {"requests": len(sender.log)}
    course = closed_loop.Course(**order["closed_loop"])
    loop = closed_loop.ClosedLoop(sender, course, arguments, keys)
    await loop.run(pacer, drain_s=drain_s)
    return {
        "requests": loop.begun,
        "measured": loop.measured,
        "end_ns": loop.end_ns,
        "stopped_by": loop.stopped_by or "time",
    }


async def close(pool: Pool) -> None:
    """Close every connection, at last by force."""
    try:
        async with asyncio.timeout(CLOSING_TIMEOUT_S):
            await pool.close()
    except FAILURES:
        pool.terminate()


def facts(census: ConnectionCensus) -> dict[str, object]:
    """What the manifest keeps about the generator."""
    return {
        "pid": os.getpid(),
        "python": platform.python_version(),
        "loop": f"uvloop {version('uvloop')}",
        "cpus": sorted(os.sched_getaffinity(0)),
        "connections_opened": census.opened,
        "connections_lost": census.lost,
    }


def main() -> None:
    """Do one trial; tell the parent of a failure in its own words, without the order."""
    order = hear()
    try:
        uvloop.run(run(order))
    except FAILURES as error:
        with suppress(BrokenPipeError):
            tell("failed", error=f"{type(error).__name__}: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
