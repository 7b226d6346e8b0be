"""Wake a coroutine at a planned instant.

A timer of the kernel's wakes the process. What is left, the kernel's and the scheduler's latency,
is bridged by looking at the clock in a loop that still serves every other event: the last stretch
of the wait is spun, as long as the CPU quota can pay for it.
"""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self

from poolexp.timer import Timer

SPIN_NS = 200_000
"""How long before the planned instant the timer goes off, at most."""

SPIN_SHARE = 0.25
"""The part of the quota that spinning may use."""

_LEAST_SPIN_NS = 20_000
_NS_PER_S = 1_000_000_000


def spin_budget_ns(wakes_per_s: float, quota_cores: float | None) -> int:
    """How long the last stretch of each wait may be spun within a share of the quota, in ns.

    Zero where the rate is so high, or the quota so small, that spinning would throttle the
    generator and make every request late.
    """
    affordable = SPIN_SHARE * (quota_cores or 1.0) * _NS_PER_S / wakes_per_s
    spin_ns = min(SPIN_NS, int(affordable))
    return spin_ns if spin_ns >= _LEAST_SPIN_NS else 0


class Pacer:
    """Waits for instants of `time.monotonic_ns`; one waiter at a time.

    Never wakes before the instant that was asked for.
    """

    def __init__(self, *, spin_ns: int) -> None:
        self._spin_ns = spin_ns
        self._loop = asyncio.get_running_loop()
        self._timer = Timer(self._went_off)
        self._due: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        self._timer.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.__exit__(kind, error, trace)

    def _went_off(self) -> None:
        if self._due is not None and not self._due.done():
            self._due.set_result(None)

    async def until(self, at_ns: int) -> None:
        """Return at `at_ns` or as soon after it as possible; the loop always gets one turn.

        The turn matters when the generator is late: without it nothing but sending would happen.
        """
        if at_ns - time.monotonic_ns() > self._spin_ns:
            self._due = self._loop.create_future()
            self._timer.arm(at_ns - self._spin_ns)
            await self._due
        else:
            await asyncio.sleep(0)
        while time.monotonic_ns() < at_ns:  # noqa: ASYNC110 - the clock fires no event
            await asyncio.sleep(0)
