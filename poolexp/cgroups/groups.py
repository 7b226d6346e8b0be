"""One run's control groups: processes are born in them, limited by them, counted in them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from poolexp import ownership
from poolexp.cgroups import tree as trees
from poolexp.cgroups.counters import CounterReader, Directory
from poolexp.cgroups.layout import Hierarchy, Layout, layout, read_limit
from poolexp.cgroups.limit import CpuLimit
from poolexp.errors import LimitsError
from poolexp.privileges import User, run_as

_log = logging.getLogger(__name__)

# Of every second and CPU: plenty for a meter, and no danger to the machine.
_REAL_TIME_US = 100_000

# How often the weight of an ordinary group one that comes first has.
_PRECEDENCE = 64

# The group whose processes outlive the groups: the flow itself, and what it started.
HARNESS = "harness"

# The shell joins every directory and then becomes the program, so the program and all its
# children are counted from their first instruction. Paths come as arguments, never as shell text.
_BORN_INSIDE = """\
while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 126; shift; done
shift
exec "$@"
"""


class Group:
    """One control group; in version 1 that is one directory for each controller."""

    def __init__(self, name: str, directories: Mapping[str, Directory]) -> None:
        self.name = name
        self._directories = directories

    def __repr__(self) -> str:
        return f"Group({self.name!r}, {[str(path) for path in self._paths()]})"

    def _paths(self) -> list[Path]:
        return list(dict.fromkeys(each.path for each in self._directories.values()))

    def command(
        self, argv: Sequence[str], *, user: User | None = None, end_with_parent: str = ""
    ) -> list[str]:
        """Wrap `argv` so that the process is born in this group.

        With `user` it gives up all rights after it has joined; see `privileges.run_as` for
        `end_with_parent`. The program exits with 126 when it cannot join.
        """
        program = run_as(argv, user, end_with_parent=end_with_parent)
        places = [str(path) for path in self._paths()]
        return ["/bin/sh", "-c", _BORN_INSIDE, self.name, *places, "--", *program]

    def set_limit(self, limit: CpuLimit | None) -> None:
        """Put a CPU limit in force, or lift it with None.

        Raises LimitsError when the kernel refuses, for instance because a group above is tighter.
        """
        directory = self._directories["cpu"]
        try:
            if directory.version == 2:
                trees.write(directory.path / "cpu.max", _cpu_max(limit))
            else:
                _set_cfs(directory.path, limit)
        except OSError as error:
            raise trees.refusal(error, directory.version) from error

    def limit_in_force(self) -> CpuLimit | None:
        """Read the CPU limit back from the kernel; None when there is none."""
        directory = self._directories["cpu"]
        return read_limit(directory.path, directory.version)

    def counters(self) -> CounterReader:
        """Make a reader of this group's counters, a context manager."""
        return CounterReader(self._directories)

    def adopt(self, pid: int) -> None:
        """Move a running process here, all its threads with it. Raises LimitsError."""
        try:
            for path in self._paths():
                trees.move(pid, path)
        except OSError as error:
            raise trees.refusal(error, self._directories["cpu"].version) from error

    def come_first(self, wanted: bool = True) -> None:
        """Let this group come first where the groups of a run compete for a CPU, or not.

        The kernel wakes the receiver of a local message on the sender's CPU, where it takes over at
        once if both have the same weight. A generator that has just sent would so stand still for
        as long as the server works. Raises LimitsError when the kernel refuses.
        """
        directory = self._directories["cpu"]
        name, ordinary = ("cpu.weight", 100) if directory.version == 2 else ("cpu.shares", 1024)
        try:
            trees.write(directory.path / name, str(ordinary * (_PRECEDENCE if wanted else 1)))
        except OSError as error:
            raise trees.refusal(error, directory.version) from error

    def allow_real_time(self) -> None:
        """Let processes of this group take real-time priority, as far as the kernel has a say.

        Version 1 can ration it: a new group then has none until its parent and it are given some.
        Nothing happens where that is refused; whoever asks for the priority will be told.
        """
        directory = self._directories["cpu"]
        for path in (directory.path.parent, directory.path):
            with suppress(OSError):
                trees.write(path / "cpu.rt_runtime_us", str(_REAL_TIME_US))

    def processes(self) -> list[int]:
        """List the ids of the processes that are in this group now."""
        return trees.processes(self._directories["cpu"].path)


def _cpu_max(limit: CpuLimit | None) -> str:
    return f"{limit.quota_us} {limit.period_us}" if limit else "max"


def _set_cfs(directory: Path, limit: CpuLimit | None) -> None:
    # Lifted first: the kernel checks each of the two numbers against the other as it is written.
    trees.write(directory / "cpu.cfs_quota_us", "-1")
    if limit is not None:
        trees.write(directory / "cpu.cfs_period_us", str(limit.period_us))
        trees.write(directory / "cpu.cfs_quota_us", str(limit.quota_us))


@contextmanager
def control_groups(
    run_id: str, names: Sequence[str], *, root: Path = Path("/")
) -> Iterator[dict[str, Group]]:
    """Make the groups `names` for a run, and remove them afterwards.

    What runs that were killed left behind is removed first. At the end, processes of the
    `harness` group go back to where this process was before, those of other groups are killed;
    a directory that still cannot be removed is logged. Raises LimitsError, saying why and what to
    do, where groups cannot be made or have no cpu controller.
    """
    _sweep(layout(root))
    found = layout(root)  # again: a run that was killed may have held us in its own groups
    _require_cpu(found)
    directory = f"{trees.PREFIX}{run_id}.{ownership.mark()}"
    with ExitStack() as undo:
        made: dict[Hierarchy, trees.Tree] = {}
        for hierarchy in found.hierarchies():
            made[hierarchy] = tree = trees.create(hierarchy, directory, names)
            undo.callback(_remove, tree)
        yield {name: Group(name, _directories(found, made, name)) for name in names}


def _directories(
    found: Layout, made: Mapping[Hierarchy, trees.Tree], name: str
) -> dict[str, Directory]:
    return {
        controller: Directory(owner.version, made[owner].leaf(name))
        for controller, owner in found.owners.items()
    }


def _require_cpu(found: Layout) -> None:
    if "cpu" in found.owners:
        return
    if found.unresolved:
        raise LimitsError(
            "cannot tell which control group this process is in: " + "; ".join(found.unresolved),
            "Mount the control groups of this namespace (docker run --cgroupns=private).",
        )
    raise LimitsError(
        "this system has no control groups with a cpu controller",
        "CPU limits need Linux with /sys/fs/cgroup mounted; --limits off runs without them.",
    )


def _remove(tree: trees.Tree) -> None:
    _warn_about(trees.remove(tree, spare={HARNESS, trees.BYSTANDERS}))


def _sweep(found: Layout) -> None:
    for hierarchy in found.hierarchies():
        _warn_about(trees.sweep(hierarchy))


def _warn_about(left: Sequence[str]) -> None:
    for directory in left:
        _log.warning("A control group could not be removed: %s", directory)
