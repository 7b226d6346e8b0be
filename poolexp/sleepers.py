"""Many sleepers, each woken at an instant of its own, by one timer of the kernel's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from types import TracebackType
from typing import Self

from poolexp.timer import Timer


class Sleepers:
    """Wakes coroutines at instants of `time.monotonic_ns`, never before them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer = Timer(self._wake_those_due)
        # The number keeps those of the same instant in their order.
        self._heap: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()

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

    async def until(self, at_ns: int) -> None:
        """Return at `at_ns` or as soon after it as possible; earlier only if all are woken."""
        waking = self._loop.create_future()
        heappush(self._heap, (at_ns, next(self._numbers), waking))
        if self._heap[0][2] is waking:
            self._timer.arm(at_ns)
        await waking

    def wake_all(self) -> None:
        """Wake everybody now."""
        self._wake(lambda _: True)

    def _wake_those_due(self) -> None:
        now_ns = time.monotonic_ns()
        self._wake(lambda at_ns: at_ns <= now_ns)
        if self._heap:
            self._timer.arm(self._heap[0][0])

    def _wake(self, is_due: Callable[[int], bool]) -> None:
        while self._heap and is_due(self._heap[0][0]):
            waking = heappop(self._heap)[2]
            if not waking.done():
                waking.set_result(None)
