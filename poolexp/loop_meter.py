"""Does the generator's event loop turn? A heartbeat inside the loop that sends.

How late requests are sent stands in their rows. What no row shows is a loop that stood still
between two of them: then answers are received late as well. The heartbeat sees that. A stall that
begins between two beats is longer than it is seen, by up to a beat.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

PERIOD_S = 0.005
LATE_NS = 5_000_000
"""A beat that comes later than this counts as a stall."""


def together(documents: Sequence[dict[str, int]]) -> dict[str, int]:
    """What the meters of several generator processes saw: counts added up, the longest stall."""
    first = documents[0]
    summed = {
        name: sum(document[name] for document in documents)
        for name in ("beats", "late", "late_total_ns")
    }
    return {**first, **summed, "max_ns": max(document["max_ns"] for document in documents)}


class LoopMeter:
    """Beats from entering to leaving, and counts within the window; instants are monotonic ns."""

    def __init__(self, window_start_ns: int, window_end_ns: int) -> None:
        self._window_ns = range(window_start_ns, window_end_ns)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._due_ns = 0
        self.beats = self.late = self.late_total_ns = self.max_ns = 0

    def __enter__(self) -> Self:
        self._arm()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        self._due_ns = time.monotonic_ns() + int(PERIOD_S * 1e9)
        self._timer = self._loop.call_later(PERIOD_S, self._beat)

    def _beat(self) -> None:
        # The loop's own timers may go off a little early: that is no lateness.
        lateness_ns = max(0, time.monotonic_ns() - self._due_ns)
        if self._due_ns in self._window_ns:
            self.beats += 1
            self.max_ns = max(self.max_ns, lateness_ns)
            if lateness_ns > LATE_NS:
                self.late += 1
                self.late_total_ns += lateness_ns
        self._arm()

    def document(self) -> dict[str, int]:
        """What was seen, for the manifest."""
        return {
            "beats": self.beats,
            "late": self.late,
            "late_above_ns": LATE_NS,
            "late_total_ns": self.late_total_ns,
            "max_ns": self.max_ns,
        }
