"""What DuckDB says about the warehouse's file, as errors with a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from poolexp.errors import BusyError, HomeError, PoolexpError, WarehouseError

_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.*) \(PID (?P<pid>\d+)\)")
_DAMAGE = (
    "not a valid DuckDB database file",
    "Could not read enough bytes",
    "Corrupt database file",
    "read past end of file",
    "Failure while replaying WAL",
)
_NEWER_FILE = ("Trying to read a database file with version number", "newer version of DuckDB")
_FULL = ("No space left on device", "Disk quota exceeded")
_FORBIDDEN = ("Permission denied", "Read-only file system")


def busy(path: Path, message: str) -> BusyError | None:
    """The error that names the holder, if DuckDB's message says that the file is held."""
    if found := _HOLDER.search(message):
        holder = f"process {found['pid']} ({found['program']})"
    elif "different configuration than existing connections" in message:
        holder = "this process itself, for another purpose"
    else:
        return None
    return BusyError(
        f"the warehouse {path} is held by {holder}",
        "Wait until that process has ended, or end it, and try again.",
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what DuckDB says about the file into errors with a remedy."""
    try:
        yield
    except duckdb.Error as error:
        known = _translate(path, str(error))
        if known is None:
            raise
        raise known from error


def _translate(path: Path, message: str) -> PoolexpError | None:
    first_line = message.partition("\n")[0]
    if any(phrase in message for phrase in _FULL):
        return HomeError(
            f"the disk of {path.parent} is full: {first_line}",
            "Free some space; what was committed before is kept.",
        )
    if any(phrase in message for phrase in _FORBIDDEN):
        return HomeError(
            f"{path} cannot be opened: {first_line}",
            "Give this user access to the home, or choose another one with --home.",
        )
    if any(phrase in message for phrase in _NEWER_FILE):
        return WarehouseError(
            f"{path} was written by a newer DuckDB: {first_line}",
            "Use the newer version of poolexp.",
        )
    if any(phrase in message for phrase in _DAMAGE):
        return damaged(path, first_line)
    return None


def is_about_the_file(error: duckdb.Error) -> bool:
    """Whether DuckDB complains about the warehouse's file or its disk, not about what was asked."""
    message = str(error)
    return any(phrase in message for phrase in (*_DAMAGE, *_FULL))


def damaged(path: Path, what: str) -> WarehouseError:
    """The error for a warehouse that cannot be read any more."""
    return WarehouseError(
        f"the warehouse {path} is damaged: {what}",
        f"What was measured lies in {path.parent / 'runs'}, but for what you deleted there. "
        f"`poolexp rebuild --home {path.parent}` makes the warehouse again from there, and keeps "
        "the damaged file.",
    )
