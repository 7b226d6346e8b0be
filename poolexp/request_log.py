"""Where a trial writes what it sees: columns allocated beforehand, one slot a request.

Nothing is allocated for a request inside the window but what the driver itself allocates.
"""

from __future__ import annotations

import os
from array import array

NEVER = -1
"""Stands for an instant that did not happen; becomes NULL."""

INSTANTS = ("requested_ns", "acquired_ns", "received_ns", "released_ns", "ended_ns")
"""Instants that the generator records, in the order in which they happen."""

OUTCOMES = ("not_sent", "done", "acquire_timeout", "query_timeout", "error", "given_up")
"""What can become of a planned request; the log holds the index."""

NOT_SENT, DONE, ACQUIRE_TIMEOUT, QUERY_TIMEOUT, ERROR, GIVEN_UP = range(6)

COLUMNS = ("scheduled_ns", *INSTANTS, "outcome", "backend_pid", "sqlstate")
"""The columns of a saved log, each one signed 64-bit integers, one after the other."""


_SQLSTATE_LENGTH = 5


def empty_column(slots: int) -> array[int]:
    """A column in which nothing has happened yet."""
    return array("q", [NEVER]) * slots


def packed_sqlstate(state: str) -> int:
    """A SQLSTATE as one number: its five ASCII characters are the bytes, the first the highest.

    A column of numbers has room for the SQLSTATE of every request, however many fail.
    """
    return int.from_bytes(state[:_SQLSTATE_LENGTH].encode("ascii", "replace"))


def unpacked_sqlstate(packed: int) -> str | None:
    """The SQLSTATE again, or None where there was none."""
    if packed == NEVER:
        return None
    return packed.to_bytes(_SQLSTATE_LENGTH).lstrip(b"\0").decode("ascii")


class RequestLog:
    """Instants (ns on the monotonic clock), outcome and backend of every request.

    `scheduled_ns` counts from the origin and has a slot for every request: the planned times of an
    open loop, or empty ones, as many as there may be requests, which a closed loop fills.
    """

    __slots__ = (*COLUMNS,)

    def __init__(self, scheduled_ns: array[int]) -> None:
        slots = len(scheduled_ns)
        self.scheduled_ns = scheduled_ns
        self.requested_ns = empty_column(slots)
        self.acquired_ns = empty_column(slots)
        self.received_ns = empty_column(slots)
        self.released_ns = empty_column(slots)
        self.ended_ns = empty_column(slots)
        self.outcome = array("q", [NOT_SENT]) * slots
        self.backend_pid = empty_column(slots)
        self.sqlstate = empty_column(slots)
        """SQLSTATEs as `packed_sqlstate` gives them, of those requests that failed with one."""

    def __len__(self) -> int:
        return len(self.scheduled_ns)

    def close(self, at_ns: int, *, requests: int) -> None:
        """End at `at_ns` those of the first `requests` that nothing has ended: they are given up.

        A request that was never begun stays what it is, one that was not sent.
        """
        for seq in range(requests):
            if self.ended_ns[seq] == NEVER:
                self.ended_ns[seq] = at_ns
                if self.requested_ns[seq] != NEVER:
                    self.outcome[seq] = GIVEN_UP

    def save(self, descriptor: int, *, requests: int) -> None:
        """Write the first `requests` slots of all columns, one column after the other.

        In the machine's byte order, to an open file.
        """
        with os.fdopen(descriptor, "wb") as file:
            for name in COLUMNS:
                file.write(memoryview(getattr(self, name))[:requests])
