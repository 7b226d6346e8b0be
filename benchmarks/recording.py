"""What recording a request costs beyond reading the clock, in ns.

usage:  .venv/bin/uv run python -m benchmarks.recording

All that the generator writes of a request that is done goes into preallocated columns: its five
instants, of which the last two are one here, the outcome and the backend. The peer is the same
loop that reads the clock as often and stores nothing.
"""

from __future__ import annotations

import time

from benchmarks.stand import Ratios, show
from poolexp.request_log import DONE, RequestLog, empty_column

REQUESTS = 100_000
PAIRS = 9
BACKEND_PID = 4711


def recorded_ns() -> float:
    """Time of one request with all that is written of it."""
    log, clock = RequestLog(empty_column(REQUESTS)), time.monotonic_ns
    began = clock()
    for seq in range(REQUESTS):
        log.requested_ns[seq] = clock()
        log.acquired_ns[seq] = clock()
        log.backend_pid[seq] = BACKEND_PID
        log.received_ns[seq] = clock()
        log.outcome[seq] = DONE
        log.released_ns[seq] = log.ended_ns[seq] = clock()
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
    return (clock() - began) / REQUESTS


def main() -> None:
    """Measure and print."""
    pairs = Ratios("all that is written, ns per request, over reading the clock", "")
    beyond = Ratios("recording beyond the clock, ns, against 250 ns", "at most 1.0")
    for _ in range(PAIRS):
        ours, peer = recorded_ns(), clock_only_ns()
        pairs.add(ours, peer)
        beyond.add(ours - peer, 250)
    show("Recording", [pairs.cells(), beyond.cells()])


if __name__ == "__main__":
    main()
