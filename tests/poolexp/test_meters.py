"""The meters beside a trial: on trees of other machines, and on this one."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from poolexp.loop_meter import LoopMeter, together
from poolexp.meters import Machine, MachineReading, hiccup_meter, machine_document, suspended_ns

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
STAT = "cpu  100 20 30 9000 7 5 6 44 90 0\ncpu0 50 10 15 4500 3 2 3 22 45 0\n"
V1_MOUNT = "33 25 0:29 / {point} rw - cgroup cgroup rw,cpuacct\n"


def tree(root: Path, *, mounts: str = "", groups: str = "0::/\n") -> Path:
    files = {
        "proc/stat": STAT,
        "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=4321\nfull total=1\n",
        "proc/self/mountinfo": mounts,
        "proc/self/cgroup": groups,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_without_a_counter_in_ns_the_kernel_s_ticks_must_do(tmp_path: Path) -> None:
    machine = Machine(tree(tmp_path))
    reading = machine.read()
    assert machine.source == "/proc/stat"
    # User, nice, system and both kinds of interrupts; guests are within user already.
    assert reading.cpu_ns == (100 + 20 + 30 + 5 + 6) * TICK_NS
    assert reading.steal_ns == 44 * TICK_NS
    assert reading.pressure_us == 4321


@pytest.mark.parametrize("real_root", [True, False])
def test_the_root_of_all_groups_counts_the_machine_a_container_s_does_not(
    tmp_path: Path, real_root: bool
) -> None:
    point = tmp_path / "sys/fs/cgroup/cpuacct"
    point.mkdir(parents=True)
    (point / "cpuacct.usage").write_text("123456789\n")
    if real_root:
        (point / "release_agent").touch()
    mounts = V1_MOUNT.format(point="/sys/fs/cgroup/cpuacct")
    machine = Machine(tree(tmp_path, mounts=mounts, groups="2:cpuacct:/\n"))
    assert (machine.read().cpu_ns == 123_456_789) == real_root


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    reading = Machine(tmp_path).read()
    assert (reading.cpu_ns, reading.steal_ns, reading.pressure_us) == (None, None, None)


@pytest.mark.parametrize(
    ("own", "foreign"), [((100, 250, 50), 600), ((900, 200, 0), 0), ((), None), ((1, None), None)]
)
def test_foreign_is_what_is_not_ours(own: tuple[int | None, ...], foreign: int | None) -> None:
    before = MachineReading(0, 5_000, 10, 7, 0)
    after = MachineReading(2_000, 6_000, 15, None, 0)
    document = machine_document("x", before, after, own)
    assert document["foreign_cpu_ns"] == foreign
    assert (document["between_ns"], document["cpu_ns"], document["steal_ns"]) == (2_000, 1_000, 5)
    assert document["pressure_us"] is None


def test_a_suspend_is_told_from_the_distance_between_two_readings_of_clocks() -> None:
    assert suspended_ns(5_000, 5_800) == 0
    assert suspended_ns(5_000, 4_000) == 0
    assert suspended_ns(0, 3_000_000_000) == 3_000_000_000
    machine = Machine()
    assert suspended_ns(machine.asleep_ns(), machine.asleep_ns()) == 0


async def test_the_hiccup_meter_wakes_on_every_cpu_and_only_within_the_window() -> None:
    async with hiccup_meter(None) as meter:
        start_ns = time.monotonic_ns() + 100_000_000
        await meter.watch(start_ns, start_ns + 200_000_000)
        await asyncio.sleep(0.4)
        reading = await meter.reading()
    assert reading is not None
    assert reading["cpus"] == min(8, len(os.sched_getaffinity(0)))
    most = 200_000_000 // reading["period_ns"] * reading["cpus"]
    # A hiccup swallows the wakes that were due meanwhile.
    assert 0 < reading["wakes"] <= most
    assert reading["late_total_ns"] >= reading["late"] * reading["late_above_ns"]
    assert isinstance(reading["real_time"], bool)


async def test_a_window_that_closes_early_ends_the_hiccup_meter() -> None:
    async with hiccup_meter(None) as meter:
        start_ns = time.monotonic_ns()
        await meter.watch(start_ns, start_ns + 60_000_000_000)
        await asyncio.sleep(0.2)
        reading = await meter.reading()
    assert reading is not None
    assert 0 < reading["wakes"] < 60_000_000_000 // reading["period_ns"]


async def test_a_hiccup_meter_that_is_told_nothing_is_gone_afterwards() -> None:
    async with hiccup_meter(None) as meter:
        process = meter._process
    assert process.returncode is not None


async def test_a_loop_that_stands_still_within_the_window_is_seen() -> None:
    now_ns = time.monotonic_ns()
    with LoopMeter(now_ns, now_ns + 10_000_000_000) as meter:
        await asyncio.sleep(0.1)
        time.sleep(0.1)
        await asyncio.sleep(0.1)
    document = meter.document()
    assert document["beats"] > 2
    assert document["late"] >= 1
    assert document["max_ns"] > 50_000_000


def test_several_loops_are_taken_together() -> None:
    one = {"beats": 10, "late": 1, "late_above_ns": 5, "late_total_ns": 7, "max_ns": 7}
    other = {"beats": 9, "late": 2, "late_above_ns": 5, "late_total_ns": 20, "max_ns": 12}
    both = {"beats": 19, "late": 3, "late_above_ns": 5, "late_total_ns": 27, "max_ns": 12}
    assert together([one, other]) == both


async def test_outside_the_window_nothing_counts() -> None:
    now_ns = time.monotonic_ns()
    with LoopMeter(now_ns + 10_000_000_000, now_ns + 20_000_000_000) as meter:
        await asyncio.sleep(0.05)
        time.sleep(0.1)
        await asyncio.sleep(0.05)
    assert (meter.beats, meter.late, meter.max_ns) == (0, 0, 0)
