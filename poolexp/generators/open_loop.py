"""Open loop: every request is sent at its planned time, whatever became of those before it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from poolexp.generators.sender import Sender, drain
from poolexp.pacing import Pacer


async def run(
    sender: Sender,
    arguments: Sequence[Sequence[Any]],
    keys: Sequence[int],
    pacer: Pacer,
    *,
    drain_s: float,
) -> None:
    """Send every request of the log at its time, then wait for the last ones, `drain_s` at most.

    `arguments` and `keys` repeat when there are fewer of them than requests.
    """
    relay = _Relay(sender, arguments, keys, pacer)
    await relay.run()
    await drain(relay.tasks, drain_s, drain_s)


class _Relay:
    """The task that waits for an instant is the one that sends what is due then.

    One task that waits and hands each request to another costs every request a turn of the event
    loop, with all that the turn has to do, between its time and its sending. So whoever has
    waited first sees to a successor, which waits for the next instant, and then sends at once.
    """

    def __init__(
        self,
        sender: Sender,
        arguments: Sequence[Sequence[Any]],
        keys: Sequence[int],
        pacer: Pacer,
    ) -> None:
        self._sender = sender
        self._arguments = arguments
        self._keys = keys
        self._pacer = pacer
        self._planned_ns = sender.log.scheduled_ns
        self._loop = asyncio.get_running_loop()
        self._all_begun: asyncio.Future[None] = self._loop.create_future()
        # The loop itself keeps only weak references to its tasks.
        self.tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Return when every request has been begun."""
        self._pass_on(0)
        await self._all_begun

    def _pass_on(self, seq: int) -> None:
        if seq < len(self._planned_ns):
            self.tasks.append(self._loop.create_task(self._send_when_due(seq)))
        else:
            self._all_begun.set_result(None)

    async def _send_when_due(self, first: int) -> None:
        due_ns = self._planned_ns[first]
        try:
            await self._pacer.until(self._sender.origin_ns + due_ns)
        except BaseException as error:
            # Nobody would come after this one.
            self._all_begun.set_exception(error)
            raise
        beyond = first + 1
        while beyond < len(self._planned_ns) and self._planned_ns[beyond] == due_ns:
            self.tasks.append(self._loop.create_task(self._send(beyond)))
            beyond += 1
        self._pass_on(beyond)
        await self._send(first)

    def _send(self, seq: int) -> Coroutine[Any, Any, None]:
        which = seq % len(self._arguments)
        return self._sender.send(seq, self._arguments[which], self._keys[which])
