import asyncio
import time
from pathlib import Path

import pytest

from poolexp.pacing import SPIN_NS, Pacer, spin_budget_ns

NS_PER_MS = 1_000_000


@pytest.mark.parametrize("spin_ns", [0, SPIN_NS])
async def test_never_wakes_early(spin_ns: int) -> None:
    with Pacer(spin_ns=spin_ns) as pacer:
        origin_ns = time.monotonic_ns()
        for step in range(1, 101):
            at_ns = origin_ns + step * NS_PER_MS
            await pacer.until(at_ns)
            assert time.monotonic_ns() >= at_ns


async def test_an_instant_in_the_past_returns_but_lets_the_loop_turn() -> None:

    turns = 0

    async def other() -> None:
        nonlocal turns
        for _ in range(10):
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    with Pacer(spin_ns=0) as pacer:
        for _ in range(10):
            await pacer.until(1)
    assert turns >= 10, "a late generator must not keep everything else from running"
    await task


async def test_leaves_no_descriptor_behind() -> None:

    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with Pacer(spin_ns=0) as pacer:
            await pacer.until(time.monotonic_ns() + NS_PER_MS)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(
    ("wakes_per_s", "quota_cores", "expected_ns"),
    [
        (200, 0.5, 200_000),  # 4 % of a core: within a quarter of the quota
        (1000, 0.5, 125_000),  # exactly that quarter
        (5000, 0.5, 25_000),
        (10_000, 0.5, 0),  # too short to be worth it
        (1000, None, 200_000),
        (5000, None, 50_000),
    ],
)
def test_the_spin_stays_within_a_quarter_of_the_quota(
    wakes_per_s: float, quota_cores: float | None, expected_ns: int
) -> None:
    budget_ns = spin_budget_ns(wakes_per_s, quota_cores)
    assert budget_ns == expected_ns
    assert budget_ns * wakes_per_s / 1e9 <= 0.25 * (quota_cores or 1) + 1e-9
