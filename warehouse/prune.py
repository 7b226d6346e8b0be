"""Drops the raw rows of old runs on request; what was derived from them stays.

The run directories are not touched: a rebuild or an import brings the rows back. DuckDB does not
give the room of deleted rows back to the disk, so the file is then written anew, beside the old
one, and takes its place at one stroke.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from poolexp.home import hold_home
from poolexp.landing import sync_directory
from warehouse.database import FILE_NAME, Warehouse, in_memory, open_warehouse
from warehouse.migrate import transaction, utc_now
from warehouse.statements import statement

COMPACTING = "compacting"
"""Folder of the home in which the smaller file grows; worth nothing until it is whole."""

_DROP = (
    "INSERT OR REPLACE INTO raw.pruned VALUES (?, ?, ?, ?)",
    "DELETE FROM raw.request WHERE run_id = ?",
    "DELETE FROM raw.counter WHERE run_id = ?",
)


@dataclass(frozen=True, slots=True)
class Prunable:
    """A run whose raw rows can go: how many they are, and about how many bytes they take."""

    run_id: str
    label: str | None
    created_at: datetime
    requests: int
    counters: int
    about_bytes: int


def prunable(
    warehouse: Warehouse, before: datetime, kept_labels: Collection[str] = ()
) -> tuple[Prunable, ...]:
    """The runs made before an instant (UTC) that still have raw rows, the oldest first."""
    rows = warehouse.connection.execute(
        statement("prunable"), {"before": before, "kept_labels": list(kept_labels)}
    ).fetchall()
    row_bytes = _row_bytes(warehouse)
    return tuple(
        Prunable(run_id, label, created_at, requests, counters, (requests + counters) * row_bytes)
        for run_id, label, created_at, requests, counters in rows
    )


def _row_bytes(warehouse: Warehouse) -> int:
    """What a raw row takes of the file, on average: the blocks of both tables over their rows."""
    row = warehouse.connection.execute(statement("raw_size")).fetchone()
    blocks, block_bytes, rows = map(int, row or (0, 0, 1))
    return round(blocks * block_bytes / max(1, rows))


def prune(home: Path, runs: Sequence[Prunable]) -> int:
    """Drop their raw rows and return how many bytes smaller the file became.

    Raises:
        BusyError: a run is going on, or another process holds the warehouse.
        HomeError: there is no room for the smaller copy; the rows are gone, their room is not.
    """
    place = home.resolve()
    with hold_home(place, "prune"):
        with open_warehouse(place) as warehouse, transaction(warehouse.connection):
            for run in runs:
                _drop(warehouse.connection, run)
        return _compact(place)


def _drop(connection: duckdb.DuckDBPyConnection, run: Prunable) -> None:
    mark, *deletions = _DROP
    connection.execute(mark, [run.run_id, utc_now(), run.requests, run.counters])
    for sql in deletions:
        connection.execute(sql, [run.run_id])


def _compact(home: Path) -> int:
    path = home / FILE_NAME
    before_bytes = path.stat().st_size
    with _emptied(home / COMPACTING) as folder:
        new = folder / FILE_NAME
        # While the old file is attached, nobody else can write to it.
        with in_memory(path) as connection:
            for name, source, mode in (("old", path, " (READ_ONLY)"), ("new", new, "")):
                quoted = str(source).replace("'", "''")
                connection.execute(f"ATTACH '{quoted}' AS {name}{mode}")
            connection.execute("COPY FROM DATABASE old TO new")
            connection.execute("DETACH new")
            new.chmod(0o600)
            new.replace(path)
        sync_directory(home)
    return before_bytes - path.stat().st_size


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
