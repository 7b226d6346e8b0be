"""Opens the warehouse: one DuckDB file below the home, held only while it is used.

DuckDB lets one process write, or several read. Whoever comes second waits a little, in the order
of the turnstile, and is then told who holds the file. A reader can do nothing but read: it has no
access to files of the machine, and no setting of its can be changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from poolexp.errors import BusyError, HomeError, UsageError
from warehouse.complaints import busy, translated
from warehouse.derive import derive_outdated, is_derived
from warehouse.migrate import is_current, is_older, migrate
from warehouse.turnstile import Passing, turnstile
from warehouse.upgrade import upgrade

FILE_NAME = "warehouse.duckdb"
PATIENCE_S = 10.0
_RETRY_S = 0.02
_ROUND_S = 1.0

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
    it opens the file for writing once. Hold it as shortly as you can: a writer keeps everybody
    else waiting, a reader keeps writers waiting.

    Raises:
        UsageError: there is nothing to read yet.
        BusyError: another process held the file for longer than `patience_s` seconds.
        HomeError: the home cannot be written, or its disk is full.
        WarehouseError: the file is damaged, or was written by a newer version.
    """
    path = home.resolve() / FILE_NAME
    deadline_s = time.monotonic() + patience_s
    with translated(path):
        opened = _opened_to_read if read_only else _opened_to_write
        with opened(path, deadline_s) as connection:
            yield Warehouse(path, connection, read_only)


@contextmanager
def open_unchanged(
    home: Path, *, patience_s: float = PATIENCE_S
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The file of `home` as it is, whatever its schema; while it is open, nobody can write to it.

    Raises:
        BusyError, HomeError, WarehouseError: as `open_warehouse` does.
    """
    path = home.resolve() / FILE_NAME
    with translated(path):
        connection = _connect(path, time.monotonic() + patience_s, read_only=True)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def in_memory(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to no file, for attaching files; errors are told as those of `path`."""
    with translated(path), duckdb.connect(config=_ALWAYS) as connection:
        try:
            yield connection
        except duckdb.Error as error:
            raise busy(path, str(error)) or error from error


def _require(path: Path) -> None:
    if not path.exists():
        raise UsageError(
            f"there are no runs yet: {path.parent} holds no warehouse",
            "Make a run first, or name the home that holds the runs with --home.",
        )


@contextmanager
def _opened_to_read(path: Path, deadline_s: float) -> Iterator[duckdb.DuckDBPyConnection]:
    _require(path)
    with _connect_to_read(path, deadline_s) as connection:
        if is_current(connection) and is_derived(connection):
            yield connection
            return
    with _opened_to_write(path, deadline_s):
        pass
    with _connect_to_read(path, deadline_s) as connection:
        yield connection


def _connect_to_read(path: Path, deadline_s: float) -> duckdb.DuckDBPyConnection:
    with turnstile(path, Passing.READER, deadline_s):
        return _connect(path, deadline_s, read_only=True)


@contextmanager
def _opened_to_write(path: Path, deadline_s: float) -> Iterator[duckdb.DuckDBPyConnection]:
    _prepare_home(path.parent)
    with ExitStack() as stack:
        connection = _connect_to_write(path, deadline_s, stack)
        try:
            path.chmod(0o600)
            if is_older(connection):
                upgrade(path, connection, deadline_s)
                connection = _connect(path, deadline_s, read_only=False)
            migrate(connection)
            if not is_derived(connection):
                derive_outdated(connection)
            yield connection
        finally:
            connection.close()


def _connect_to_write(path: Path, deadline_s: float, stack: ExitStack) -> duckdb.DuckDBPyConnection:
    """A connection, and the turnstile held by `stack`.

    Readers that are inside may take long. Those that come meanwhile are let in between two rounds:
    they would wait for nothing.
    """
    while True:
        stack.enter_context(turnstile(path, Passing.WRITER, deadline_s))
        round_s = min(deadline_s, time.monotonic() + _ROUND_S)
        try:
            return _connect(path, round_s, read_only=False)
        except BusyError:
            stack.close()
            if time.monotonic() >= deadline_s:
                raise
        time.sleep(_RETRY_S)


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
            held = busy(path, str(error))
            if held is None:
                raise
            if time.monotonic() >= deadline_s:
                raise held from None
            time.sleep(_RETRY_S)
