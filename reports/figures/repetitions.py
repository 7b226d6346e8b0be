"""Every repetition as a dot: how far the same scenario lies from itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.charts import Lanes, Measure, Row, dots_chart, specification
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
from reports.numbers import counted, show, show_range
from reports.reading import RunReading
from reports.scenarios import Cell, Series, series_of
from reports.theme import color

STATISTICS = {"mean": "end_to_end_mean_ms", "p99": "end_to_end_p99_ms"}
KINDS = {"mean": color("round-trip"), "p99": color("acquire-wait")}
MEASURE = Measure("end to end, ms")


def draw(reading: RunReading) -> Figure:
    """Mean and p99 of end to end of every trial, with a line from the least to the most."""
    panels = [
        _panel(reading, series, dots)
        for series in series_of(reading.cells)
        for dots in [[dot for cell in series.cells for dot in _dots(reading, cell)]]
        if dots
    ]
    key = (
        KeyEntry("mean", KINDS["mean"], "circle"),
        KeyEntry("p99: 99 of 100 requests took at most so long", KINDS["p99"], "diamond"),
    )
    return Figure(
        "repetitions",
        "Every repetition",
        _caption(reading),
        tuple(panels),
        key if panels else (),
    )


def _panel(reading: RunReading, series: Series, dots: Sequence[Row]) -> Panel:
    shared = [dot["value"] for cell in siblings(reading, series) for dot in _dots(reading, cell)]
    lanes = Lanes(dots, KINDS, (min(shared), max(shared)))
    spec = dots_chart(lanes, rows_of(series.cells), MEASURE)
    return Panel(series.name, specification(spec, _description(series.name, lanes)))


def _dots(reading: RunReading, cell: Cell) -> Iterator[Row]:
    for row in reading.repetitions(cell):
        for kind, metric in STATISTICS.items():
            if (value := row[metric]) is not None:
                yield {
                    "label": cell.label,
                    "kind": kind,
                    "block": str(row["block"]),
                    "value": value,
                    "text": show(value),
                }


def _description(name: str, lanes: Lanes) -> str:
    told = "; ".join(
        f"{row['label']} {row['kind']} {show_range(row['least'], row['most'])} ms"
        for row in lanes.ranges
    )
    return f"Dots for {name}, end to end of every repetition by pool size. {told}."


def _caption(reading: RunReading) -> str:
    series = told_series(reading)
    ends = ends_of(series)
    told = [words for cell in ends if (words := _spread(reading, cell))]
    if not told:
        return f"No repetition of {series.name} has a mean end to end at its smallest or largest."
    return joined(
        [
            f"In {series.name} the mean was {' and '.join(told)}{_meeting(reading, ends)}.",
            "The axes need not begin at zero.",
        ]
    )


def _means(reading: RunReading, cell: Cell) -> list[float]:
    means = [row["end_to_end_mean_ms"] for row in reading.repetitions(cell)]
    return [mean for mean in means if mean is not None]


def _spread(reading: RunReading, cell: Cell) -> str:
    means = _means(reading, cell)
    if not means:
        return ""
    return (
        f"{show_range(min(means), max(means))} ms over {counted(len(means), 'repetition')} "
        f"with {cell.connections}"
    )


def _meeting(reading: RunReading, ends: Sequence[Cell]) -> str:
    """Whether the ranges of the two pools share a stretch: a fact about them, not a test."""
    both = [_means(reading, cell) for cell in ends]
    if len(both) < 2 or min(len(means) for means in both) < 2:
        return ""
    apart = max(both[0]) < min(both[1]) or max(both[1]) < min(both[0])
    return "; the two ranges lie apart" if apart else "; the two ranges overlap"
