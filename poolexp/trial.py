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

from poolexp.generators import open_loop
from poolexp.loop_meter import LoopMeter
from poolexp.pacing import Pacer
from poolexp.pools import ConnectionCensus, open_pool, warm
from poolexp.request_log import RequestLog

CLOSING_TIMEOUT_S = 10.0


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
    pool = await open_pool(
        order["connect"], size=order["pool_size"], reset=order["pool_reset"], census=census
    )
    opened = time.monotonic()
    await warm(pool, order["sql"], tuple(order["arguments"][0]))
    planned_ns = array("q", order["planned_ns"])
    log = RequestLog(len(planned_ns))
    tell("opened", open_s=opened - start, warm_s=time.monotonic() - opened)
    collections, loop = await send_all(order, pool, planned_ns, log)
    census.closing = True
    tell("measured")
    log.save(order["log_descriptor"])
    await close(pool)
    tell("closed", loop_meter=loop, **facts(census, collections, log))


async def send_all(
    order: dict[str, Any], pool: asyncpg.Pool, planned_ns: array[int], log: RequestLog
) -> tuple[int, dict[str, int]]:
    """Send the planned requests from the origin that the parent names.

    Counts collections, and says how the loop turned within the window.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    # The parent restores the limits before it names the origin: nothing is served meanwhile.
    origin_ns: int = hear()["origin_ns"]
    counter = CollectionCounter()
    sender = open_loop.Sender(
        pool,
        order["sql"],
        order["arguments"],
        log,
        origin_ns=origin_ns,
        acquire_timeout_s=order["acquire_timeout_s"],
        query_timeout_s=order["query_timeout_s"],
    )
    meter = LoopMeter(*(origin_ns + at_ns for at_ns in order["window_ns"]))
    with meter, Pacer(spin_ns=order["spin_ns"]) as pacer:
        await open_loop.run(sender, planned_ns, pacer, drain_s=order["drain_s"])
    gc.enable()
    return counter.collections, meter.document()


async def close(pool: asyncpg.Pool) -> None:
    """Close every connection, at last by force."""
    try:
        async with asyncio.timeout(CLOSING_TIMEOUT_S):
            await pool.close()
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        pool.terminate()


def facts(census: ConnectionCensus, collections: int, log: RequestLog) -> dict[str, object]:
    """What the manifest keeps about the generator."""
    return {
        "pid": os.getpid(),
        "python": platform.python_version(),
        "loop": f"uvloop {version('uvloop')}",
        "gc_collections": collections,
        "connections_opened": census.opened,
        "connections_lost": census.lost,
        "sqlstate": {str(seq): state for seq, state in log.sqlstate.items()},
    }


def main() -> None:
    """Do one trial; tell the parent of a failure in its own words, without the order."""
    order = hear()
    try:
        uvloop.run(run(order))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        with suppress(BrokenPipeError):
            tell("failed", error=f"{type(error).__name__}: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
