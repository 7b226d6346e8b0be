"""How a connection is chosen: places that are free or taken, and who waits for them.

A place is the number of a connection, from 0. A choice knows nothing of connections, so it can be
tested without a server. While somebody waits in a line, no place that the line is for is free.
"""

from __future__ import annotations

from asyncio import Future
from collections import deque
from typing import Protocol

Line = deque["Future[int]"]


class Choice(Protocol):
    """Which place is next."""

    def take(self, key: int) -> int | None:
        """Take a free place; None when it must be waited for."""

    def seize(self, place: int) -> bool:
        """Take that very place, if it is free: whether it was."""

    def give(self, place: int) -> None:
        """Give back a place that nobody waits for."""

    def line(self, key: int) -> Line:
        """Those who wait, the first one first; `key` is a request's key, or a place."""


class Fifo:
    """The connection idle longest goes to the request that has waited longest."""

    def __init__(self, size: int) -> None:
        self._free = deque(range(size))
        self._line: Line = deque()

    def take(self, key: int) -> int | None:
        """Take the place that has been free longest."""
        return self._free.popleft() if self._free else None

    def seize(self, place: int) -> bool:
        """Take that very place, if it is free."""
        if place not in self._free:
            return False
        self._free.remove(place)
        return True

    def give(self, place: int) -> None:
        """Give back a place."""
        self._free.append(place)

    def line(self, key: int) -> Line:
        """Give the one line for all places."""
        return self._line


class RoundRobin:
    """The next connection in a loop; one that is busy is passed over."""

    def __init__(self, size: int) -> None:
        self._is_free = [True] * size
        self._free = size
        self._next = 0
        self._line: Line = deque()

    def take(self, key: int) -> int | None:
        """Take the next free place in the loop."""
        if not self._free:
            return None
        place, size = self._next, len(self._is_free)
        while not self._is_free[place]:
            place = (place + 1) % size
        self._next = (place + 1) % size
        self.seize(place)
        return place

    def seize(self, place: int) -> bool:
        """Take that very place, if it is free."""
        was_free = self._is_free[place]
        self._is_free[place] = False
        self._free -= was_free
        return was_free

    def give(self, place: int) -> None:
        """Give back a place."""
        self._is_free[place] = True
        self._free += 1

    def line(self, key: int) -> Line:
        """Give the one line for all places."""
        return self._line


class KeyHash:
    """The key picks the connection, and waits for it even when others are free."""

    def __init__(self, size: int) -> None:
        self._is_free = [True] * size
        self._lines: list[Line] = [deque() for _ in range(size)]

    def take(self, key: int) -> int | None:
        """Take the key's own place if it is free."""
        place = key % len(self._is_free)
        return place if self.seize(place) else None

    def seize(self, place: int) -> bool:
        """Take that very place, if it is free."""
        was_free = self._is_free[place]
        self._is_free[place] = False
        return was_free

    def give(self, place: int) -> None:
        """Give back a place."""
        self._is_free[place] = True

    def line(self, key: int) -> Line:
        """Give the line for the key's own place; a place, as a key, leads to itself."""
        return self._lines[key % len(self._lines)]


CHOICES: dict[str, type[Fifo] | type[RoundRobin] | type[KeyHash]] = {
    "fifo": Fifo,
    "round_robin": RoundRobin,
    "key_hash": KeyHash,
}
"""By their names in an experiment; `lifo` is asyncpg's own pool and needs none."""
