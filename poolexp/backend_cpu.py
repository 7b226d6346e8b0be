"""The CPU time of one server process, read from the system that both of us run on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from poolexp.errors import DatabaseError

_NS_PER_S = 1_000_000_000


class Clock(Protocol):
    """Something that tells CPU time in ns, in steps of `grain_ns`."""

    @property
    def grain_ns(self) -> int:
        """The step that the clock advances by."""

    def read_ns(self) -> int:
        """Read the CPU time so far."""


@dataclass(frozen=True, slots=True)
class CpuClock:
    """Reads the CPU time that one process has used; `grain_ns` is the step it advances by."""

    path: Path
    grain_ns: int

    def read_ns(self) -> int:
        """Read the CPU time so far, in user space and kernel together."""
        text = self.path.read_text()
        if self.path.name == "schedstat":
            return int(text.split()[0])
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) * self.grain_ns


def cpu_clock(pid: int, proc: Path = Path("/proc")) -> CpuClock:
    """Find the finest clock of a process: the scheduler's, in ns, or else one of 10 ms ticks.

    Raises DatabaseError when no such process runs here: the server is on another machine.
    """
    process = proc / str(pid)
    if not process.is_dir():
        raise DatabaseError(
            f"the server's process {pid} does not run on this machine, so its CPU time cannot "
            "be read",
            "Give the parameter a fixed value instead of calibrate_cpu_ms.",
        )
    schedstat = process / "schedstat"
    # A kernel without scheduler statistics shows the file with zeros.
    if schedstat.exists() and int(schedstat.read_text().split()[0]) > 0:
        return CpuClock(schedstat, grain_ns=1)
    return CpuClock(process / "stat", grain_ns=_NS_PER_S // os.sysconf("SC_CLK_TCK"))
