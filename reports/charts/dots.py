"""Every repetition as a dot, and a line from the least to the most: one lane for each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from reports.charts.chart import Measure, Row, Rows, Spec, data, layered, measure_axis, tip

SHAPES = ("circle", "diamond")


@dataclass(frozen=True, slots=True)
class Lanes:
    """What a chart of dots shows.

    Attributes:
        dots: label, kind, block, value, text.
        kinds: each kind's colour, from the upper lane to the lower; two at most.
        domain: the least and the most that the axis has to hold.
    """

    dots: Sequence[Row]
    kinds: Mapping[str, str]
    domain: tuple[float, float]

    @property
    def ranges(self) -> list[Row]:
        """The least and the most of each lane."""
        lanes: dict[tuple[str, str], list[float]] = {}
        for dot in self.dots:
            lanes.setdefault((dot["label"], dot["kind"]), []).append(dot["value"])
        return [
            {"label": label, "kind": kind, "least": min(values), "most": max(values)}
            for (label, kind), values in lanes.items()
        ]

    def scale(self) -> alt.Scale:
        """The scale of the values."""
        return alt.Scale(domain=list(self.domain), nice=True, zero=False)

    def lane(self) -> alt.YOffset:
        """Where within its row a mark lies."""
        names = list(self.kinds)
        return alt.YOffset("kind:N", sort=names, scale=alt.Scale(domain=names, padding=0.4))

    def tint(self) -> alt.Color:
        """The colour of a mark."""
        tints = alt.Scale(domain=list(self.kinds), range=list(self.kinds.values()))
        return alt.Color("kind:N", scale=tints, legend=None)


def dots_chart(lanes: Lanes, rows: Rows, measure: Measure) -> Spec:
    """The lines behind, the dots before them."""
    return layered(
        _lines(lanes, rows, measure),
        _dots(lanes, rows, measure),
        height_px=rows.height_px,
        title=rows.title(),
    )


def _lines(lanes: Lanes, rows: Rows, measure: Measure) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data(lanes.ranges))
        .mark_rule(strokeWidth=2, opacity=0.45)
        .encode(
            x=alt.X("least:Q", scale=lanes.scale(), axis=measure_axis(measure)),
            x2="most:Q",
            y=rows.channel(),
            yOffset=lanes.lane(),
            color=lanes.tint(),
        )
    )
    return chart


def _dots(lanes: Lanes, rows: Rows, measure: Measure) -> alt.Chart:
    names = list(lanes.kinds)
    shapes = alt.Scale(domain=names, range=list(SHAPES[: len(names)]))
    chart: alt.Chart = (
        alt.Chart(data(lanes.dots))
        .mark_point(size=58, filled=True, opacity=0.9)
        .encode(
            x=alt.X("value:Q", scale=lanes.scale()),
            y=rows.channel(),
            yOffset=lanes.lane(),
            color=lanes.tint(),
            shape=alt.Shape("kind:N", scale=shapes, legend=None),
            tooltip=[
                tip("label", rows.heading),
                tip("kind", "what"),
                tip("block", "repetition"),
                tip("text", measure.title),
            ],
        )
    )
    return chart
