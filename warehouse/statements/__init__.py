"""The warehouse's own statements, one a file, by name."""

from __future__ import annotations

from functools import cache
from importlib import resources

_FOLDER = resources.files("warehouse.statements")


@cache
def statement(name: str) -> str:
    """The text of a statement."""
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
