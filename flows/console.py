"""How anything reaches the terminal: a console, quiet tables, and text that is only text."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from enum import StrEnum

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED_WIDTH = 120
"""Columns where the output is no terminal: room for the tables, and diffs stay readable."""

_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


class OutputFormat(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def make_console() -> Console:
    """A console that is as wide as the terminal, or wide enough where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPED_WIDTH)


def plain(text: object, style: str = "") -> Text:
    """Text that a person or a server may have written: never markup, never an escape sequence."""
    shown = "".join(char if _is_harmless(char) else _UNPRINTABLE for char in str(text))
    return Text(shown, style=style)


def _is_harmless(char: str) -> bool:
    return char in "\n\t" or not unicodedata.category(char).startswith("C")


def make_table(title: str, headings: Iterable[str], *, text_columns: int = 1) -> Table:
    """A quiet table: the first columns are words, the others numbers."""
    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index < text_columns else "right")
    return table


def add(table: Table, cells: Iterable[object]) -> None:
    """Add a row; None is an empty cell."""
    table.add_row(*(plain("" if cell is None else cell) for cell in cells))


def show_frame(console: Console, frame: pl.DataFrame, output: OutputFormat) -> None:
    """Rows of a query, in the format that was asked for."""
    if output is OutputFormat.CSV:
        sys.stdout.write(frame.write_csv())
    elif output is OutputFormat.JSON:
        sys.stdout.write(frame.write_json() + "\n")
    elif output is OutputFormat.PARQUET:
        frame.write_parquet(sys.stdout.buffer)
    else:
        console.print(_frame_as_table(frame, console.width))
        console.print(f"{frame.height:,} rows", highlight=False)


def _frame_as_table(frame: pl.DataFrame, width: int) -> Table:
    """Rows side by side, or one below the other where they would not fit."""
    rows = [["NULL" if cell is None else str(cell) for cell in row] for row in frame.iter_rows()]
    widest = [max(map(len, column)) for column in zip(frame.columns, *rows, strict=True)]
    if sum(widest) + 3 * len(widest) > width and rows:
        table = make_table("", ("column", "value"))
        table.columns[1].justify = "left"
        for number, row in enumerate(rows, start=1):
            add(table, (f"row {number}", ""))
            for name, cell in zip(frame.columns, row, strict=True):
                add(table, (f"  {name}", cell))
        return table
    table = make_table("", frame.columns, text_columns=0)
    for column, kind in zip(table.columns, frame.dtypes, strict=True):
        column.justify = "right" if kind.is_numeric() else "left"
    for row in rows:
        add(table, row)
    return table
