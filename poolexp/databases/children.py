"""Programs that we start beside an event loop, watch, and never leave behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

Child = subprocess.Popen[bytes]

_PAUSE_S = 0.01
_TAIL_BYTES = 4_000


def start(argv: Sequence[str], log: Path, *, place: Path) -> Child:
    """Start a program in a session of its own, so that Ctrl-C in a terminal is ours alone.

    What it prints goes to the file `log`, made private. It gets none of our environment but the
    paths of programs and libraries: PGDATA and its like must not steer it.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    # No link is followed: the log may lie in a directory of the server's user, and we may be root.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    descriptor = os.open(log, flags, 0o600)
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd=place,
            env={**kept, "LC_ALL": "C"},
            start_new_session=True,
            umask=0o077,
        )
    finally:
        os.close(descriptor)


async def ended(child: Child, *, within_s: float) -> bool:
    """Wait until a child has ended; False when it has not within that time."""
    deadline = time.monotonic() + within_s
    while child.poll() is None:
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_PAUSE_S)
    return True


def ended_blocking(child: Child, *, within_s: float) -> bool:
    """Wait as `ended` does, but without the event loop, where nothing can cancel it half-way."""
    try:
        child.wait(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def kill(child: Child) -> None:
    """End a child with all of its session at once, and bury it; nothing if it has ended."""
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def kill_inside(directory: Path, *, within_s: float) -> None:
    """Kill every process that works in `directory`.

    A backend changes into the data directory when it is born and stays there. It may outlive its
    postmaster when that was killed, and then belongs to no parent or session that we know.
    """
    deadline = time.monotonic() + within_s
    while (pids := list(_working_in(directory))) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_S)


def none_inside(directory: Path, *, within_s: float) -> bool:
    """Wait until no process works in `directory`; False when one still does after that time."""
    deadline = time.monotonic() + within_s
    while any(_working_in(directory)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def _working_in(directory: Path) -> Iterator[int]:
    target = str(directory)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if str((entry / "cwd").readlink()) == target:
                    yield int(entry.name)


def tail(log: Path) -> str:
    """Read the end of a program's log, for an error message."""
    try:
        return log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
    except FileNotFoundError:
        return ""
