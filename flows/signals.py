"""Stop on SIGINT or SIGTERM in good order: cancel, let everything clean up, then say which."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_supervised: ContextVar[bool] = ContextVar("_supervised", default=False)


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
    _supervised.set(True)
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


def keep_supervision() -> None:
    """Take SIGTERM back from Prefect, whose handler would throw into the middle of the loop.

    Does nothing where nobody here supervises, as under one of Prefect's workers: there the
    signal is Prefect's to interpret.
    """
    if _supervised.get():
        # The loop hears of the signal through its wake-up descriptor, not through this handler.
        signal.signal(signal.SIGTERM, lambda number, frame: None)
