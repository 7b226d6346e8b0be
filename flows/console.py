"""How anything reaches the terminal: a console, quiet tables, and text that is only text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED_WIDTH = 120
"""Columns where the output is no terminal: room for the tables, and diffs stay readable."""

_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


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
