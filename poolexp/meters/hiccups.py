"""The hiccup meter beside a trial: whether the machine let a process run when it asked to."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from poolexp.cgroups import Group
from poolexp.killing import kill_unreaped

_PROBE = Path(__file__).with_name("hiccup_probe.py")
_MARGIN_S = 5.0


class HiccupMeter:
    """A running probe. What it cannot say is None: no meter is worth a failed trial."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def watch(self, start_ns: int, end_ns: int) -> None:
        """Name the window, as two instants on the monotonic clock."""
        assert self._process.stdin is not None  # noqa: S101 - we asked for the pipe
        with suppress(ConnectionError):
            self._process.stdin.write(f"{start_ns} {end_ns}\n".encode())
            await self._process.stdin.drain()

    async def reading(self) -> dict[str, Any] | None:
        """What was seen until now, or to the end of the window; None if the probe did not say."""
        assert self._process.stdin is not None  # noqa: S101 - we asked for the pipe
        assert self._process.stdout is not None  # noqa: S101 - we asked for the pipe
        self._process.stdin.close()
        with suppress(TimeoutError, ValueError):
            async with asyncio.timeout(_MARGIN_S):
                reading: dict[str, Any] = json.loads(await self._process.stdout.readline())
            return reading
        return None


@asynccontextmanager
async def hiccup_meter(group: Group | None) -> AsyncIterator[HiccupMeter]:
    """Start the probe, inside `group` where there is one; it is gone afterwards in any case."""
    argv = [sys.executable, "-I", "-S", str(_PROBE)]
    if group is not None:
        group.allow_real_time()
        argv = group.command(argv)
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield HiccupMeter(process)
    finally:
        if process.returncode is None:
            kill_unreaped(process)
            await process.wait()
