"""Where a trial writes what it sees: columns allocated beforehand, one slot a planned request.

Nothing is allocated for a request inside the window but what the driver itself allocates.
"""

from __future__ import annotations

import os
from array import array

NEVER = -1
"""Stands for an instant that did not happen; becomes NULL."""

INSTANTS = ("requested_ns", "acquired_ns", "received_ns", "released_ns", "ended_ns")
"""Instants that the generator records, in the order in which they happen."""

OUTCOMES = ("not_sent", "done", "acquire_timeout", "query_timeout", "error")
"""What can become of a planned request; the log holds the index."""

NOT_SENT, DONE, ACQUIRE_TIMEOUT, QUERY_TIMEOUT, ERROR = range(5)

COLUMNS = (*INSTANTS, "outcome", "backend_pid")
"""The columns of a saved log, each one signed 64-bit integers, one after the other."""


class RequestLog:
    """Instants (ns from the origin), outcome and backend of every planned request."""

    def __init__(self, planned: int) -> None:
        self.requested_ns = array("q", [NEVER]) * planned
        self.acquired_ns = array("q", [NEVER]) * planned
        self.received_ns = array("q", [NEVER]) * planned
        self.released_ns = array("q", [NEVER]) * planned
        self.ended_ns = array("q", [NEVER]) * planned
        self.outcome = array("q", [NOT_SENT]) * planned
        self.backend_pid = array("q", [NEVER]) * planned
        self.sqlstate: dict[int, str] = {}
        """SQLSTATE by request number, for the few that failed with one."""

    def save(self, descriptor: int) -> None:
        """Write all columns one after the other, in the machine's byte order, to an open file."""
        with os.fdopen(descriptor, "wb") as file:
            for name in COLUMNS:
                getattr(self, name).tofile(file)
