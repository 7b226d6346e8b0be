"""Reads a report's page as a browser's parser would: tables, scripts, charts, links, text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "br", "img", "link", "input", "hr", "rect", "path", "circle"}
LOADING = {"src", "href", "srcset", "action", "formaction", "data", "poster", "ping", "background"}


@dataclass(slots=True)
class Cell:
    """One place of a table: what it shows, the range beside it, and the number it stands for."""

    text: str = ""
    beside: str = ""
    name: str = ""
    value: str = ""


@dataclass(slots=True)
class Row:
    """One row of a table, with its key and the title of its group."""

    key: str
    group: str
    cells: list[Cell] = field(default_factory=list)


class Page(HTMLParser):
    """The parts of a page that tests look at.

    Attributes:
        tables: rows of each table, by the table's id; heads apart in `heads`.
        links: every address that an attribute holds, with its element.
        handlers: every attribute that would run a script.
        scripts: the texts of all executable scripts.
        charts: the specification of every chart, by its id.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, list[Row]] = {}
        self.heads: dict[str, list[str]] = {}
        self.links: list[tuple[str, str]] = []
        self.handlers: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.charts: dict[str, dict[str, Any]] = {}
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._path: list[tuple[str, dict[str, str]]] = []
        self._table = ""
        self._group = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        self.links += [(tag, value) for name, value in attributes.items() if name in LOADING]
        self.handlers += [(tag, name) for name in attributes if name.startswith("on")]
        if tag == "table":
            self._table = attributes["id"]
            self.tables[self._table], self.heads[self._table] = [], []
        elif tag == "tr":
            self.tables[self._table].append(Row(attributes.get("data-key", ""), self._group))
        elif tag == "td":
            self.tables[self._table][-1].cells.append(
                Cell(name=attributes.get("data-name", ""), value=attributes.get("data-value", ""))
            )
        elif tag == "th" and attributes.get("scope") == "rowgroup":
            self._group = ""
        elif tag == "script" and attributes.get("type", "") != "application/json":
            self.scripts.append("")
        if tag not in VOID:
            self._path.append((tag, attributes))

    def handle_endtag(self, tag: str) -> None:
        while self._path and self._path.pop()[0] != tag:
            pass

    def handle_data(self, text: str) -> None:
        tags = [tag for tag, _ in self._path]
        if not tags or tags[-1] == "style":
            return
        if tags[-1] == "script":
            self._script(self._path[-1][1], text)
            return
        self.text += text
        if "td" in tags:
            cell = self.tables[self._table][-1].cells[-1]
            if tags[-1] == "i":
                cell.beside += text
            elif tags[-1] != "sup":
                cell.text += text
        elif "th" in tags:
            self._head(tags, text)

    def _script(self, attributes: dict[str, str], text: str) -> None:
        if attributes.get("type") == "application/json":
            self.charts[attributes["id"]] = json.loads(text, parse_constant=_refuse)
        else:
            self.scripts[-1] += text

    def _head(self, tags: list[str], text: str) -> None:
        scope = next(given.get("scope") for tag, given in reversed(self._path) if tag == "th")
        if scope == "rowgroup":
            self._group += text
        elif tags[-1] == "th":
            self.heads[self._table].append(text.strip())

    def rows(self, table: str) -> list[Row]:
        """The rows of a table that hold cells."""
        return [row for row in self.tables[table] if row.cells]


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def chart_values(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows of data that a chart draws."""
    return [row for rows in spec["datasets"].values() for row in rows]
