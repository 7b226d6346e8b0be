"""Brings an older warehouse to this version's schema, on a copy beside it.

    warehouse.duckdb             the old one, whole, until the very end; then the new one
    warehouse.duckdb.migrating   the copy that is being migrated; worth nothing
    warehouse.duckdb.before-2    the old one, as it was before it got schema 2

One rename puts the new one in place, so whatever ends this process leaves the old or the new one
whole, and the next one begins anew. The old one is kept until the next upgrade has succeeded.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import duckdb

from poolexp.errors import BusyError, HomeError
from poolexp.landing import sync_directory
from warehouse.derive import derive_outdated
from warehouse.migrate import MIGRATIONS, migrate

_RETRY_S = 0.05
_CHUNK_BYTES = 16 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)


def upgrade(path: Path, connection: duckdb.DuckDBPyConnection, deadline_s: float) -> None:
    """Put a migrated copy in the place of the warehouse; its only connection is closed for that.

    Raises:
        BusyError: another process opened it in between, and held it until `deadline_s`.
        HomeError: there is no room for the copy; the warehouse is as it was.
    """
    # What is only in the log so far would not be in the copy.
    connection.execute("CHECKPOINT")
    connection.close()
    copy = path.with_name(path.name + ".migrating")
    with _kept_from_others(path, deadline_s) as original:
        try:
            _copy(original, copy)
            _migrate(copy)
            _keep(path, original)
            copy.replace(path)
            sync_directory(path.parent)
            _forget_earlier(path)
        finally:
            _remove(copy)


@contextmanager
def _kept_from_others(path: Path, deadline_s: float) -> Iterator[BinaryIO]:
    """The file, locked as DuckDB itself locks it, for any program that would open it."""
    # Closing any descriptor of the file ends the lock, so there is only this one.
    with path.open("r+b") as file:
        while not _locked(file):
            if time.monotonic() >= deadline_s:
                raise _opened_meanwhile(path)
            time.sleep(_RETRY_S)
        if path.with_name(path.name + ".wal").exists():
            raise _opened_meanwhile(path)
        yield file


def _locked(file: BinaryIO) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _opened_meanwhile(path: Path) -> BusyError:
    return BusyError(
        f"the warehouse {path} was opened by another process before it could be brought up to date",
        "Wait until that process has ended, and try again.",
    )


def _copy(original: BinaryIO, copy: Path) -> None:
    """Copy by the descriptor that holds the lock, into a file that only its owner can read."""
    _remove(copy)
    original.seek(0)
    size = os.fstat(original.fileno()).st_size
    if shutil.disk_usage(copy.parent).free < size:
        raise _full(copy, size)
    descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as target:
            shutil.copyfileobj(original, target, _CHUNK_BYTES)
    except OSError as error:
        if error.errno in _FULL:
            raise _full(copy, size) from None
        raise


def _full(copy: Path, size_bytes: int) -> HomeError:
    return HomeError(
        f"the disk of {copy.parent} is full: bringing the warehouse up to date takes a copy of "
        f"{size_bytes / 1e6:.0f} MB and some room for what is new",
        "Free some space and try again; the warehouse is as it was.",
    )


def _migrate(copy: Path) -> None:
    with duckdb.connect(copy) as connection:
        migrate(connection)
        derive_outdated(connection)
        connection.execute("CHECKPOINT")
    with copy.open("rb") as file:
        os.fsync(file.fileno())


def _kept_name(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-{MIGRATIONS[-1].number}")


def _keep(path: Path, original: BinaryIO) -> None:
    """Give the old one its second name; what bears it already is of an attempt that was killed."""
    kept = _kept_name(path)
    kept.unlink(missing_ok=True)
    try:
        kept.hardlink_to(path)
    except OSError:
        # Some file systems know no second names.
        _copy(original, kept)


def _forget_earlier(path: Path) -> None:
    for other in path.parent.glob(f"{path.name}.before-*"):
        if other != _kept_name(path):
            other.unlink()


def _remove(copy: Path) -> None:
    for path in (copy, copy.with_name(copy.name + ".wal")):
        path.unlink(missing_ok=True)
