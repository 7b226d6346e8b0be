from pathlib import Path

import pytest

from poolexp.cgroups import CounterReader
from poolexp.cgroups.counters import Directory

V2_CPU_STAT = """\
usage_usec 1500000
user_usec 1000000
system_usec 500000
nr_periods 120
nr_throttled 30
throttled_usec 250000
nr_bursts 0
burst_usec 0
"""
V2_MEMORY_STAT = "anon 1000\nfile 5000\nkernel 700\nshmem 3000\nfile_mapped 10\n"
PRESSURE = (
    "some avg10=1.50 avg60=0.40 avg300=0.10 total=98765\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=4321\n"
)


@pytest.fixture
def unified(tmp_path: Path) -> Path:
    for name, text in {
        "cpu.stat": V2_CPU_STAT,
        "cpu.pressure": PRESSURE,
        "memory.current": "9700\n",
        "memory.stat": V2_MEMORY_STAT,
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def reader(version: int, path: Path, *controllers: str) -> CounterReader:
    return CounterReader({name: Directory(version, path) for name in controllers})


def test_version_2_counts_in_microseconds_and_we_in_nanoseconds(unified: Path) -> None:
    with reader(2, unified, "cpu", "cpuacct", "memory") as counters:
        now = counters.read()
    assert (now.cpu_usage_ns, now.throttled_ns) == (1_500_000_000, 250_000_000)
    assert (now.nr_periods, now.nr_throttled) == (120, 30)
    assert now.pressure_us == 98_765


def test_memory_stands_apart_and_shared_memory_is_counted_once(unified: Path) -> None:
    with reader(2, unified, "cpu", "memory") as counters:
        now = counters.read()
    assert now.memory_bytes == 9_700
    assert now.memory_anon_bytes == 1_000
    assert now.memory_shmem_bytes == 3_000
    assert now.memory_file_bytes == 2_000, "the kernel's 5,000 include the shared 3,000"


def test_version_1_counts_in_nanoseconds_already(tmp_path: Path) -> None:
    (tmp_path / "cpuacct.usage").write_text("1500000001\n")
    (tmp_path / "cpu.stat").write_text("nr_periods 12\nnr_throttled 3\nthrottled_time 77\n")
    (tmp_path / "memory.usage_in_bytes").write_text("4096\n")
    (tmp_path / "memory.stat").write_text("cache 600\nrss 1000\nshmem 200\ntotal_rss 99\n")
    with reader(1, tmp_path, "cpu", "cpuacct", "memory") as counters:
        now = counters.read()
    assert (now.cpu_usage_ns, now.throttled_ns) == (1_500_000_001, 77)
    assert (now.memory_bytes, now.memory_anon_bytes, now.memory_file_bytes) == (4_096, 1_000, 400)
    assert now.pressure_us is None


def test_what_the_kernel_does_not_count_is_none_and_not_zero(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 5\n")
    with reader(2, tmp_path, "cpu", "cpuacct") as counters:
        now = counters.read()
    assert now.cpu_usage_ns == 5_000
    assert now.nr_periods is None
    assert now.throttled_ns is None
    assert now.memory_bytes is None
    assert now.memory_file_bytes is None
    assert now.pressure_us is None


def test_files_are_read_afresh_each_time(unified: Path) -> None:
    with reader(2, unified, "cpu", "cpuacct") as counters:
        before = counters.read()
        (unified / "cpu.stat").write_text(V2_CPU_STAT.replace("1500000", "1700000"))
        after = counters.read()
    assert before.cpu_usage_ns is not None
    assert after.cpu_usage_ns == before.cpu_usage_ns + 200_000_000
    assert after.at_ns > before.at_ns
