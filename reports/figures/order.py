"""The order of the trials: whether the machine changed while the run went on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from reports.charts import Measure, Row, order_chart, specification
from reports.figures.figure import Figure, KeyEntry, Panel, joined
from reports.numbers import show
from reports.reading import RunReading
from reports.scenarios import series_of
from reports.theme import SERIES_SHAPES, series_color

MEASURE = Measure("mean against its scenario's median", percent=True)


def draw(reading: RunReading) -> Figure:
    """Mean end to end of every trial against the median of its scenario, in order."""
    points = sorted(_points(reading), key=lambda row: row["trial"])
    names = [series.name for series in series_of(reading.cells)]
    tints = {name: series_color(place) for place, name in enumerate(names)}
    title = "The trials in their order"
    if reading.run["repetitions"] < 2 or len(points) < 2:
        caption = (
            "Nothing to draw: a trial is set against other repetitions of its scenario, and "
            "there are none."
        )
        return Figure("order", title, caption)
    spec = order_chart(points, _walls(reading), tints, MEASURE)
    panel = Panel("", specification(spec, f"Dots, one a trial. {_extremes(points)}"))
    key = tuple(
        KeyEntry(name, tint, SERIES_SHAPES[place % len(SERIES_SHAPES)])
        for place, (name, tint) in enumerate(tints.items())
    )
    return Figure("order", title, _caption(points), (panel,), key, wide=True)


def _points(reading: RunReading) -> Iterator[Row]:
    for cell in reading.cells:
        median = reading.scenario(cell)["end_to_end_mean_ms"]
        for row in reading.repetitions(cell):
            mean = row["end_to_end_mean_ms"]
            if median and mean is not None:
                yield {
                    "trial": row["trial"],
                    "block": str(row["block"]),
                    "scenario": cell.scenario,
                    "series": cell.series,
                    "value": mean / median - 1,
                    "text": f"{show(mean)} ms",
                }


def _walls(reading: RunReading) -> list[Row]:
    firsts = reading.trials.group_by("block").agg(pl.col("trial").min()).sort("block")
    return [{"at": first - 0.5} for first in firsts["trial"][1:]]


def _signed(share: float) -> str:
    return f"{100 * share:+.0f} %".replace("-", "−")


def _extremes(points: Sequence[Row]) -> str:
    ends = [choose(points, key=lambda row: row["value"]) for choose in (max, min)]
    told = " and ".join(
        f"trial {row['trial']} ({row['scenario']}, {_signed(row['value'])})" for row in ends
    )
    return f"Farthest from the median of their scenario are {told}."


def _caption(points: Sequence[Row]) -> str:
    return joined(
        [
            _extremes(points),
            "Each trial is set against the median of its own scenario; dotted lines part the "
            "repetitions. Dots that climb or fall together from left to right would show that "
            "the machine changed during the run.",
        ]
    )
