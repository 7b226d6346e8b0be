"""What recording a request costs beyond reading the clock, in ns.

usage:  .venv/bin/uv run python -m benchmarks.recording

Five instants are read and stored in preallocated columns, as the generator does; the peer is the
same loop that reads the clock five times and stores nothing.
"""

from __future__ import annotations

import time

from benchmarks.stand import Ratios, show
from poolexp.request_log import RequestLog, empty_column

REQUESTS = 100_000
PAIRS = 9


def recorded_ns() -> float:
    """Time of one request with its instants stored."""
    log, clock = RequestLog(empty_column(REQUESTS)), time.monotonic_ns
    began = clock()
    for seq in range(REQUESTS):
        log.requested_ns[seq] = clock() - began
        log.acquired_ns[seq] = clock() - began
        log.received_ns[seq] = clock() - began
        log.released_ns[seq] = clock() - began
        log.ended_ns[seq] = clock() - began
    return (clock() - began) / REQUESTS


def clock_only_ns() -> float:
    """Time of one request whose instants are read and forgotten."""
    clock = time.monotonic_ns
    began = clock()
    for _ in range(REQUESTS):
        clock()
        clock()
        clock()
        clock()
        clock()
    return (clock() - began) / REQUESTS


def main() -> None:
    """Measure and print."""
    pairs = Ratios("five instants, ns per request, over reading the clock", "")
    beyond = Ratios("recording beyond the clock, ns, against 250 ns", "at most 1.0")
    for _ in range(PAIRS):
        ours, peer = recorded_ns(), clock_only_ns()
        pairs.add(ours, peer)
        beyond.add(ours - peer, 250)
    show("Recording", [pairs.cells(), beyond.cells()])


if __name__ == "__main__":
    main()
