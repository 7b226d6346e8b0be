"""What all charts have in common: data as plain rows, axes, tips, and the finished specification.

Every chart names its fields itself; names out of an experiment occur as values only, so that a
dot, a bracket or an expression in one is text and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from reports.theme import chart_config, color

Row = Mapping[str, Any]
Spec = dict[str, Any]

ROW_PX = 40
CURVE_PX = 230

DECIMAL = ",~r"
"""d3's format of a number as a person writes it, never with an exponent."""

SIGNIFICANT_DIGITS = 6
"""More than any screen shows; fewer make a smaller page."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What an axis shows: its title with the unit, and whether the values are shares of one."""

    title: str
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a chart from top to bottom, and what they are."""

    labels: Sequence[str]
    heading: str

    @property
    def height_px(self) -> int:
        """How high the chart is without its axes."""
        return ROW_PX * len(self.labels)

    def channel(self) -> alt.Y:
        """The vertical position of a mark, by its label."""
        names = list(self.labels)
        axis = alt.Axis(title=None, grid=False)
        return alt.Y("label:N", sort=names, scale=alt.Scale(domain=names), axis=axis)

    def title(self, offset_px: int = 4) -> alt.TitleParams:
        """What the rows are, above their labels: as the axis' title it would take a column."""
        return alt.TitleParams(
            self.heading,
            anchor="start",
            frame="bounds",
            fontSize=12,
            fontWeight="normal",
            color=color("muted"),
            offset=offset_px,
        )


def plain(value: object) -> object:
    """A value that JSON can hold: what is not finite is no number, and becomes null."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None


def data(rows: Iterable[Row]) -> alt.InlineData:
    """Rows as they stand in the specification."""
    values = [{key: plain(value) for key, value in row.items()} for row in rows]
    return alt.InlineData(values=values)


def measure_axis(measure: Measure) -> alt.Axis:
    """The axis along which the measure runs."""
    if measure.percent:
        return alt.Axis(title=measure.title, values=[0, 0.25, 0.5, 0.75, 1], format=".0%")
    return alt.Axis(title=measure.title, tickCount=5, format=DECIMAL)


def tip(field: str, title: str) -> alt.Tooltip:
    """A line of the box that appears beside a mark."""
    return alt.Tooltip(f"{field}:N", title=title)


def layered(*layers: alt.Chart, height_px: int, title: alt.TitleParams | None = None) -> Spec:
    """Layers one above the other, as Vega-Lite; where each has colours of its own."""
    chart = alt.LayerChart(layer=list(layers), height=height_px).resolve_scale(color="independent")
    if title is not None:
        chart.title = title
    spec: Spec = chart.to_dict()
    return spec


def specification(spec: Spec, description: str) -> Spec:
    """The chart as a page takes it: as wide as its place, with the words a screen reader says."""
    return {
        **spec,
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding", "resize": True},
        "description": description,
        "config": chart_config(),
    }
