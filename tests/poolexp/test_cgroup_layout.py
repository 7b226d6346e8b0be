"""Trees of other machines, built as files: where do we stand, and what limits us there."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from poolexp.cgroups import control_groups, layout
from poolexp.errors import LimitsError

V2_MOUNT = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"


def v1_mount(controllers: str, root: str = "/") -> str:
    return (
        f"31 30 0:27 {root} /sys/fs/cgroup/{controllers} rw,relatime shared:9 "
        f"- cgroup cgroup rw,{controllers}"
    )


def machine(root: Path, mounts: list[str], memberships: list[str]) -> Path:
    """Write what the kernel would tell a process about its control groups."""
    own = root / "proc/self"
    own.mkdir(parents=True)
    (own / "mountinfo").write_text("".join(f"{line}\n" for line in mounts))
    (own / "cgroup").write_text("".join(f"{line}\n" for line in memberships))
    return root


def group(root: Path, path: str, files: Mapping[str, str] | None = None) -> Path:
    directory = root / "sys/fs/cgroup" / path
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in (files or {}).items():
        (directory / name).write_text(text)
    return directory


def owners(root: Path) -> dict[str, tuple[int, Path]]:
    return {name: (owner.version, owner.own) for name, owner in layout(root).owners.items()}


def test_version_1_with_two_controllers_mounted_together(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        [v1_mount("cpu,cpuacct"), v1_mount("memory")],
        ["4:memory:/user", "2:cpu,cpuacct:/", "1:name=systemd:/init.scope"],
    )
    cpu, memory = group(root, "cpu,cpuacct"), group(root, "memory/user")
    assert layout(root).kind == "v1"
    assert owners(root) == {"cpu": (1, cpu), "cpuacct": (1, cpu), "memory": (1, memory)}
    assert len(layout(root).hierarchies()) == 2


def test_version_1_with_every_controller_apart(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        [v1_mount("cpu"), v1_mount("cpuacct"), v1_mount("memory")],
        ["3:memory:/", "2:cpuacct:/other", "1:cpu:/"],
    )
    cpu, cpuacct, memory = (group(root, name) for name in ("cpu", "cpuacct/other", "memory"))
    assert owners(root) == {"cpu": (1, cpu), "cpuacct": (1, cpuacct), "memory": (1, memory)}


def test_hybrid_reads_each_counter_from_the_tree_that_owns_it(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        [
            v1_mount("cpu,cpuacct"),
            "32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
        ],
        ["2:cpu,cpuacct:/", "0::/user.slice"],
    )
    cpu = group(root, "cpu,cpuacct")
    group(root, "unified", {"cgroup.controllers": "memory hugetlb\n"})
    memory = group(root, "unified/user.slice", {"cgroup.controllers": "memory\n"})
    assert layout(root).kind == "hybrid"
    assert owners(root) == {"cpu": (1, cpu), "cpuacct": (1, cpu), "memory": (2, memory)}


def test_version_2_at_its_root(tmp_path: Path) -> None:
    root = machine(tmp_path, [V2_MOUNT.format(root="/")], ["0::/"])
    top = group(root, "", {"cgroup.controllers": "cpuset cpu io memory pids\n"})
    assert layout(root).kind == "v2"
    assert owners(root) == dict.fromkeys(("cpu", "cpuacct", "memory"), (2, top))
    assert layout(root).tightest_limit() is None, "the root has no cpu.max, and no limit"


def test_version_2_in_a_scope_that_was_delegated(tmp_path: Path) -> None:
    scope = "user.slice/user-1000.slice/user@1000.service/app.slice/run-7.scope"
    root = machine(tmp_path, [V2_MOUNT.format(root="/")], [f"0::/{scope}"])
    group(root, "", {"cgroup.controllers": "cpu memory\n"})
    own = group(root, scope, {"cgroup.controllers": "cpu memory\n", "cpu.max": "max 100000\n"})
    assert owners(root)["cpu"] == (2, own)


@pytest.mark.parametrize(("root_of_mount", "path"), [("/docker/ab12", "/docker/ab12"), ("/", "/")])
def test_a_container_stands_at_the_root_of_its_mount(
    tmp_path: Path, root_of_mount: str, path: str
) -> None:
    root = machine(tmp_path, [V2_MOUNT.format(root=root_of_mount)], [f"0::{path}"])
    top = group(root, "", {"cgroup.controllers": "cpu memory\n", "cgroup.type": "domain\n"})
    assert owners(root)["cpu"] == (2, top)


def test_a_container_in_a_container_counts_the_outer_path_once(tmp_path: Path) -> None:
    outer = "/kubepods/pod7/outer"
    root = machine(
        tmp_path, [v1_mount("cpu", outer)], [f"1:cpu:{outer}/docker/inner", "0::/elsewhere"]
    )
    own = group(root, "cpu/docker/inner")
    group(root, "cpu")
    assert owners(root) == {"cpu": (1, own)}


@pytest.mark.parametrize("path", ["/elsewhere", "/docker/ab12/../../host", "/docker/gone"])
def test_a_group_outside_of_what_is_mounted_is_refused(tmp_path: Path, path: str) -> None:
    root = machine(tmp_path, [V2_MOUNT.format(root="/docker")], [f"0::{path}"])
    group(root, "", {"cgroup.controllers": "cpu memory\n"})
    assert layout(root).owners == {}
    with (
        pytest.raises(LimitsError, match="which control group this process is in") as refused,
        control_groups("run", ["database"], root=root),
    ):
        pass
    assert path in refused.value.message
    assert refused.value.remedy


def test_a_mount_point_with_a_space_in_its_name(tmp_path: Path) -> None:
    mount = "31 30 0:27 / /sys/fs/cgroup/of\\040cpu rw - cgroup cgroup rw,cpu"
    root = machine(tmp_path, [mount], ["1:cpu:/"])
    own = group(root, "of cpu")
    assert owners(root) == {"cpu": (1, own)}


def test_no_control_groups_at_all(tmp_path: Path) -> None:
    root = machine(tmp_path, ["1 0 8:1 / / rw - ext4 /dev/sda rw"], [])
    assert layout(root).kind == "none"
    with (
        pytest.raises(LimitsError, match="no control groups with a cpu controller"),
        control_groups("run", ["database"], root=root),
    ):
        pass


def test_version_2_without_the_cpu_controller_is_refused(tmp_path: Path) -> None:
    root = machine(tmp_path, [V2_MOUNT.format(root="/")], ["0::/"])
    group(root, "", {"cgroup.controllers": "memory pids\n"})
    with (
        pytest.raises(LimitsError, match="no control groups with a cpu controller"),
        control_groups("run", ["database"], root=root),
    ):
        pass


def test_a_scope_without_the_cpu_controller_is_refused_with_the_remedy(tmp_path: Path) -> None:
    root = machine(tmp_path, [V2_MOUNT.format(root="/")], ["0::/session-3.scope"])
    group(root, "", {"cgroup.controllers": "cpu memory\n", "cgroup.type": "domain\n"})
    scope = group(
        root,
        "session-3.scope",
        {"cgroup.controllers": "memory\n", "cgroup.subtree_control": "", "cgroup.procs": ""},
    )
    with (
        pytest.raises(LimitsError, match="no cpu controller") as refused,
        control_groups("run", ["database"], root=root),
    ):
        pass
    assert str(scope) in refused.value.message
    assert "Delegate" in refused.value.remedy
    assert not list(scope.glob("poolexp-*")), "nothing half-made stays"


@pytest.mark.parametrize(
    ("own_max", "above_max", "cores"),
    [
        ("max 100000", "max 100000", None),
        ("max 100000", "150000 100000", 1.5),
        ("50000 100000", "150000 100000", 0.5),
        ("200000 100000", "150000 100000", 1.5),
    ],
)
def test_a_tighter_limit_above_us_is_seen(
    tmp_path: Path, own_max: str, above_max: str, cores: float | None
) -> None:
    root = machine(tmp_path, [V2_MOUNT.format(root="/")], ["0::/slice/own"])
    group(root, "", {"cgroup.controllers": "cpu memory\n"})
    group(root, "slice", {"cpu.max": f"{above_max}\n"})
    group(root, "slice/own", {"cpu.max": f"{own_max}\n"})
    assert layout(root).facts()["limit_above_cores"] == cores


def test_a_limit_that_cannot_be_understood_is_a_fact_and_no_crash(tmp_path: Path) -> None:
    root = machine(tmp_path, [V2_MOUNT.format(root="/")], ["0::/own"])
    group(root, "", {"cgroup.controllers": "cpu memory\n"})
    own = group(root, "own", {"cpu.max": ""})
    with pytest.raises(LimitsError, match=str(own)):
        layout(root).tightest_limit()
    facts = layout(root).facts()
    assert facts["limit_above_cores"] is None
    assert any(str(own) in text for text in facts["unresolved"])


def test_this_machine_is_understood() -> None:
    """Whatever this machine is: the kernel itself says that we are where we say we are."""
    assert sys.platform == "linux"
    for owner in layout().hierarchies():
        members = (owner.own / "cgroup.procs").read_text().split()
        assert str(os.getpid()) in members
