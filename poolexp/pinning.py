"""CPUs of their own for the generator and the database: a mode that is stated, never silent.

What is started is confined before its first instruction, by `taskset`, and so are its children.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from poolexp.errors import LimitsError


@dataclass(frozen=True, slots=True)
class Pinning:
    """Which CPUs, by number, each side has to itself."""

    database: tuple[int, ...]
    generator: tuple[int, ...]


def make_pinning(processes: int, available: Sequence[int] | None = None) -> Pinning:
    """Give each generator process one CPU, the last ones, and the database the others.

    `available` are the CPUs to be shared, by default those that this process may use.

    Raises:
        LimitsError: there are too few, or no program to confine a process with.

    """
    cpus = sorted(os.sched_getaffinity(0) if available is None else available)
    if len(cpus) <= processes:
        raise LimitsError(
            f"pinning needs {processes + 1} CPUs, {processes} for the generator and at least one "
            f"for the database, but there are {len(cpus)}",
            "Use a machine with more CPUs, or leave pinning out of [design].",
        )
    if shutil.which("taskset") is None:
        raise LimitsError(
            "pinning needs the program taskset, which is missing",
            "Install util-linux, or leave pinning out of [design].",
        )
    return Pinning(tuple(cpus[:-processes]), tuple(cpus[-processes:]))


def confined(argv: Sequence[str], cpus: Sequence[int] | None) -> list[str]:
    """Wrap `argv` so that it runs on `cpus` alone; None leaves it as it is."""
    if cpus is None:
        return list(argv)
    return ["taskset", "--cpu-list", ",".join(str(cpu) for cpu in cpus), *argv]
