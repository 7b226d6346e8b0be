"""Where the time of a request went: the mean of each phase, stacked by pool size."""

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
from reports.numbers import decimals_for, listed, show, show_share
from reports.reading import RunReading
from reports.scenarios import Cell, Series, series_of
from reports.theme import color

PHASES = {
    "send-lag": "send lag",
    "acquire-wait": "acquire wait",
    "round-trip": "round trip",
    "release": "release",
}
"""Colour and name of each phase, in the order in which a request meets them."""

MEASURE = Measure("mean time, ms")
NO_MISS = 0.0005
"""Below this share the parts of a bar add up to the number at its end."""


def draw(reading: RunReading) -> Figure:
    """Bars of medians over the repetitions; a tick for the end to end of each repetition."""
    panels = [
        _panel(reading, series, told)
        for series in series_of(reading.cells)
        for told in [[cell for cell in series.cells if _means(reading, cell)]]
        if told
    ]
    key = [KeyEntry(name, color(part), "block") for part, name in PHASES.items()]
    key.append(KeyEntry("end to end, each repetition", color("ink"), "tick"))
    return Figure(
        "phases",
        "Where the time of a request went",
        _caption(reading),
        tuple(panels),
        tuple(key) if panels else (),
    )


def _panel(reading: RunReading, series: Series, cells: Sequence[Cell]) -> Panel:
    stack = Stack(
        segments=[row for cell in cells for row in _segments(reading, cell)],
        totals=[_total(reading, cell) for cell in cells],
        repetitions=[row for cell in cells for row in _ticks(reading, cell)],
        parts=list(PHASES),
        longest=max(_reach(reading, cell) for cell in siblings(reading, series)),
        total="end to end",
    )
    spec = stack_chart(stack, rows_of(cells), MEASURE)
    return Panel(series.name, specification(spec, _description(series.name, stack.segments)))


def _means(reading: RunReading, cell: Cell) -> dict[str, float]:
    row = reading.scenario(cell)
    means = {part: row[f"{part.replace('-', '_')}_mean_ms"] for part in PHASES}
    return {part: mean for part, mean in means.items() if mean is not None}


def _segments(reading: RunReading, cell: Cell) -> Iterator[Row]:
    means = _means(reading, cell)
    end, decimals = 0.0, decimals_for(means.values())
    for part, mean in means.items():
        start, end = end, end + mean
        yield {
            "label": cell.label,
            "part": part,
            "name": PHASES[part],
            "start": start,
            "end": end,
            "value": mean,
            "text": show(mean, decimals),
        }


def _total(reading: RunReading, cell: Cell) -> Row:
    return {"label": cell.label, "text": show(reading.scenario(cell)["end_to_end_mean_ms"])}


def _reach(reading: RunReading, cell: Cell) -> float:
    """How far the cell's bar and its ticks go."""
    ticks: list[float] = [row["value"] for row in _ticks(reading, cell)]
    return max([sum(_means(reading, cell).values()), *ticks])


def _ticks(reading: RunReading, cell: Cell) -> Iterator[Row]:
    for row in reading.repetitions(cell):
        if (value := row["end_to_end_mean_ms"]) is not None:
            block = str(row["block"])
            yield {"label": cell.label, "block": block, "value": value, "text": show(value)}


def _description(name: str, segments: Sequence[Row]) -> str:
    told = [f"{row['label']}: {row['name']} {row['text']} ms" for row in segments]
    return f"Stacked bars for {name}, mean of each phase by pool size. {'; '.join(told)}."


def _caption(reading: RunReading) -> str:
    series = told_series(reading)
    ends = [cell for cell in ends_of(series) if _means(reading, cell)]
    if not ends:
        return f"No request of {series.name} was measured at either end of its pool sizes."
    wait, trip = (_shares(reading, part, ends) for part in ("acquire-wait", "round-trip"))
    wait_told = listed(
        f"{share} with {cell.connections}" for share, cell in zip(wait, ends, strict=True)
    )
    return joined(
        [
            f"In {series.name}, of a request's time the acquire wait is {wait_told}; "
            f"the round trip is {listed(trip)}.",
            "Each workload has an axis of its own: compare the bars within one.",
            _rounding(reading),
        ]
    )


def _shares(reading: RunReading, part: str, cells: Sequence[Cell]) -> list[str]:
    """What part of each cell's bar the phase is."""
    all_means = [_means(reading, cell) for cell in cells]
    return [show_share(means.get(part, 0.0) / sum(means.values())) for means in all_means]


def _rounding(reading: RunReading) -> str:
    """How far the stacked medians of the phases miss the median end to end, at most."""
    misses = [0.0]
    for cell in reading.cells:
        if whole := reading.scenario(cell)["end_to_end_mean_ms"]:
            misses.append(abs(sum(_means(reading, cell).values()) / whole - 1))
    if max(misses) < NO_MISS:
        return "Every part is the median over the repetitions."
    return (
        "Every part is the median over the repetitions, so the parts of a bar may miss the "
        f"number beside it, here by {show_share(max(misses))} at most."
    )
