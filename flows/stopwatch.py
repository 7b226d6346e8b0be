"""Where the wall time of a command goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil


class Stopwatch:
    """Laps of the process's life, in seconds; the first one begins when the process began."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        age_s = time.time() - psutil.Process().create_time()
        self._lap_began = time.monotonic() - max(age_s, 0.0)

    def lap(self, name: str) -> None:
        """End a lap; the next one begins."""
        now = time.monotonic()
        self.seconds[name] = now - self._lap_began
        self._lap_began = now

    @contextmanager
    def adding(self, name: str) -> Iterator[None]:
        """Add the time of a block to what is known under a name; it may overlap a lap."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began
