"""Reads what a control group has used, cheaply enough to do it a hundred times a second.

The files stay open and are read from their start each time: a read costs about a microsecond,
opening as well would cost ten times that.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_NS_PER_US = 1_000
# The longest of these files, memory.stat, has about 2 kB.
_READ_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Counters:
    """One reading; None where the kernel has no such counter.

    `at_ns` is on the monotonic clock, taken right after the CPU counter was read. CPU time is
    summed over all CPUs, so is `throttled_ns`, which can therefore exceed the time that passed.
    `nr_periods` counts only periods in which the group ran. `memory_file_bytes` is page cache
    without shared memory, which stands apart in `memory_shmem_bytes`. `pressure_us` is the total
    time in which some task of the group waited for a CPU.
    """

    at_ns: int
    cpu_usage_ns: int | None
    nr_periods: int | None
    nr_throttled: int | None
    throttled_ns: int | None
    memory_bytes: int | None
    memory_anon_bytes: int | None
    memory_shmem_bytes: int | None
    memory_file_bytes: int | None
    pressure_us: int | None


@dataclass(frozen=True, slots=True)
class Directory:
    """One directory of a group: the version of the control groups, and where it is."""

    version: int
    path: Path


class CounterReader:
    """Reads one group's counters through files that stay open; a context manager.

    `directories` says for each controller (cpu, cpuacct, memory) where its files are.
    """

    def __init__(self, directories: Mapping[str, Directory]) -> None:
        self._directories = directories
        self._descriptors: dict[str, int] = {}

    def __enter__(self) -> Self:
        for controller, names in _FILES.items():
            directory = self._directories.get(controller)
            if directory is not None:
                for name in names[directory.version]:
                    self._open(name, directory.path / name)
        return self

    def _open(self, name: str, path: Path) -> None:
        # A counter that this kernel lacks stays None in every reading.
        with suppress(FileNotFoundError):
            self._descriptors.setdefault(name, os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()

    def read(self) -> Counters:
        """Read all counters now. The CPU's come first, with their instant."""
        usage_ns = self._number("cpuacct.usage")
        cpu = _Table(self._text("cpu.stat"))
        at_ns = time.monotonic_ns()
        memory = _Table(self._text("memory.stat"))
        used = self._number("memory.usage_in_bytes")
        return Counters(
            at_ns=at_ns,
            cpu_usage_ns=_first(usage_ns, _in_ns(cpu.get(b"usage_usec"))),
            nr_periods=cpu.get(b"nr_periods"),
            nr_throttled=cpu.get(b"nr_throttled"),
            throttled_ns=_first(cpu.get(b"throttled_time"), _in_ns(cpu.get(b"throttled_usec"))),
            memory_bytes=_first(used, self._number("memory.current")),
            memory_anon_bytes=_first(memory.get(b"anon"), memory.get(b"rss")),
            memory_shmem_bytes=memory.get(b"shmem"),
            memory_file_bytes=_without_shmem(memory),
            pressure_us=_some_total(self._text("cpu.pressure")),
        )

    def _text(self, name: str) -> bytes:
        descriptor = self._descriptors.get(name)
        if descriptor is None:
            return b""
        try:
            return os.pread(descriptor, _READ_BYTES, 0)
        except OSError:  # pressure can be compiled in and switched off; then the read fails
            return b""

    def _number(self, name: str) -> int | None:
        text = self._text(name)
        return int(text) if text else None


# Version 2 has one file where version 1 has two, and names them otherwise.
_FILES: Mapping[str, Mapping[int, tuple[str, ...]]] = {
    "cpuacct": {1: ("cpuacct.usage",), 2: ("cpu.stat",)},
    "cpu": {1: ("cpu.stat",), 2: ("cpu.stat", "cpu.pressure")},
    "memory": {
        1: ("memory.usage_in_bytes", "memory.stat"),
        2: ("memory.current", "memory.stat"),
    },
}


class _Table:
    """A file of `name value` lines, of which only the few values that are asked for are parsed."""

    def __init__(self, text: bytes) -> None:
        words = text.split()
        self._values = dict(zip(words[::2], words[1::2], strict=True))

    def get(self, name: bytes) -> int | None:
        value = self._values.get(name)
        return None if value is None else int(value)


def _first(value: int | None, other: int | None) -> int | None:
    return other if value is None else value


def _in_ns(us: int | None) -> int | None:
    return None if us is None else us * _NS_PER_US


def _without_shmem(memory: _Table) -> int | None:
    """Count the page cache of files alone: the kernel counts shared memory into it."""
    cached = _first(memory.get(b"file"), memory.get(b"cache"))
    return None if cached is None else max(0, cached - (memory.get(b"shmem") or 0))


def _some_total(text: bytes) -> int | None:
    for line in text.splitlines():
        kind, *fields = line.split()
        if kind == b"some":
            return int(fields[-1].partition(b"=")[2])
    return None
