"""Marks what we leave in shared places, so that a later run can tell whose it was.

A run that is killed cannot clean up after itself. Its directories carry a mark that names the
process that made them: namespace of process ids, process id, start time. A bare process id
would not do, because the kernel gives it out again.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def mark() -> str:
    """Make the mark of this process; it holds letters, digits and hyphens only."""
    return f"{_pid_namespace()}-{os.getpid()}-{_start_ticks(os.getpid())}"


def is_abandoned(owner: str) -> bool:
    """Tell whether the process that made the mark has ended.

    False for a text that is no mark and for a mark of another namespace of process ids: what
    cannot be judged from here is left alone.
    """
    parts = owner.split("-")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return False
    namespace, pid, start_ticks = (int(part) for part in parts)
    return namespace == _pid_namespace() and _start_ticks(pid) != start_ticks


def _pid_namespace() -> int:
    return (_PROC / "self/ns/pid").stat().st_ino


def _start_ticks(pid: int) -> int | None:
    """Read when a process started, in clock ticks since boot; None when there is no such."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name stands in parentheses and may itself hold spaces and parentheses.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])
