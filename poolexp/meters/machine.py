"""What the whole machine did meanwhile: CPU time, steal, waiting for CPUs, suspends.

Everything is read below a root directory, so that trees of other machines can be looked at too.
What cannot be read is None.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poolexp.cgroups import layout

_NS_PER_S = 1_000_000_000
_NS_PER_TICK = _NS_PER_S // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class MachineReading:
    """One reading of the counters of the whole machine.

    Attributes:
        at_ns: when, on the monotonic clock.
        cpu_ns: CPU time of all processes so far, over all CPUs.
        steal_ns: time so far, over all CPUs, in which the machine below served somebody else.
        pressure_us: time so far in which some process waited for a CPU.
        asleep_ns: time that the machine has been suspended since it started.

    """

    at_ns: int
    cpu_ns: int | None
    steal_ns: int | None
    pressure_us: int | None
    asleep_ns: int


class Machine:
    """Reads those counters; made once, it knows where they are.

    The root of version 1's cpuacct tree counts CPU time in ns. Everywhere else `/proc/stat` must
    do, which counts ticks of 10 ms.
    """

    def __init__(
        self, root: Path = Path("/"), boot_clock_ns: Callable[[], int] | None = None
    ) -> None:
        self._stat = root / "proc/stat"
        self._pressure = root / "proc/pressure/cpu"
        self._usage = _root_usage(root)
        self._boot_clock_ns = boot_clock_ns or _boot_clock_ns

    @property
    def source(self) -> str:
        """Where the CPU time comes from."""
        return "cpuacct.usage" if self._usage else "/proc/stat"

    def read(self) -> MachineReading:
        """Read everything now; the CPU time comes first, with its instant."""
        usage_ns = _number(_text(self._usage)) if self._usage else None
        ticks = _cpu_ticks(_text(self._stat))
        at_ns = time.monotonic_ns()
        return MachineReading(
            at_ns=at_ns,
            cpu_ns=_busy_ns(ticks) if usage_ns is None else usage_ns,
            steal_ns=ticks[_STEAL] * _NS_PER_TICK if len(ticks) > _STEAL else None,
            pressure_us=_some_total(_text(self._pressure)),
            asleep_ns=self.asleep_ns(),
        )

    def asleep_ns(self) -> int:
        """Time that the machine has been suspended: one clock counts it, the other does not."""
        return self._boot_clock_ns() - time.monotonic_ns()


# The fields of the line "cpu" in /proc/stat, proc(5). Guests are counted within user and nice.
_USER, _NICE, _SYSTEM, _IDLE, _IOWAIT, _IRQ, _SOFTIRQ, _STEAL = range(8)
_BUSY = (_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ)


def _boot_clock_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _root_usage(root: Path) -> Path | None:
    """The counter at the root of all groups; below a container's root only its own is counted."""
    owner = layout(root).owners.get("cpuacct")
    if owner is None or owner.version != 1:
        return None
    # Only the root of all groups has this file.
    is_root_of_all = (owner.mount_point / "release_agent").exists()
    return owner.mount_point / "cpuacct.usage" if is_root_of_all else None


def _cpu_ticks(stat: str) -> list[int]:
    first = stat.partition("\n")[0].split()
    return [int(word) for word in first[1:]] if first[:1] == ["cpu"] else []


def _busy_ns(ticks: list[int]) -> int | None:
    return sum(ticks[index] for index in _BUSY) * _NS_PER_TICK if len(ticks) > _SOFTIRQ else None


def _some_total(pressure: str) -> int | None:
    for line in pressure.splitlines():
        if line.startswith("some "):
            return int(line.rpartition("=")[2])
    return None


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""


# Suspends are seen to the microsecond; two clocks that are read one after the other differ less.
_CLOCK_NOISE_NS = 1_000_000


def machine_document(
    source: str, before: MachineReading, after: MachineReading, own_ns: Iterable[int | None]
) -> dict[str, Any]:
    """What happened between two readings, for the manifest.

    `own_ns` is what each of our own control groups used meanwhile, in ns; the rest of the
    machine's CPU time is foreign. Without groups, or if one could not be read, that is not known.
    """
    cpu_ns, own = _gone(before.cpu_ns, after.cpu_ns), list(own_ns)
    known = [value for value in own if value is not None]
    told = cpu_ns is not None and own and len(known) == len(own)
    return {
        "cpus": os.cpu_count(),
        "source": source,
        "between_ns": after.at_ns - before.at_ns,
        "cpu_ns": cpu_ns,
        "foreign_cpu_ns": max(0, cpu_ns - sum(known)) if told and cpu_ns is not None else None,
        "steal_ns": _gone(before.steal_ns, after.steal_ns),
        "pressure_us": _gone(before.pressure_us, after.pressure_us),
    }


def suspended_ns(before_ns: int, after_ns: int) -> int:
    """How long the machine was suspended between two readings of `asleep_ns`."""
    asleep_ns = after_ns - before_ns
    return asleep_ns if asleep_ns > _CLOCK_NOISE_NS else 0


def _gone(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
