"""One scenario over its runs: a dot a run, what was expected of it, and where something changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from reports.charts.chart import DECIMAL, Measure, Row, Spec, data, layered, tip
from reports.theme import color

HEIGHT_PX = 170

PLACES: Mapping[str, str] = {
    "inside": color("accent"),
    "outside": color("bad"),
    "not known yet": color("other"),
    "not counted": color("line"),
}
"""The colour of a run by where it lies."""

SHAPES: Mapping[str, str] = {
    "inside": "circle",
    "outside": "diamond",
    "not known yet": "circle",
    "not counted": "cross",
}


def trend_chart(
    points: Sequence[Row], changes: Sequence[Row], walls: Sequence[Row], measure: Measure
) -> Spec:
    """Dots in the order of the runs, the expected ranges behind them.

    Args:
        points: at (the run's number), value, low, high (None where nothing is expected), place,
            run, date, label, text, expected.
        changes: at: the number of the run from which on the level is another one.
        walls: at: the number of the first run under other conditions.
        measure: what the values are.
    """
    layers = [_expected(points), _dots(points, measure)]
    if walls:
        layers.insert(0, _lines(walls, color("muted"), [2, 3]))
    if changes:
        layers.insert(0, _lines(changes, color("bad"), [1, 0]))
    return layered(*layers, height_px=HEIGHT_PX)


def _lines(rows: Sequence[Row], tint: str, dash: list[int]) -> alt.Chart:
    before = [{"at": row["at"] - 0.5} for row in rows]
    chart: alt.Chart = (
        alt.Chart(data(before))
        .mark_rule(color=tint, strokeDash=dash, strokeWidth=1.5)
        .encode(x=alt.X("at:Q"))
    )
    return chart


def _expected(points: Sequence[Row]) -> alt.Chart:
    known = [point for point in points if point["low"] is not None]
    chart: alt.Chart = (
        alt.Chart(data(known))
        .mark_rule(strokeWidth=7, opacity=0.2, color=color("accent"))
        .encode(x=alt.X("at:Q"), y=alt.Y("low:Q", scale=alt.Scale(zero=False)), y2=alt.Y2("high:Q"))
    )
    return chart


def _dots(points: Sequence[Row], measure: Measure) -> alt.Chart:
    names = list(PLACES)
    tints = alt.Scale(domain=names, range=list(PLACES.values()))
    shapes = alt.Scale(domain=names, range=list(SHAPES.values()))
    order = alt.Axis(title="run, in order", grid=False, tickMinStep=1, format="d")
    axis = alt.Axis(title=measure.title, tickCount=5, format=DECIMAL)
    chart: alt.Chart = (
        alt.Chart(data(points))
        .mark_point(size=52, filled=True, opacity=0.95)
        .encode(
            x=alt.X("at:Q", scale=alt.Scale(nice=False, zero=False, padding=12), axis=order),
            y=alt.Y("value:Q", scale=alt.Scale(zero=False, nice=True), axis=axis),
            color=alt.Color("place:N", scale=tints, legend=None),
            shape=alt.Shape("place:N", scale=shapes, legend=None),
            tooltip=[
                tip("run", "run"),
                tip("date", "date"),
                tip("label", "label"),
                tip("text", "value"),
                tip("expected", "expected"),
                tip("place", "place"),
            ],
        )
    )
    return chart
