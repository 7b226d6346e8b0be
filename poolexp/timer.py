"""A timer of the kernel's that an event loop can wait for.

An event loop's own timers are a millisecond coarse, and uvloop's can fire early. A timer file
descriptor armed with an absolute time on the monotonic clock is neither: the kernel wakes the
process, and the loop sees a readable descriptor like any other.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

_NS_PER_S = 1_000_000_000
_TFD_TIMER_ABSTIME = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class _TimeSpec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _TimeSpec), ("value", _TimeSpec))


class Timer:
    """Calls `went_off` from the running loop at the instant for which it was armed last."""

    def __init__(self, went_off: Callable[[], None]) -> None:
        self._went_off = went_off
        self._loop = asyncio.get_running_loop()
        self._descriptor = _create_timer()

    def __enter__(self) -> Self:
        self._loop.add_reader(self._descriptor, self._read)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)

    def arm(self, at_ns: int) -> None:
        """Go off at an instant of `time.monotonic_ns`, never before it, and at none other."""
        seconds, nanoseconds = divmod(max(at_ns, 1), _NS_PER_S)
        spec = _TimerSpec(_TimeSpec(0, 0), _TimeSpec(seconds, nanoseconds))
        done = _LIBC.timerfd_settime(self._descriptor, _TFD_TIMER_ABSTIME, ctypes.byref(spec), None)
        if done < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime failed")

    def _read(self) -> None:
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:
            return  # it was armed anew between going off and being read
        self._went_off()


def _create_timer() -> int:
    descriptor: int = _LIBC.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "timerfd_create failed")
    return descriptor
