"""A table as a page takes it: columns, groups of rows, and entries that know their number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One place in a table: its text, its number in full, and the range beside it."""

    text: str
    value: float | int | None = None
    beside: str = ""
    name: str = ""
    """Which number of the warehouse this is, where it is one."""
    thin: bool = False
    """Whether too few independent observations lie beyond this percentile to lean on it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's head; numbers stand to the right."""

    title: str
    unit: str = ""
    numeric: bool = True
    ranged: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `key` says of what: a scenario, or a trial's number."""

    key: str
    entries: tuple[Entry, ...]
    begins: bool = False
    """Whether something new begins here, so that a line parts it from the row above."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together, under a title."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its columns and groups; `note` says how to read it."""

    name: str
    title: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    note: str = ""
    dense: bool = False
    """Whether it has so many columns that ranges stand below their numbers, and heads break."""
