"""The directories of one run in one hierarchy: made, emptied, removed.

    <parent>/poolexp-<run>.<mark of the process that made it>/<group>

Version 2 has a rule that shapes this: a group that holds processes cannot hand controllers down
to its children (only the root of all groups can). Where our own group is all we were given, its
processes therefore move into a group beside ours, `bystanders`, for as long as the run lasts.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from poolexp import ownership
from poolexp.cgroups.layout import Hierarchy
from poolexp.errors import LimitsError

PREFIX = "poolexp-"
BYSTANDERS = "bystanders"

# A group whose last process was just killed stays busy until the kernel has buried it.
_PATIENCE_S = 3.0
_PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Tree:
    """One run's directories in one hierarchy; `home` is where its processes came from."""

    version: int
    path: Path
    home: Path

    def leaf(self, name: str) -> Path:
        """Name the directory of one group."""
        return self.path / name


def create(hierarchy: Hierarchy, name: str, leaves: Sequence[str]) -> Tree:
    """Make a run's directories, ready for processes. Raises LimitsError with what is in the way.

    What was made before something failed is removed again.
    """
    refused: list[OSError] = []
    for parent in _parents(hierarchy):
        tree = Tree(hierarchy.version, parent / name, hierarchy.own)
        try:
            _make(tree, hierarchy.controllers, leaves)
        except OSError as error:
            refused.append(error)
            remove(tree, spare={*leaves, BYSTANDERS})
        else:
            return tree
    raise refusal(refused[0], hierarchy.version)


def _parents(hierarchy: Hierarchy) -> list[Path]:
    """Where to try: whoever may write at the root of all groups disturbs nobody there.

    Everybody else has only the own group, with what the system handed down to it.
    """
    top, own = hierarchy.mount_point, hierarchy.own
    is_root_of_all = hierarchy.version == 2 and not (top / "cgroup.type").exists()
    return [top, own] if is_root_of_all and top != own and os.access(top, os.W_OK) else [own]


def _make(tree: Tree, controllers: Iterable[str], leaves: Sequence[str]) -> None:
    tree.path.mkdir()
    if tree.version == 2:
        wanted = set(controllers) - {"cpuacct"}
        try:
            hand_down(tree.path.parent, wanted)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            _evacuate(tree)
            hand_down(tree.path.parent, wanted)
        hand_down(tree.path, wanted)
    for leaf in leaves:
        tree.leaf(leaf).mkdir()


def hand_down(directory: Path, controllers: set[str]) -> None:
    """Let the children of a version 2 group use `controllers` (those that it does not lack).

    Raises OSError, EBUSY where the group holds processes, ENODEV where cpu was not given to it.
    """
    given = set((directory / "cgroup.controllers").read_text().split())
    if "cpu" in controllers - given:
        raise OSError(errno.ENODEV, "it was given no cpu controller", str(directory))
    control = directory / "cgroup.subtree_control"
    missing = (controllers & given) - set(control.read_text().split())
    if missing:
        write(control, " ".join(f"+{name}" for name in sorted(missing)))


def _evacuate(tree: Tree) -> None:
    shelter = tree.leaf(BYSTANDERS)
    shelter.mkdir()
    _move_all(tree.path.parent, shelter)


def remove(tree: Tree, *, spare: Iterable[str]) -> list[str]:
    """Empty and remove a run's directories; returns what could not be removed, and why.

    Processes in the `spare` groups, and this process wherever it is, go back to where they came
    from; all others are killed.
    """
    if not tree.path.exists():
        return []
    deadline = time.monotonic() + _PATIENCE_S
    evacuated = tree.leaf(BYSTANDERS).exists()
    _kill_all((leaf for leaf in _leaves(tree) if leaf.name not in spare), deadline)
    if tree.version == 2:
        _take_back(tree.path)
        # At the root of all groups it stays: somebody else may have come to rely on it.
        if evacuated:
            _take_back(tree.path.parent)
    for leaf in _leaves(tree):
        with suppress(OSError):  # what cannot be moved shows when the directory cannot be removed
            _move_all(leaf, tree.path.parent if evacuated else tree.home)
    return [
        f"{directory}: {error.strerror}"
        for directory in (*_leaves(tree), tree.path)
        if (error := _remove_directory(directory, deadline)) is not None
    ]


def sweep(hierarchy: Hierarchy) -> list[str]:
    """Remove what runs left here that were killed; returns what could not be removed."""
    places = dict.fromkeys((*_parents(hierarchy), *hierarchy.ancestors()))
    left: list[str] = []
    for place in places:
        for path in sorted(place.glob(f"{PREFIX}*")):
            if ownership.is_abandoned(path.name.rpartition(".")[2]):
                tree = Tree(hierarchy.version, path, home=place)
                left += remove(tree, spare={BYSTANDERS})
    return left


def processes(directory: Path) -> list[int]:
    """List the processes in one group; none when it is gone."""
    try:
        return [int(pid) for pid in (directory / "cgroup.procs").read_text().split()]
    except (FileNotFoundError, OSError) as error:
        if isinstance(error, FileNotFoundError) or error.errno == errno.ENODEV:
            return []
        raise


def write(path: Path, text: str) -> None:
    """Write the whole text to a kernel file at once; raises OSError that names the file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(descriptor)


def move(pid: int, directory: Path) -> None:
    """Move one process; one that has ended meanwhile is no error."""
    try:
        write(directory / "cgroup.procs", str(pid))
    except ProcessLookupError:
        return


def _move_all(source: Path, target: Path) -> None:
    # Processes fork while they are moved, so look again until none is left, but not for ever.
    for _ in range(100):
        pids = processes(source)
        if not pids:
            return
        for pid in pids:
            move(pid, target)


def _kill_all(leaves: Iterable[Path], deadline: float) -> None:
    protected = _ourselves()
    for leaf in leaves:
        while (doomed := set(processes(leaf)) - protected) and time.monotonic() < deadline:
            for pid in doomed:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_PAUSE_S)


def _ourselves() -> set[int]:
    """List this process and those it descends from, which a clean-up must never kill."""
    chain = set()
    pid = os.getpid()
    while pid > 0 and pid not in chain:
        chain.add(pid)
        stat = Path("/proc", str(pid), "stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])
    return chain


def _take_back(directory: Path) -> None:
    """Undo `hand_down`: afterwards the group can hold processes again."""
    with suppress(OSError):
        given = (directory / "cgroup.subtree_control").read_text().split()
        if given:
            write(directory / "cgroup.subtree_control", " ".join(f"-{name}" for name in given))


def _leaves(tree: Tree) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from sorted(path for path in tree.path.iterdir() if path.is_dir())


def _remove_directory(directory: Path, deadline: float) -> OSError | None:
    while True:
        try:
            directory.rmdir()
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() >= deadline:
                return error
            time.sleep(_PAUSE_S)
        else:
            return None


# Version 1 hands nothing down to ordinary users.
_AS_ROOT = "Run poolexp as root."
_AS_ROOT_OR_IN_A_SCOPE = (
    "Run poolexp as root, or in a scope of your own: "
    "systemd-run --user --scope -p Delegate=yes poolexp run"
)
_REMEDIES = {
    errno.EROFS: "In a container, mount the control groups writable "
    "(docker run --privileged, or --cgroupns=private with /sys/fs/cgroup mounted rw).",
    errno.EBUSY: "Start poolexp in a scope of its own: "
    "systemd-run --user --scope -p Delegate=yes poolexp run",
    errno.ENODEV: "Hand the cpu controller down to this group "
    "(systemd: Delegate=cpu memory; else +cpu in the cgroup.subtree_control above it).",
    errno.EINVAL: "A group above allows less CPU than that: ask for less, or lift its limit.",
}


def refusal(error: OSError, version: int) -> LimitsError:
    """Put what the kernel said into a refusal: where, why, and what to do."""
    remedy = _REMEDIES.get(error.errno or 0, "To measure without limits, say --limits off.")
    if error.errno in (errno.EACCES, errno.EPERM):
        remedy = _AS_ROOT if version == 1 else _AS_ROOT_OR_IN_A_SCOPE
    return LimitsError(f"cannot use control groups: {error.filename}: {error.strerror}", remedy)
