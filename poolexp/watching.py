"""Watch a window from outside: the counters of the groups, and the meters beside the trial."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from poolexp.arrivals import NS_PER_S
from poolexp.cgroups import CounterReader, Group
from poolexp.meters import HiccupMeter, Machine, MachineReading, machine_document, suspended_ns

SAMPLE_PERIOD_NS = 100_000_000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Watched:
    """What was read.

    Attributes:
        rows: readings of the groups, as they go into counters.parquet.
        opened, closed: the machine's counters at the window's edges.

    """

    rows: list[Row]
    opened: MachineReading
    closed: MachineReading

    def used_ns(self) -> list[int | None]:
        """The CPU time that each group used in the window; None where it was not counted."""
        at_edge = {(row["group"], row["moment"]): row["cpu_usage_ns"] for row in self.rows}
        used: list[int | None] = []
        for group in dict.fromkeys(row["group"] for row in self.rows):
            before, after = at_edge[group, "window_start"], at_edge[group, "window_end"]
            used.append(None if before is None or after is None else after - before)
        return used


async def watch(
    groups: Mapping[str, Group],
    machine: Machine,
    window_ns: tuple[int, int],
    origin_ns: int,
    ending: asyncio.Future[Any] | None = None,
) -> Watched:
    """Read every group's counters at the window's edges and at even distances in between.

    The machine's own are read at the edges alone, right after those of the groups. `window_ns`
    counts from the origin; where `ending` is done sooner, the window closes then.
    """
    rows: list[Row] = []
    edges: list[MachineReading] = []
    opens_ns, closes_ns = window_ns
    inside = range(opens_ns + SAMPLE_PERIOD_NS, closes_ns, SAMPLE_PERIOD_NS)
    moments = [
        (opens_ns, "window_start"),
        *((at_ns, "sample") for at_ns in inside),
        (closes_ns, "window_end"),
    ]
    with ExitStack() as stack:
        readers = {name: stack.enter_context(group.counters()) for name, group in groups.items()}
        for at_ns, moment in moments:
            if await _over(ending, origin_ns + at_ns) and edges:
                moment = "window_end"  # noqa: PLW2901 - it has come already
            rows += [_reading(reader, name, moment, origin_ns) for name, reader in readers.items()]
            if moment != "sample":
                edges.append(machine.read())
            if moment == "window_end":
                break
    opened, closed = edges
    return Watched(rows, opened, closed)


async def _over(ending: asyncio.Future[Any] | None, at_ns: int) -> bool:
    """Wait for an instant, or for the end: whether that has come."""
    wait_s = max(0.0, (at_ns - time.monotonic_ns()) / NS_PER_S)
    if ending is None:
        await asyncio.sleep(wait_s)
        return False
    await asyncio.wait([ending], timeout=wait_s)
    return ending.done()


def _reading(reader: CounterReader, group: str, moment: str, origin_ns: int) -> Row:
    row = asdict(reader.read())
    return {**row, "group": group, "moment": moment, "at_ns": row["at_ns"] - origin_ns}


async def meters_document(
    watched: Watched, machine: Machine, hiccups: HiccupMeter, loop: Row | None
) -> Row:
    """What the manifest says of the meters; `loop` comes from the generator itself."""
    return {
        "machine": machine_document(
            machine.source, watched.opened, watched.closed, watched.used_ns()
        ),
        "suspended_ns": suspended_ns(watched.opened.asleep_ns, machine.asleep_ns()),
        "hiccups": await hiccups.reading(),
        "loop": loop,
    }
