"""Closed loop: workers, each of which sends a request, waits for its end, thinks, and sends again.

A request's scheduled time is the moment at which its worker was ready to send it, so it belongs
to the warm-up or to the window by that moment, as in an open loop. How many requests there will be
is not known beforehand; the workers count what they begin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic_ns, thread_time_ns
from typing import Any, Self

from poolexp.generators.sender import Sender, drain
from poolexp.pacing import Pacer
from poolexp.request_log import NEVER
from poolexp.sleepers import Sleepers

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Course:
    """What the workers are told.

    Attributes:
        concurrency: number of workers.
        think_ns: how long a worker thinks after each request; 0 for not at all.
        think: `sleep`, or `cpu`: as much processor time, during which nothing else is done here.
        operations: the window closes before the first request beyond so many, or
        end_ns: here, whichever comes first; the window opens at `warm_up_ns`.

    """

    concurrency: int
    think_ns: int
    think: str
    operations: int | None
    warm_up_ns: int
    end_ns: int


class ClosedLoop:
    """The workers, and what they count: `begun` requests, `measured` of them in the window.

    `end_ns` is where the window really closed, and `stopped_by` is why: `time`, `operations`, or
    `full`, when the log had no slot left.
    """

    def __init__(
        self,
        sender: Sender,
        course: Course,
        arguments: Sequence[Sequence[Any]],
        keys: Sequence[int],
    ) -> None:
        self._sender = sender
        self._course = course
        self._arguments = arguments
        self._keys = keys
        self.begun = 0
        self.measured = 0
        self.end_ns = course.end_ns
        self.stopped_by: str | None = None
        self._sleepers = Sleepers()

    async def run(self, pacer: Pacer, *, drain_s: float) -> Self:
        """Work from the origin to the end of the window, and wait for the last requests."""
        loop = asyncio.get_running_loop()
        await pacer.until(self._sender.origin_ns)
        with self._sleepers:
            workers = [loop.create_task(self._work()) for _ in range(self._course.concurrency)]
            ends_in_s = (self._sender.origin_ns + self.end_ns - monotonic_ns()) / _NS_PER_S
            await drain(workers, max(ends_in_s, 0) + drain_s, drain_s)
        return self

    async def _work(self) -> None:
        different, log = len(self._arguments), self._sender.log
        thinks = self._course.think_ns > 0
        while (seq := self._next()) is not None:
            which = seq % different
            await self._sender.send(seq, self._arguments[which], self._keys[which])
            if thinks:
                await self._think()
            elif log.received_ns[seq] == NEVER:
                # A request that fails at once may not have waited for anything.
                await asyncio.sleep(0)

    def _next(self) -> int | None:
        """Begin one more request if the window is still open: its number, or None."""
        ready_ns = monotonic_ns() - self._sender.origin_ns
        if self.stopped_by is None:
            self._judge(ready_ns)
        if self.stopped_by is not None:
            # Requests are waited for, thoughts are not.
            self._sleepers.wake_all()
            return None
        seq = self.begun
        self._sender.log.scheduled_ns[seq] = ready_ns
        self.begun += 1
        self.measured += ready_ns >= self._course.warm_up_ns
        return seq

    def _judge(self, ready_ns: int) -> None:
        if ready_ns >= self._course.end_ns:
            self.stopped_by = "time"
        elif self.measured == self._course.operations:
            self.stopped_by, self.end_ns = "operations", ready_ns
        elif self.begun == len(self._sender.log):
            self.stopped_by, self.end_ns = "full", ready_ns

    async def _think(self) -> None:
        if self._course.think == "sleep":
            # Nobody need think beyond the end of the window, when all is over.
            closes_ns = self._sender.origin_ns + self._course.end_ns
            await self._sleepers.until(min(monotonic_ns() + self._course.think_ns, closes_ns))
            return
        until_ns = thread_time_ns() + self._course.think_ns
        while thread_time_ns() < until_ns:
            pass
