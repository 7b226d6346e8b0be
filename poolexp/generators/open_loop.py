"""Open loop: every request is sent at its planned time, whatever became of those before it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from poolexp.generators.sender import Sender, drain, start
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
    loop = asyncio.get_running_loop()
    # The loop itself keeps only weak references to its tasks.
    tasks: list[asyncio.Task[None]] = []
    due_ns, different = -1, len(arguments)
    for seq, at_ns in enumerate(sender.log.scheduled_ns):
        if at_ns != due_ns:
            await pacer.until(sender.origin_ns + at_ns)
            due_ns = at_ns
        which = seq % different
        tasks.append(start(sender.send(seq, arguments[which], keys[which]), loop))
    await drain(tasks, drain_s, drain_s)
