import gzip
import json
import os
import platform
from pathlib import Path

import pytest

from poolexp.host import host_facts, host_key

CPUINFO = "processor\t: 0\nmodel name\t: Fast CPU 9000 @ 5 GHz\nflags\t\t: fpu sse hypervisor\n"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Another machine, as far as it shows itself in files."""
    for name, text in {
        "proc/cpuinfo": CPUINFO,
        "proc/meminfo": "MemFree: 1 kB\nMemTotal:        8192 kB\n",
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        "sys/devices/system/cpu/smt/active": "1\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "proc/sys/kernel/sched_cfs_bandwidth_slice_us": "5000\n",
        "etc/machine-id": "0123456789abcdef\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ_250=y\nCONFIG_HZ=250\n"))
    return tmp_path


def test_the_facts_of_a_machine_are_read(elsewhere: Path) -> None:
    facts = host_facts(elsewhere)
    assert facts["cpu_model"] == "Fast CPU 9000 @ 5 GHz"
    assert facts["memory_bytes"] == 8 * 2**20
    assert facts["virtualised"] is True
    assert facts["smt_active"] is True
    assert facts["cpu_governor"] == "performance"
    assert facts["clock_source"] == "tsc"
    assert facts["transparent_huge_pages"] == "madvise"
    assert facts["sched_cfs_bandwidth_slice_us"] == 5_000
    assert facts["kernel_tick_hz"] == 250
    assert facts["cgroup_layout"] == "v2"
    assert facts["cgroups"]["controllers"]["cpu"]["version"] == 2


def test_a_kernel_built_by_a_distribution_tells_its_tick(elsewhere: Path) -> None:
    (elsewhere / "proc/config.gz").unlink()
    (elsewhere / "boot").mkdir()
    (elsewhere / f"boot/config-{platform.release()}").write_text("CONFIG_HZ=1000\n")
    assert host_facts(elsewhere)["kernel_tick_hz"] == 1_000


def test_what_cannot_be_read_is_none_and_no_failure(tmp_path: Path) -> None:
    facts = host_facts(tmp_path)
    unknown = ("memory_bytes", "smt_active", "cpu_governor", "clock_source", "kernel_tick_hz")
    assert [facts[name] for name in unknown] == [None] * len(unknown)
    assert facts["cgroup_layout"] == "none"


def test_a_damaged_kernel_configuration_is_no_failure(elsewhere: Path) -> None:
    (elsewhere / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=250\n")[:-6])
    assert host_facts(elsewhere)["kernel_tick_hz"] is None


def test_this_machine_can_be_recorded_as_json() -> None:
    facts = host_facts()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["cpu_count"] == os.cpu_count()
    assert facts["memory_bytes"] > 2**26
    assert facts["versions"]["python"] == platform.python_version()
    assert facts["versions"]["asyncpg"].startswith("0.32")


def test_the_key_stays_the_same_and_tells_machines_apart(elsewhere: Path) -> None:
    key = host_key(elsewhere)
    assert key == host_key(elsewhere) == host_facts(elsewhere)["host_key"]
    (elsewhere / "proc/cpuinfo").write_text(CPUINFO.replace("9000", "9001"))
    other_cpu = host_key(elsewhere)
    (elsewhere / "proc/cpuinfo").write_text(CPUINFO)
    (elsewhere / "etc/machine-id").write_text("fedcba9876543210\n")
    assert len({key, other_cpu, host_key(elsewhere)}) == 3


def test_the_key_does_not_give_the_machine_id_away(elsewhere: Path) -> None:
    assert "0123456789abcdef" not in json.dumps(host_facts(elsewhere))
