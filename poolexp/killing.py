"""End a child that asyncio watches."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress


def kill_unreaped(process: asyncio.subprocess.Process) -> None:
    """Kill a process and leave it to asyncio's own watcher to learn of its end.

    `process.kill()` first asks whether the child has ended, and so can take its status away from
    the watcher, which then complains of an unknown child. Until the watcher has had it, the number
    is no other process's.
    """
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
