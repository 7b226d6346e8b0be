"""How long requests took end to end: the whole distribution, a line for every repetition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from reports.charts import Measure, Row, curves_chart, specification
from reports.figures.figure import Figure, KeyEntry, Panel, ends_of, joined, siblings, told_series
from reports.numbers import decimals_for, listed, show
from reports.reading import RunReading
from reports.scenarios import Cell, Series, series_of
from reports.theme import level_colors

MEASURE = Measure("end to end, ms, logarithmic")


def draw(reading: RunReading) -> Figure:
    """Cumulative shares on a logarithmic axis."""
    panels = [
        _panel(reading, series, points)
        for series in series_of(reading.cells)
        for points in [[row for cell in series.cells for row in _points(reading, cell)]]
        if points
    ]
    return Figure(
        "distributions",
        "How long requests took, end to end",
        _caption(reading),
        tuple(panels),
        tuple(_key(reading)) if panels else (),
    )


def _tints(reading: RunReading) -> dict[str, str]:
    """The colour of every pool size of the run, the same in each panel."""
    sizes = sorted({cell.pool_size for cell in reading.cells})
    return dict(zip(map(str, sizes), level_colors(len(sizes)), strict=True))


def _key(reading: RunReading) -> Iterator[KeyEntry]:
    words = {cell.label: cell.connections for cell in reading.cells}
    for label, tint in _tints(reading).items():
        yield KeyEntry(words[label], tint, "line")


def _panel(reading: RunReading, series: Series, points: Sequence[Row]) -> Panel:
    tints = _tints(reading)
    shared = [row["value"] for cell in siblings(reading, series) for row in _points(reading, cell)]
    colors = {cell.label: tints[cell.label] for cell in series.cells}
    spec = curves_chart(points, colors, MEASURE, (min(shared), max(shared)))
    return Panel(series.name, specification(spec, _description(reading, series)))


def _points(reading: RunReading, cell: Cell) -> Iterator[Row]:
    own = reading.quantiles.filter(pl.col("scenario") == cell.scenario)
    for row in own.sort("trial", "probability").iter_rows(named=True):
        if (value := row["end_to_end_ms"]) is not None:
            yield {
                "label": cell.label,
                "trial": row["trial"],
                "block": str(row["block"]),
                "share": row["probability"],
                "value": value,
            }


def _quantiles(reading: RunReading, cell: Cell) -> str:
    row = reading.scenario(cell)
    middle, tail = row["end_to_end_p50_ms"], row["end_to_end_p99_ms"]
    decimals = decimals_for([middle, tail])
    return f"{show(middle, decimals)} and {show(tail, decimals)} ms with {cell.connections}"


def _description(reading: RunReading, series: Series) -> str:
    measured = [cell for cell in series.cells if reading.scenario(cell)["n"]]
    told = "; ".join(_quantiles(reading, cell) for cell in measured)
    return (
        f"Cumulative distributions of end to end for {series.name}, a line for each repetition. "
        f"Half, and 99 of 100 requests, took at most: {told}."
    )


def _caption(reading: RunReading) -> str:
    series = told_series(reading)
    cells = [cell for cell in ends_of(series) if reading.scenario(cell)["n"]]
    if not cells:
        return f"No request of {series.name} was measured at either end of its pool sizes."
    told = listed(_quantiles(reading, cell) for cell in cells)
    return joined(
        [
            f"In {series.name} half of the requests, and 99 of 100, took at most {told}.",
            "A line further right is slower. Lines of one colour are repetitions of one scenario: "
            "as far as they lie apart, two scenarios may by chance.",
            _failures(reading),
        ]
    )


def _failures(reading: RunReading) -> str:
    if not any(reading.scenario(cell)["failed"] for cell in reading.cells):
        return ""
    return "A line that ends below 100 % leaves out the requests that failed."
