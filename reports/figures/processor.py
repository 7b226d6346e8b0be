"""The database's processor: mean use beside throttling, both as shares, by pool size.

Their distance is the point: a mean over the window says little about what happens within
periods of some milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

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
from reports.numbers import listed, show, show_share
from reports.reading import Facts, RunReading
from reports.scenarios import Cell, Series, series_of
from reports.theme import color

USED, THROTTLED = "mean CPU", "throttled"
KINDS = {USED: color("round-trip"), THROTTLED: color("acquire-wait")}
SHARES = Measure("share of the limit; of active periods", percent=True)
CORES = Measure("mean CPU of the database, cores")
KEY = (
    KeyEntry("mean CPU, share of the limit", KINDS[USED], "circle"),
    KeyEntry("throttled, share of active periods", KINDS[THROTTLED], "diamond"),
)


def draw(reading: RunReading) -> Figure:
    """Shares of the limit and of the active periods; cores alone where there is no limit."""
    limited = _limited(reading)
    panels = [
        _panel(reading, series, dots, limited=limited)
        for series in series_of(reading.cells)
        for dots in [[d for cell in series.cells for d in _dots(reading, cell, limited=limited)]]
        if dots
    ]
    return Figure(
        "processor",
        "Processor of the database: use and throttling",
        _caption(reading, limited=limited) if panels else _nothing(),
        tuple(panels),
        KEY if panels and limited else (),
    )


def _limited(reading: RunReading) -> bool:
    """Whether every trial's limit was in force, so that shares of it mean something."""
    accepted = reading.trials.drop_nulls("attempt")
    in_force = accepted["database_limit_in_force"].fill_null(value=False)
    return accepted.height > 0 and bool(in_force.all())


def _panel(reading: RunReading, series: Series, dots: Sequence[Row], *, limited: bool) -> Panel:
    shared = [
        dot["value"]
        for cell in siblings(reading, series)
        for dot in _dots(reading, cell, limited=limited)
    ]
    lanes = Lanes(
        dots,
        KINDS if limited else {USED: KINDS[USED]},
        (0.0, max(1.0, *shared) if limited else max(shared)),
    )
    spec = dots_chart(lanes, rows_of(series.cells), SHARES if limited else CORES)
    told = "; ".join(_told(reading, cell) for cell in series.cells if reading.scenario(cell)["n"])
    description = f"Dots for {series.name}, processor of the database by pool size. {told}."
    return Panel(series.name, specification(spec, description))


def _dots(reading: RunReading, cell: Cell, *, limited: bool) -> Iterator[Row]:
    limit_cores = _limit_cores(reading, cell) if limited else None
    for row in reading.repetitions(cell):
        if (cores := row["database_cpu_cores"]) is not None:
            text = f"{show(cores, 3)} cores"
            share = cores
            if limit_cores:
                share = cores / limit_cores
                text += f", {show_share(share)} of the limit"
            yield _dot(cell, row, USED, share, text)
        if limited and (throttled := row["database_throttled_share"]) is not None:
            yield _dot(cell, row, THROTTLED, throttled, show_share(throttled))


def _dot(cell: Cell, row: Facts, kind: str, value: float, text: str) -> Row:
    return {
        "label": cell.label,
        "kind": kind,
        "block": str(row["block"]),
        "value": value,
        "text": text,
    }


def _limit_cores(reading: RunReading, cell: Cell) -> float | None:
    own = reading.trials.filter(pl.col("scenario") == cell.scenario)
    cores: float | None = own["database_cores"][0]
    return cores


def _told(reading: RunReading, cell: Cell) -> str:
    row, limit = reading.scenario(cell), _limit_cores(reading, cell)
    allowed = f" of {limit:g}" if limit and _limited(reading) else ""
    used = f"{show(row['database_cpu_cores'], 3)}{allowed} cores with {cell.connections}"
    share = row["database_throttled_share"]
    return used if share is None else f"{used} while {show_share(share)} of periods were throttled"


def _caption(reading: RunReading, *, limited: bool) -> str:
    series = told_series(reading)
    told = [_told(reading, cell) for cell in ends_of(series) if reading.scenario(cell)["n"]]
    if limited:
        meaning = (
            "Only periods in which the group ran count; a share of them is no share of the time, "
            "and no waiting time."
        )
    else:
        meaning = "Not every trial had its limit in force, so no shares of a limit are drawn."
    return joined([f"In {series.name} the database used {listed(told)}." if told else "", meaning])


def _nothing() -> str:
    return (
        "Nothing to draw: the counters of the database's control group were not read in this "
        "run, so neither its CPU nor its throttling is known."
    )
