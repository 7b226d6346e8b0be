"""Every trial in the order of measurement, against the median of its scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from reports.charts.chart import Measure, Row, Spec, data, layered, tip
from reports.theme import SERIES_SHAPES

HEIGHT_PX = 200


def order_chart(
    points: Sequence[Row], walls: Sequence[Row], colors: Mapping[str, str], measure: Measure
) -> Spec:
    """One dot a trial, with a wall where another repetition begins.

    Args:
        points: trial, block, scenario, series, value (share above the median), text.
        walls: at: a place between two trials.
        colors: of each series.
        measure: what the values are.
    """
    middle = alt.Chart(data([{"value": 0}])).mark_rule().encode(y="value:Q")
    wall = alt.Chart(data(walls)).mark_rule(strokeDash=[2, 3], opacity=0.7).encode(x="at:Q")
    dots = _dots(points, colors, measure)
    layers = (middle, wall, dots) if walls else (middle, dots)
    return layered(*layers, height_px=HEIGHT_PX)


def _dots(points: Sequence[Row], colors: Mapping[str, str], measure: Measure) -> alt.Chart:
    names = list(colors)
    shapes = [SERIES_SHAPES[place % len(SERIES_SHAPES)] for place in range(len(names))]
    tints = alt.Scale(domain=names, range=list(colors.values()))
    order = alt.Axis(title="trial, in order", grid=False, tickMinStep=1, format="d")
    chart: alt.Chart = (
        alt.Chart(data(points))
        .mark_point(size=64, filled=True, opacity=0.9)
        .encode(
            x=alt.X("trial:Q", scale=alt.Scale(nice=False, zero=False, padding=12), axis=order),
            y=alt.Y("value:Q", axis=alt.Axis(title=measure.title, format="+.0%", tickCount=5)),
            color=alt.Color("series:N", scale=tints, legend=None),
            shape=alt.Shape("series:N", scale=alt.Scale(domain=names, range=shapes), legend=None),
            tooltip=[
                alt.Tooltip("trial:Q", title="trial"),
                tip("scenario", "scenario"),
                tip("block", "repetition"),
                tip("text", "end to end"),
            ],
        )
    )
    return chart
