"""Ratios of one run to another: a dot a scenario, with the interval that a claim rests on."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from reports.charts.chart import Measure, Row, Rows, Spec, data, layered, tip
from reports.charts.curves import log_ticks
from reports.theme import color

MARGIN = 1.05
NARROWEST = 1.25
"""The axis reaches at least so far to either side, so that a change of 1 % looks small."""


def ratios_chart(dots: Sequence[Row], relevant: tuple[float, float], measure: Measure) -> Spec:
    """Dots and intervals on a logarithmic axis, with no difference and what is relevant marked.

    Args:
        dots: label, ratio, low, high (None where nothing is known of the scatter), text, claim.
        relevant: between these ratios a difference is not relevant.
        measure: what the ratios are of.
    """
    rows = Rows([dot["label"] for dot in dots], "scenario")
    scale = _scale(dots, relevant)
    return layered(
        _band(relevant, scale),
        alt.Chart(data([{"ratio": 1}])).mark_rule().encode(x=alt.X("ratio:Q", scale=scale)),
        _intervals(dots, rows, scale),
        _dots(dots, rows, scale, measure),
        height_px=rows.height_px,
        title=rows.title(),
    )


def _scale(dots: Sequence[Row], relevant: tuple[float, float]) -> alt.Scale:
    ends = [end for dot in dots for end in (dot["ratio"], dot["low"], dot["high"]) if end]
    low = min(*ends, relevant[0], 1 / NARROWEST) / MARGIN
    high = max(*ends, relevant[1], NARROWEST) * MARGIN
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _band(relevant: tuple[float, float], scale: alt.Scale) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data([{"from": relevant[0], "to": relevant[1]}]))
        .mark_rect(color=color("grid"), opacity=0.7)
        .encode(x=alt.X("from:Q", scale=scale), x2="to:Q")
    )
    return chart


def _intervals(dots: Sequence[Row], rows: Rows, scale: alt.Scale) -> alt.Chart:
    known = [dot for dot in dots if dot["low"] is not None]
    chart: alt.Chart = (
        alt.Chart(data(known))
        .mark_rule(strokeWidth=2, opacity=0.6, color=color("accent"))
        .encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=rows.channel())
    )
    return chart


def _dots(dots: Sequence[Row], rows: Rows, scale: alt.Scale, measure: Measure) -> alt.Chart:
    low, high = scale.domain
    axis = alt.Axis(
        title=measure.title, values=log_ticks(low, high), format=".3~r", labelOverlap=True
    )
    chart: alt.Chart = (
        alt.Chart(data(dots))
        .mark_point(size=70, filled=True, color=color("accent"))
        .encode(
            x=alt.X("ratio:Q", scale=scale, axis=axis),
            y=rows.channel(),
            tooltip=[tip("label", "scenario"), tip("text", "from, to"), tip("claim", "claim")],
        )
    )
    return chart
