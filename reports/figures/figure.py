"""What a figure is made of, and what several figures have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports.charts import Rows, Spec
from reports.reading import RunReading
from reports.scenarios import Cell, Series, series_of

ROWS_HEADING = "pool size"


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """An entry of a figure's key: what it stands for, its colour, and the form it has."""

    name: str
    color: str
    form: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart with its heading."""

    title: str
    spec: Spec


@dataclass(frozen=True, slots=True)
class Figure:
    """A question that a picture answers: its panels, its key, and the sentences under it."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...] = ()
    key: tuple[KeyEntry, ...] = ()
    wide: bool = False
    """Whether a single panel takes the page's whole width."""


def rows_of(cells: Sequence[Cell]) -> Rows:
    """The rows of a panel: the pools of a series."""
    return Rows([cell.label for cell in cells], ROWS_HEADING)


def siblings(reading: RunReading, series: Series) -> list[Cell]:
    """All cells of the same workload: their panels share an axis, so that they can be compared."""
    return [cell for cell in reading.cells if cell.workload == series.workload]


def told_series(reading: RunReading) -> Series:
    """The series that a caption speaks of: the first of the page, where requests take longest."""
    return series_of(reading.cells)[0]


def ends_of(series: Series) -> list[Cell]:
    """The smallest and the largest pool; only one where there is only one."""
    return list(dict.fromkeys((series.smallest, series.largest)))


def joined(sentences: Iterable[str]) -> str:
    """Sentences one after the other; what is empty is left out."""
    return " ".join(sentence for sentence in sentences if sentence)
