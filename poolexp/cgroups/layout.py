"""Finds where this process stands among the control groups, and what limits it already.

Everything is read below a root directory, so that trees of other machines can be looked at too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from poolexp.cgroups.limit import CpuLimit, parse_cfs_files, parse_cpu_max
from poolexp.errors import LimitsError

# What we need: cpu limits and counts its periods, cpuacct counts CPU time, memory counts memory.
CONTROLLERS = ("cpu", "cpuacct", "memory")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted tree of control groups, as this process sees it.

    `own` is the directory of the group that this process is in, with the mount's own root taken
    off: in a container, the path that the kernel names and the directory differ.
    """

    version: int
    controllers: frozenset[str]
    mount_point: Path
    own: Path

    @property
    def writable(self) -> bool:
        """Whether groups can be created below our own."""
        return os.access(self.own, os.W_OK | os.X_OK)

    def ancestors(self) -> Iterator[Path]:
        """Go from our own group up through those above it, as far as they can be seen."""
        yield self.own
        for directory in self.own.parents:
            if not directory.is_relative_to(self.mount_point):
                return
            yield directory


@dataclass(frozen=True, slots=True)
class Layout:
    """Which tree owns which controller here; `unresolved` says what could not be placed."""

    kind: str
    owners: Mapping[str, Hierarchy]
    unresolved: tuple[str, ...] = ()

    def hierarchies(self) -> list[Hierarchy]:
        """List the trees that matter, each once."""
        return list(dict.fromkeys(self.owners.values()))

    def tightest_limit(self) -> CpuLimit | None:
        """Find the tightest CPU limit that holds for this process already; None when none does.

        Raises LimitsError when the kernel's file cannot be understood.
        """
        owner = self.owners.get("cpu")
        if owner is None:
            return None
        limits = (read_limit(directory, owner.version) for directory in owner.ancestors())
        return min((each for each in limits if each), key=lambda each: each.cores, default=None)

    def facts(self) -> dict[str, Any]:
        """Tell the layout for the record: kind, places, may we write, the limit above us."""
        try:
            tightest, problem = self.tightest_limit(), None
        except LimitsError as error:
            tightest, problem = None, error.message
        return {
            "kind": self.kind,
            "controllers": {
                name: {
                    "version": owner.version,
                    "mount_point": str(owner.mount_point),
                    "own": str(owner.own),
                    "writable": owner.writable,
                }
                for name, owner in self.owners.items()
            },
            "limit_above_cores": tightest.cores if tightest else None,
            "limit_above_period_ms": tightest.period_ms if tightest else None,
            "unresolved": [*self.unresolved, *([problem] if problem else [])],
        }


def layout(root: Path = Path("/")) -> Layout:
    """Find where this process stands. `root` holds the `proc` and `sys` to look at."""
    mounts = list(_mounts(_text(root / "proc/self/mountinfo")))
    memberships = _memberships(_text(root / "proc/self/cgroup"))
    found: dict[str, Hierarchy] = {}
    unresolved: list[str] = []
    for mount in mounts:
        for name, own_path in memberships.items():
            if name not in mount.names:
                continue
            hierarchy = _place(mount, own_path, root)
            if hierarchy is None:
                unresolved.append(f"{mount.point} shows {mount.root}, we are in {own_path}")
                continue
            for controller in hierarchy.controllers:
                _prefer(found, controller, hierarchy)
    owners = {name: found[name] for name in CONTROLLERS if name in found}
    return Layout(_kind(mounts), owners, () if "cpu" in owners else tuple(unresolved))


def read_limit(directory: Path, version: int) -> CpuLimit | None:
    """Read the CPU limit of one group; None for unlimited, and at a tree's root (it has none).

    Raises LimitsError when the file holds something else.
    """
    try:
        if version == 2:
            path = directory / "cpu.max"
            return parse_cpu_max(path.read_text(), str(path))
        quota = (directory / "cpu.cfs_quota_us").read_text()
        period = (directory / "cpu.cfs_period_us").read_text()
        return parse_cfs_files(quota, period, str(directory / "cpu.cfs_quota_us"))
    except FileNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class _Mount:
    version: int
    root: PurePosixPath
    point: PurePosixPath
    names: frozenset[str]  # of controllers; version 2 has the one name ""


def _mounts(mountinfo: str) -> Iterator[_Mount]:
    """Parse the control-group mounts in /proc/self/mountinfo (its format: proc(5))."""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        if kind not in ("cgroup", "cgroup2"):
            continue
        root, point = (PurePosixPath(_unescaped(text)) for text in before.split()[3:5])
        names = frozenset({""}) if kind == "cgroup2" else frozenset(options.split()[1].split(","))
        yield _Mount(2 if kind == "cgroup2" else 1, root, point, names)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), text)


def _memberships(cgroup: str) -> dict[str, PurePosixPath]:
    """Map controllers to the path of our group in /proc/self/cgroup; "" stands for version 2."""
    memberships = {}
    for line in cgroup.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            memberships[name] = PurePosixPath(path)
    return memberships


def _place(mount: _Mount, own_path: PurePosixPath, root: Path) -> Hierarchy | None:
    """Find our directory below a mount; None when the mount shows another part of the tree.

    A container that sees the machine's paths has its own group mounted as if it were the root:
    that part of the path must not be counted twice.
    """
    if not own_path.is_relative_to(mount.root) or ".." in own_path.parts:
        return None
    point = root / mount.point.relative_to("/")
    own = point / own_path.relative_to(mount.root)
    if not own.is_dir():
        return None
    names = mount.names if mount.version == 1 else _unified_controllers(point)
    return Hierarchy(mount.version, names & set(CONTROLLERS), point, own)


def _unified_controllers(point: Path) -> frozenset[str]:
    """Tell what version 2 has here: CPU time is counted wherever there is a cpu controller."""
    names = frozenset(_text(point / "cgroup.controllers").split())
    return names | {"cpuacct"} if "cpu" in names else names


def _prefer(found: dict[str, Hierarchy], controller: str, candidate: Hierarchy) -> None:
    """Keep the first tree of a controller, unless a later mount of it is the writable one."""
    known = found.get(controller)
    if known is None or (candidate.writable and not known.writable):
        found[controller] = candidate


def _kind(mounts: list[_Mount]) -> str:
    first = any(mount.names & set(CONTROLLERS) for mount in mounts if mount.version == 1)
    second = any(mount.version == 2 for mount in mounts)
    if first:
        return "hybrid" if second else "v1"
    return "v2" if second else "none"


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""
