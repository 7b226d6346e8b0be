"""Sleepers on one timer: each at its own instant, none early."""

import asyncio
import time

from poolexp.sleepers import Sleepers

NS_PER_MS = 1_000_000


async def test_each_is_woken_at_its_own_instant_and_none_early() -> None:
    origin_ns = time.monotonic_ns()
    woken: list[int] = []

    async def sleep(number: int, at_ns: int) -> None:
        await sleepers.until(at_ns)
        assert time.monotonic_ns() >= at_ns
        woken.append(number)

    with Sleepers() as sleepers:
        # Later ones come first, so that the timer must be armed anew for earlier ones.
        instants = [origin_ns + (30 - number) * NS_PER_MS // 4 for number in range(30)]
        await asyncio.gather(*(sleep(number, at_ns) for number, at_ns in enumerate(instants)))
    assert woken == list(reversed(range(30)))


async def test_an_instant_in_the_past_is_no_sleep() -> None:
    with Sleepers() as sleepers:
        async with asyncio.timeout(5):
            await sleepers.until(0)


async def test_one_that_was_given_up_keeps_no_other_from_waking() -> None:
    with Sleepers() as sleepers:
        given_up = asyncio.ensure_future(sleepers.until(time.monotonic_ns() + 2 * NS_PER_MS))
        other = asyncio.ensure_future(sleepers.until(time.monotonic_ns() + 4 * NS_PER_MS))
        await asyncio.sleep(0)
        given_up.cancel()
        async with asyncio.timeout(5):
            await other


async def test_all_can_be_woken_at_once() -> None:
    with Sleepers() as sleepers:
        far_ns = time.monotonic_ns() + 3600 * 1000 * NS_PER_MS
        sleeping = [asyncio.ensure_future(sleepers.until(far_ns)) for _ in range(3)]
        await asyncio.sleep(0)
        sleepers.wake_all()
        async with asyncio.timeout(5):
            await asyncio.gather(*sleeping)
