"""Everything that the views for people hold, for comparing one warehouse with another."""

from __future__ import annotations

from pathlib import Path

import duckdb

from warehouse.database import FILE_NAME

Rows = list[tuple[object, ...]]


def public_views(home: Path, *, without: tuple[str, ...] = ()) -> dict[str, Rows]:
    """The rows of every view, sorted; `without` these columns."""
    with duckdb.connect(home / FILE_NAME, read_only=True) as connection:
        names = connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
        ).fetchall()
        return {
            name: connection.execute(
                f"SELECT COLUMNS(c -> c NOT IN $1) FROM {name} ORDER BY ALL".replace(
                    "$1", str([*without, ""])
                )
            ).fetchall()
            for (name,) in names
        }


def assert_same_rows(left: Path, right: Path, *, without: tuple[str, ...] = ()) -> None:
    """Fail, naming the view, if any view of two homes differs; there must be some rows."""
    before, after = public_views(left, without=without), public_views(right, without=without)
    assert before.keys() == after.keys()
    assert before["trial_summary"]
    for name, rows in before.items():
        assert after[name] == rows, name
