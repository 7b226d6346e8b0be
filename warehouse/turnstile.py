"""The turnstile before the warehouse's file: who comes first gets in first, writers too.

DuckDB's own lock lets readers overlap without end, so a writer could wait for ever. Everybody
passes through a small lock file instead: a reader only while it opens the warehouse, a writer from
before it tries to open it until it has closed it again. While a writer waits, new readers wait
with it, and those that are inside end one after another.

It is about the order only. Who has waited long enough goes on without it, and then DuckDB's lock
decides and names the holder. Nothing here is needed to keep the file whole.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

_RETRY_S = 0.005


class Passing(IntEnum):
    """How one passes: readers together, a writer alone."""

    READER = fcntl.LOCK_SH
    WRITER = fcntl.LOCK_EX


@contextmanager
def turnstile(warehouse: Path, passing: Passing, deadline_s: float) -> Iterator[None]:
    """Wait for one's turn, at most until `deadline_s` on the monotonic clock, and keep it."""
    descriptor = _open(warehouse.with_name(warehouse.name + ".turnstile"))
    if descriptor is None:
        yield
        return
    try:
        while not _locked(descriptor, passing) and time.monotonic() < deadline_s:
            time.sleep(_RETRY_S)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int | None:
    """The lock file; None where it cannot be made because the home can only be read."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        try:
            return os.open(path, flags | os.O_CLOEXEC, 0o600)
        except OSError:
            continue
    return None


def _locked(descriptor: int, passing: Passing) -> bool:
    try:
        fcntl.flock(descriptor, passing | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
