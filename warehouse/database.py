"""Opens the warehouse: one DuckDB file below the home, held only while it is used.

DuckDB lets one process write, or several read; whoever comes second waits a little and is then
told who holds the file. A reader can do nothing but read: it has no access to files of the
machine, and no setting of its can be changed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from poolexp.errors import BusyError, HomeError, PoolexpError, UsageError, WarehouseError
from warehouse.derive import derive_outdated, is_derived
from warehouse.migrate import is_current, migrate

FILE_NAME = "warehouse.duckdb"
PATIENCE_S = 10.0
_RETRY_S = 0.05

Setting = str | bool | int | float | list[str]

# What it needs is built in; nothing may be fetched, and Python's variables are no tables.
_ALWAYS: dict[str, Setting] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_READER: dict[str, Setting] = {
    "enable_external_access": False,
    "lock_configuration": True,
}

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


@dataclass(frozen=True, slots=True)
class Warehouse:
    """An open warehouse; `connection` stays within this package."""

    path: Path
    connection: duckdb.DuckDBPyConnection
    read_only: bool


@contextmanager
def open_warehouse(
    home: Path, *, read_only: bool = False, patience_s: float = PATIENCE_S
) -> Iterator[Warehouse]:
    """The warehouse of `home`, with the newest schema, until the block ends.

    A writer creates what is missing. A reader brings an older schema up to date first, for which
    it opens the file for writing once.

    Raises:
        UsageError: there is nothing to read yet.
        BusyError: another process held the file for longer than `patience_s` seconds.
        HomeError: the home cannot be written, or its disk is full.
        WarehouseError: the file is damaged, or was written by a newer version.
    """
    path = home.resolve() / FILE_NAME
    deadline_s = time.monotonic() + patience_s
    with _translated(path):
        if read_only:
            _require(path)
            connection = _connect_to_read(path, deadline_s)
        else:
            connection = _connect_to_write(path, deadline_s)
        try:
            yield Warehouse(path, connection, read_only)
        finally:
            connection.close()


def _require(path: Path) -> None:
    if not path.exists():
        raise UsageError(
            f"there are no runs yet: {path.parent} holds no warehouse",
            "Make a run first, or name the home that holds the runs with --home.",
        )


def _connect_to_read(path: Path, deadline_s: float) -> duckdb.DuckDBPyConnection:
    connection = _connect(path, deadline_s, read_only=True)
    if not (is_current(connection) and is_derived(connection)):
        connection.close()
        _connect_to_write(path, deadline_s).close()
        connection = _connect(path, deadline_s, read_only=True)
    return connection


def _connect_to_write(path: Path, deadline_s: float) -> duckdb.DuckDBPyConnection:
    _prepare_home(path.parent)
    connection = _connect(path, deadline_s, read_only=False)
    try:
        path.chmod(0o600)
        migrate(connection)
        if not is_derived(connection):
            derive_outdated(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare_home(home: Path) -> None:
    if "?" in str(home):
        # DuckDB takes what follows a question mark for options and misplaces its log.
        raise HomeError(f"the path {home} contains a question mark", "Choose another home.")
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HomeError(
            f"the home {home} cannot be created: {error.strerror}",
            "Choose a directory that can be written with --home or POOLEXP_HOME.",
        ) from None


def _connect(path: Path, deadline_s: float, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    config = _ALWAYS | _READER if read_only else _ALWAYS
    while True:
        try:
            return duckdb.connect(path, read_only=read_only, config=config)
        except duckdb.Error as error:
            busy = _busy(path, str(error))
            if busy is None:
                raise
            if time.monotonic() >= deadline_s:
                raise busy from None
            time.sleep(_RETRY_S)


def _busy(path: Path, message: str) -> BusyError | None:
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
def _translated(path: Path) -> Iterator[None]:
    """Turn what DuckDB says about the file into errors with a remedy."""
    try:
        yield
    except duckdb.Error as error:
        translated = _translate(path, str(error))
        if translated is None:
            raise
        raise translated from error


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
        f"Nothing that was measured is lost: {path.parent / 'runs'} holds it all. "
        f"Move {path.name} and {path.name}.wal away; the next run makes a new warehouse.",
    )
