"""The database's memory by pool size: the largest reading of each window, by kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.charts import Measure, Row, Stack, specification, stack_chart
from reports.figures.figure import (
    Figure,
    KeyEntry,
    Panel,
    ends_of,
    joined,
    rows_of,
    siblings,
    told_series,
)
from reports.numbers import listed, show
from reports.reading import RunReading
from reports.scenarios import Cell, Series, series_of
from reports.theme import color

WHOLE = "database_memory_mib"
KINDS = {
    "anonymous": ("anonymous", "database_memory_anon_mib"),
    "shared": ("shared", "database_memory_shmem_mib"),
    "page-cache": ("page cache", "database_memory_file_mib"),
}
"""Colour, name and column of each kind that the kernel tells apart."""

REST = "other"
MEASURE = Measure("memory of the database's group, MiB")


def draw(reading: RunReading) -> Figure:
    """Bars of medians over the repetitions; a tick for the whole of each repetition."""
    panels = [
        _panel(reading, series, told)
        for series in series_of(reading.cells)
        for told in [[cell for cell in series.cells if _known(reading, cell)]]
        if told
    ]
    return Figure(
        "memory",
        "Memory of the database",
        _caption(reading) if panels else _nothing(),
        tuple(panels),
        tuple(_key()) if panels else (),
    )


def _key() -> Iterator[KeyEntry]:
    for part, (name, _) in KINDS.items():
        yield KeyEntry(name, color(part), "block")
    yield KeyEntry(REST, color(REST), "block")
    yield KeyEntry("whole, each repetition", color("ink"), "tick")


def _known(reading: RunReading, cell: Cell) -> bool:
    return reading.scenario(cell)[WHOLE] is not None


def _panel(reading: RunReading, series: Series, cells: Sequence[Cell]) -> Panel:
    shared = [cell for cell in siblings(reading, series) if _known(reading, cell)]
    stack = Stack(
        segments=[row for cell in cells for row in _segments(reading, cell)],
        totals=[_total(reading, cell) for cell in cells],
        repetitions=[row for cell in cells for row in _ticks(reading, cell)],
        parts=[*KINDS, REST],
        longest=max(_reach(reading, cell) for cell in shared),
        total="whole",
    )
    told = "; ".join(_told(reading, cell) for cell in cells)
    description = f"Stacked bars for {series.name}, memory of the database. {told}."
    spec = stack_chart(stack, rows_of(cells), MEASURE)
    return Panel(series.name, specification(spec, description))


def _segments(reading: RunReading, cell: Cell) -> Iterator[Row]:
    row = reading.scenario(cell)
    kinds = [(part, name, row[column] or 0.0) for part, (name, column) in KINDS.items()]
    rest = row[WHOLE] - sum(value for _, _, value in kinds)
    end = 0.0
    for part, name, value in [*kinds, (REST, REST, rest)]:
        # Each kind is a maximum of its own, so together they may exceed the whole by a little.
        if value > 0:
            start, end = end, end + value
            yield {
                "label": cell.label,
                "part": part,
                "name": name,
                "start": start,
                "end": end,
                "value": value,
                "text": show(value),
            }


def _ticks(reading: RunReading, cell: Cell) -> Iterator[Row]:
    for row in reading.repetitions(cell):
        if (value := row[WHOLE]) is not None:
            block = str(row["block"])
            yield {"label": cell.label, "block": block, "value": value, "text": show(value)}


def _total(reading: RunReading, cell: Cell) -> Row:
    return {"label": cell.label, "text": show(reading.scenario(cell)[WHOLE])}


def _reach(reading: RunReading, cell: Cell) -> float:
    """How far the cell's bar and its ticks go."""
    ends: list[float] = [row["end"] for row in _segments(reading, cell)]
    ticks: list[float] = [row["value"] for row in _ticks(reading, cell)]
    return max(ends + ticks)


def _told(reading: RunReading, cell: Cell) -> str:
    return f"{show(reading.scenario(cell)[WHOLE])} MiB with {cell.connections}"


def _caption(reading: RunReading) -> str:
    series = told_series(reading)
    ends = [cell for cell in ends_of(series) if _known(reading, cell)]
    told = listed(_told(reading, cell) for cell in ends)
    return joined(
        [
            f"In {series.name} the database held {told}{_per_connection(reading, ends)}."
            if ends
            else "",
            "Every pool was opened whole before its window; an application that opens "
            "connections when it needs them may hold less.",
        ]
    )


def _per_connection(reading: RunReading, ends: Sequence[Cell]) -> str:
    if len(ends) < 2:
        return ""
    grown = reading.scenario(ends[1])[WHOLE] - reading.scenario(ends[0])[WHOLE]
    more = ends[1].pool_size - ends[0].pool_size
    return f": {show(grown / more, 2)} MiB for each connection more"


def _nothing() -> str:
    return (
        "Nothing to draw: the counters of the database's control group were not read in this "
        "run, so its memory is not known."
    )
