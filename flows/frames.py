"""Prints the rows of a query: a table for people, or CSV, JSON or Parquet for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from io import BytesIO

import polars as pl
from rich.console import Console
from rich.table import Table

from flows.console import add, make_table
from poolexp.errors import UsageError

TABLE_ROWS = 1_000
"""A table of more rows is not read, and laying it out takes longer than the query."""

_PIECE_ROWS = 50_000

_EXACT_DIGITS = 15
"""Decimals of so many digits are numbers in JSON; longer ones are text, so that none is lost."""


class OutputFormat(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def refuse_binary_to_a_terminal(output: OutputFormat) -> None:
    """Say so before anything is asked.

    Raises:
        UsageError: Parquet would be written to a terminal.
    """
    if output is OutputFormat.PARQUET and sys.stdout.isatty():
        raise UsageError(
            "Parquet is binary and no terminal can show it",
            "Send it to a file: poolexp sql ... --format parquet > rows.parquet",
        )


def show_frame(console: Console, frame: pl.DataFrame, output: OutputFormat) -> None:
    """Rows of a query, in the format that was asked for.

    CSV: NULL is empty, an empty text is `""`; instants are ISO 8601. JSON: NaN and infinities are
    null, whole numbers and short decimals are numbers, longer decimals are text. In both, bytes
    are hexadecimal; in CSV, lists and structures are JSON.
    """
    if output is OutputFormat.TABLE:
        _show_table(console, frame)
        return
    # In pieces through Python's own stream: it is the one that tells when nobody reads any more.
    for piece in _pieces(frame, output):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _pieces(frame: pl.DataFrame, output: OutputFormat) -> Iterator[bytes]:
    if output is OutputFormat.CSV:
        text = frame.with_columns(_as_csv(column) for column in frame.iter_columns())
        yield text.clear().write_csv().encode()
        for rows in text.iter_slices(_PIECE_ROWS):
            yield rows.write_csv(include_header=False).encode()
    elif output is OutputFormat.JSON:
        objects = frame.with_columns(_as_json(column) for column in frame.iter_columns())
        yield objects.write_json().encode() + b"\n"
    else:
        buffer = BytesIO()
        frame.write_parquet(buffer)
        yield buffer.getvalue()


def _as_csv(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Binary:
        return column.bin.encode("hex")
    return _dumped(column) if column.dtype.is_nested() else column


def _as_json(column: pl.Series) -> pl.Series:
    kind = column.dtype
    if kind == pl.Binary:
        return column.bin.encode("hex")
    if isinstance(kind, pl.Decimal):
        return _as_number(column, kind)
    return _dumped(column) if kind == pl.Map else column


def _as_number(column: pl.Series, kind: pl.Decimal) -> pl.Series:
    """A sum of whole numbers comes as a decimal of 38 digits, most of them unused."""
    if kind.scale == 0:
        whole = column.cast(pl.Int64, strict=False)
        return column if whole.null_count() > column.null_count() else whole
    return column.cast(pl.Float64) if kind.precision <= _EXACT_DIGITS else column


def _dumped(column: pl.Series) -> pl.Series:
    """Lists, structures and maps as JSON text."""
    texts = [None if cell is None else json.dumps(cell, default=str) for cell in column.to_list()]
    return pl.Series(column.name, texts, dtype=pl.String)


def _show_table(console: Console, frame: pl.DataFrame) -> None:
    console.print(_frame_as_table(frame.head(TABLE_ROWS), console.width))
    more = f"; the first {TABLE_ROWS:,} are shown, --format csv gives all"
    tail = more if frame.height > TABLE_ROWS else ""
    console.print(f"{frame.height:,} row{'' if frame.height == 1 else 's'}{tail}", highlight=False)


def _frame_as_table(frame: pl.DataFrame, width: int) -> Table:
    """Rows side by side, or one below the other where they would not fit."""
    rows = [["NULL" if cell is None else str(cell) for cell in row] for row in frame.iter_rows()]
    widest = [max(map(len, column)) for column in zip(frame.columns, *rows, strict=True)]
    if sum(widest) + 3 * len(widest) > width and rows:
        return _stacked(frame.columns, rows)
    table = make_table("", frame.columns, text_columns=0)
    for column, kind in zip(table.columns, frame.dtypes, strict=True):
        column.justify = "right" if kind.is_numeric() else "left"
    for row in rows:
        add(table, row)
    return table


def _stacked(names: list[str], rows: list[list[str]]) -> Table:
    table = make_table("", ("column", "value"))
    table.columns[1].justify = "left"
    for number, row in enumerate(rows, start=1):
        add(table, (f"row {number}", ""))
        for name, cell in zip(names, row, strict=True):
            add(table, (f"  {name}", cell))
    return table
