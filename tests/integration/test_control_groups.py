"""Control groups as this machine's kernel has them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from poolexp.cgroups import Counters, CpuLimit, Group, Hierarchy, control_groups, layout
from poolexp.cgroups import tree as trees
from poolexp.pinning import confined

BURN = [sys.executable, "-c", "while True: pass"]


def left_over(run: str = "test", pid: int | None = None) -> list[Path]:
    """Directories of a run that this process made, or another one."""
    mine = f"{trees.PREFIX}{run}.*-{pid or os.getpid()}-*"
    return [path for owner in layout().hierarchies() for path in owner.own.glob(mine)]


def membership(pid: int | str = "self") -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


@pytest.fixture
def start() -> Iterator[Callable[[list[str]], "subprocess.Popen[bytes]"]]:
    """Start processes that end with the test, whatever happens."""
    started: list[subprocess.Popen[bytes]] = []

    def run(argv: list[str]) -> "subprocess.Popen[bytes]":
        started.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL))
        return started[-1]

    yield run
    for process in started:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


Start = Callable[[list[str]], "subprocess.Popen[bytes]"]


def measured(group: Group, seconds: float) -> tuple[Counters, Counters]:
    with group.counters() as reader:
        before = reader.read()
        time.sleep(seconds)
        return before, reader.read()


def cores(before: Counters, after: Counters) -> float:
    assert before.cpu_usage_ns is not None
    assert after.cpu_usage_ns is not None
    return (after.cpu_usage_ns - before.cpu_usage_ns) / (after.at_ns - before.at_ns)


def test_a_burn_is_read_back_from_the_counters(groups: dict[str, Group], start: Start) -> None:
    """What the group counts is what the process itself has used, within a few percent."""
    burn = start(groups["generator"].command(BURN))
    time.sleep(0.1)
    with groups["generator"].counters() as reader:
        group_before, process_before = reader.read(), cpu_ns(burn.pid)
        time.sleep(1)
        group_after, process_after = reader.read(), cpu_ns(burn.pid)
    assert group_before.cpu_usage_ns is not None
    assert group_after.cpu_usage_ns is not None
    used_ns = process_after - process_before
    assert used_ns > 0
    assert group_after.cpu_usage_ns - group_before.cpu_usage_ns == pytest.approx(used_ns, rel=0.05)


def test_a_group_that_comes_first_gets_nearly_all_of_a_cpu_that_two_want(
    groups: dict[str, Group], start: Start
) -> None:
    groups["generator"].come_first()
    cpu = [min(os.sched_getaffinity(0))]
    burns = {name: start(confined(groups[name].command(BURN), cpu)) for name in groups}

    def its_share() -> float:
        time.sleep(0.1)
        before = {name: cpu_ns(burn.pid) for name, burn in burns.items()}
        time.sleep(0.7)
        used_ns = {name: cpu_ns(burn.pid) - before[name] for name, burn in burns.items()}
        return used_ns["generator"] / sum(used_ns.values())

    assert its_share() > 0.8
    groups["generator"].come_first(False)
    assert its_share() < 0.6


def cpu_ns(pid: int) -> int:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(int(tick) for tick in ticks) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def test_a_quota_is_in_force_and_can_be_lifted(groups: dict[str, Group], start: Start) -> None:
    group = groups["database"]
    group.set_limit(CpuLimit(0.25))
    assert group.limit_in_force() == CpuLimit(0.25)
    for _ in range(2):
        start(group.command(BURN))
    time.sleep(0.1)
    before, after = measured(group, 1)
    # An upper bound only: how much of its quota a group gets depends on who else is busy here.
    assert cores(before, after) < 0.3
    assert before.nr_throttled is not None
    assert before.throttled_ns is not None
    assert after.nr_throttled is not None
    assert after.throttled_ns is not None
    assert after.nr_throttled > before.nr_throttled
    assert after.throttled_ns > before.throttled_ns

    group.set_limit(None)
    assert group.limit_in_force() is None
    time.sleep(0.1)
    before, after = measured(group, 0.3)
    assert after.nr_throttled == before.nr_throttled


def test_limits_can_be_set_in_any_order(groups: dict[str, Group]) -> None:
    group = groups["database"]
    for limit in (CpuLimit(0.5, 10), CpuLimit(0.1, 1_000), CpuLimit(2, 1), CpuLimit(0.5, 10)):
        group.set_limit(limit)
        assert group.limit_in_force() == limit


def test_a_process_is_born_in_its_group_with_its_children(groups: dict[str, Group]) -> None:
    script = "cat /proc/self/cgroup; (cat /proc/self/cgroup)"
    argv = groups["generator"].command(["sh", "-c", script])
    output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    where = {line for line in output.splitlines() if "/generator" in line}
    assert len(where) == len(layout().hierarchies())
    assert all(output.count(line) == 2 for line in where)


def test_arguments_reach_the_program_untouched(groups: dict[str, Group]) -> None:
    odd = ["--", "$(touch /tmp/no)", "a b", "'", '"', "*", ""]
    argv = [sys.executable, "-c", "import sys; print(sys.argv[1:])", *odd]
    output = subprocess.run(
        groups["generator"].command(argv), capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == repr(odd)


def test_a_program_that_cannot_join_does_not_run(groups: dict[str, Group]) -> None:
    argv = groups["generator"].command(["echo", "ran"])
    gone = [text.replace("/generator", "/gone") for text in argv]
    ended = subprocess.run(gone, capture_output=True, text=True, check=False)
    assert ended.returncode == 126
    assert ended.stdout == ""


def test_memory_is_counted_apart(groups: dict[str, Group], start: Start) -> None:
    script = "import time; block = b'x' * 50_000_000; time.sleep(600)"
    start(groups["generator"].command([sys.executable, "-c", script]))
    with groups["generator"].counters() as reader:
        deadline = time.monotonic() + 20
        while (reader.read().memory_anon_bytes or 0) < 50_000_000:
            if reader.read().memory_bytes is None:
                pytest.skip("this machine has no memory controller")
            assert time.monotonic() < deadline, reader.read()
            time.sleep(0.05)
        now = reader.read()
    assert now.memory_bytes is not None
    assert now.memory_anon_bytes is not None
    assert now.memory_bytes >= now.memory_anon_bytes


@pytest.mark.usefixtures("groups_allowed")
def test_at_the_end_the_harness_comes_home_and_the_others_are_killed(start: Start) -> None:
    home = membership()
    with control_groups("test", ["database", "harness"]) as groups:
        groups["harness"].adopt(os.getpid())
        assert os.getpid() in groups["harness"].processes()
        assert membership() != home
        friend = start(["sleep", "600"])
        measured_one = start(groups["database"].command(["sleep", "600"]))
        while membership(measured_one.pid).count("/database") < len(layout().hierarchies()):
            assert measured_one.poll() is None
            time.sleep(0.01)
        assert friend.pid in groups["harness"].processes(), "a child is born where its parent is"
    assert membership() == home
    assert membership(friend.pid) == home
    assert friend.poll() is None
    assert measured_one.wait(5) == -signal.SIGKILL
    assert left_over() == []


@pytest.mark.usefixtures("groups_allowed")
def test_nothing_is_left_when_the_run_breaks_off() -> None:
    with pytest.raises(KeyError), control_groups("test", ["database"]) as groups:
        groups["no such group"]
    assert left_over() == []


@pytest.fixture
def scope() -> Iterator[Hierarchy]:
    """A group of version 2 as a user session gets it: one directory, and a controller."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [Path(line.split()[4]) for line in mounts if " - cgroup2 " in line]
    (path,) = [line[3:] for line in membership().splitlines() if line.startswith("0::")] or ["/"]
    above = points[0] / path.lstrip("/") if points else Path("/nowhere")
    given = above / "cgroup.controllers"
    controllers = set(given.read_text().split()) & {"hugetlb", "memory"} if given.exists() else {}
    if not controllers or not os.access(above, os.W_OK):
        pytest.skip("this machine has no version 2 with a controller that we could hand down")
    control = above / "cgroup.subtree_control"
    new = set(controllers) - set(control.read_text().split())
    try:
        trees.hand_down(above, set(controllers))
    except OSError as error:
        pytest.skip(f"the group of this process cannot hand down: {error}")
    directory = above / f"test-scope-{os.getpid()}"
    directory.mkdir()
    yield Hierarchy(2, frozenset(controllers), directory, directory)
    directory.rmdir()
    for name in new:
        trees.write(control, f"-{name}")


def test_version_2_makes_room_in_a_group_that_holds_processes(
    scope: Hierarchy, start: Start
) -> None:
    """Only a group without processes may hand controllers down: ours move aside, and back."""
    bystander = start(["sleep", "600"])
    trees.move(bystander.pid, scope.own)
    tree = trees.create(scope, f"{trees.PREFIX}test.{os.getpid()}", ["database", "harness"])
    assert trees.processes(scope.own) == []
    assert trees.processes(tree.leaf(trees.BYSTANDERS)) == [bystander.pid]
    for name in scope.controllers:
        assert name in (tree.leaf("database") / "cgroup.controllers").read_text().split()

    killed, kept = start(["sleep", "600"]), start(["sleep", "600"])
    trees.move(killed.pid, tree.leaf("database"))
    trees.move(kept.pid, tree.leaf("harness"))
    assert trees.remove(tree, spare={"harness", trees.BYSTANDERS}) == []
    assert sorted(trees.processes(scope.own)) == sorted([bystander.pid, kept.pid])
    assert killed.wait(5) == -signal.SIGKILL
    assert (scope.own / "cgroup.subtree_control").read_text().split() == []
    assert not tree.path.exists()
    for process in (bystander, kept):
        process.kill()
        process.wait()


KILLED_RUN = """
import os, subprocess, sys
from poolexp.cgroups import control_groups
with control_groups("test-killed", ["database", "harness"]) as groups:
    orphan = subprocess.Popen(groups["database"].command(["sleep", "600"]),
                              stdout=subprocess.DEVNULL)
    print(orphan.pid, flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_run_left_is_removed_by_the_next(groups: dict[str, Group]) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", KILLED_RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert run.stdin is not None
    assert run.stdout is not None
    with run.stdin, run.stdout:
        orphan = int(run.stdout.readline())
        assert left_over("test-killed", run.pid)
        with control_groups("test-next", ["database"]):
            assert Path(f"/proc/{orphan}").exists(), "a run that lives is left alone"
        run.kill()
        run.wait()
    assert left_over("test-killed", run.pid)
    with control_groups("test-next", ["database"]):
        assert not left_over("test-killed", run.pid)
    assert not left_over("test-next")
    assert groups["database"].processes() == []
