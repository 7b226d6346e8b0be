"""Brings a warehouse's schema up to date: tables by numbered migrations, views by their text.

Each migration and its line in `raw.migration` are one transaction; so are all views, their
comments and the digest of their text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources

import duckdb

from poolexp.errors import WarehouseError
from warehouse.dictionary import TEXT, describe

_PACKAGE = resources.files("warehouse")

_BOOKKEEPING = """
CREATE SCHEMA IF NOT EXISTS raw;
CREATE TABLE IF NOT EXISTS raw.migration (
    version    INTEGER PRIMARY KEY,
    name       VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);
CREATE TABLE IF NOT EXISTS raw.view_digest (
    digest     VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class Script:
    """One SQL file; `number` is the prefix of its name and orders it."""

    number: int
    name: str
    sql: str


def read_scripts(folder: str) -> tuple[Script, ...]:
    """The SQL files of a folder of this package, in the order of their numbers."""
    files = [file for file in (_PACKAGE / folder).iterdir() if file.name.endswith(".sql")]
    scripts = [
        Script(int(file.name[:3]), file.name, file.read_text(encoding="utf-8")) for file in files
    ]
    return tuple(sorted(scripts, key=lambda script: script.number))


MIGRATIONS = read_scripts("migrations")
VIEWS = read_scripts("views")


def is_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether tables and views are those of this version.

    Raises:
        WarehouseError: they are those of a newer version.
    """
    return _version(connection) == MIGRATIONS[-1].number and _digest(connection) == _wanted_digest()


def is_older(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether there are tables, and migrations that they have not had."""
    return 0 < _version(connection) < MIGRATIONS[-1].number


def migrate(
    connection: duckdb.DuckDBPyConnection, migrations: Sequence[Script] = MIGRATIONS
) -> None:
    """Apply the migrations that are missing, then the views if their text has changed.

    Raises:
        WarehouseError: the schema is that of a newer version.
    """
    version = _version(connection, migrations[-1].number)
    for script in migrations:
        if script.number > version:
            _apply(connection, script)
    if _digest(connection) != _wanted_digest():
        _replace_views(connection)


def _version(connection: duckdb.DuckDBPyConnection, newest: int = MIGRATIONS[-1].number) -> int:
    if not _exists(connection, "migration"):
        return 0
    row = connection.execute("SELECT max(version) FROM raw.migration").fetchone()
    version = (row and row[0]) or 0
    if version > newest:
        raise WarehouseError(
            f"the warehouse has schema {version}; this version of poolexp knows {newest}",
            "Use the newer version of poolexp that wrote it, or another home.",
        )
    return int(version)


def _digest(connection: duckdb.DuckDBPyConnection) -> str | None:
    if not _exists(connection, "view_digest"):
        return None
    row = connection.execute("SELECT max(digest) FROM raw.view_digest").fetchone()
    return str(row[0]) if row and row[0] else None


def _exists(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    found = connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'raw' AND table_name = ?", [table]
    ).fetchone()
    return found is not None and found[0] > 0


def _wanted_digest() -> str:
    text = "\n".join(script.sql for script in VIEWS)
    return hashlib.sha256(f"{text}\n{TEXT}".encode()).hexdigest()


def _apply(connection: duckdb.DuckDBPyConnection, script: Script) -> None:
    with transaction(connection):
        connection.execute(_BOOKKEEPING)
        connection.execute(script.sql)
        connection.execute(
            "INSERT INTO raw.migration VALUES (?, ?, ?)", [script.number, script.name, utc_now()]
        )


def _replace_views(connection: duckdb.DuckDBPyConnection) -> None:
    with transaction(connection):
        views = connection.execute(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        for schema, view in views:
            connection.execute(f'DROP VIEW "{schema}"."{view}"')
        for script in VIEWS:
            connection.execute(script.sql)
        describe(connection)
        connection.execute("DELETE FROM raw.view_digest")
        connection.execute(
            "INSERT INTO raw.view_digest VALUES (?, ?)", [_wanted_digest(), utc_now()]
        )


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All of the block, or nothing of it."""
    connection.execute("BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A commit that failed has ended the transaction already.
        with suppress(duckdb.TransactionException):
            connection.execute("ROLLBACK")
        raise


def utc_now() -> datetime:
    """Now, as the warehouse keeps all instants: UTC, without saying so in each value."""
    return datetime.now(UTC).replace(tzinfo=None)
