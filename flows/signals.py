"""Stop on SIGINT or SIGTERM in good order: cancel, let everything clean up, then say which."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StoppedBySignalError(Exception):
    """A signal ended the run; everything that it had started has been cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end or to a signal.

    Raises:
        StoppedBySignalError: after the coroutine has been cancelled and has cleaned up.
    """
    return asyncio.run(_supervise(work))


async def _supervise(work: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def stop(number: int) -> None:
        # A second signal asks for nothing new: cleaning up is bounded in time by itself.
        if not received:
            received.append(number)
            task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except BaseException:
        if received:
            raise StoppedBySignalError(received[0]) from None
        raise
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
