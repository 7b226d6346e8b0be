"""Stacked bars, one a row, with a tick for the total of every repetition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from reports.charts.chart import Measure, Row, Rows, Spec, data, layered, measure_axis, tip
from reports.theme import color

ROOM_FOR_TOTAL = 1.2
"""The axis is so much longer than the longest bar, for the column of the totals."""

HEADING_Y_PX = -4
HEADING_DROP_PX = -13
"""Brings the rows' heading down to the line of the totals' heading."""

ROOM_FOR_TEXT = 0.085
"""A part that is a smaller share of the longest bar has no room for its number."""


@dataclass(frozen=True, slots=True)
class Stack:
    """What a chart of stacked bars shows.

    Attributes:
        segments: label, part (colour), name, start, end, value, text.
        totals: label, text: what the bar comes to.
        repetitions: label, block, value, text.
        parts: colours of all parts, in the order of the stack.
        longest: the longest bar of all charts that share this one's axis.
        total: what the bars come to, in words.
    """

    segments: Sequence[Row]
    totals: Sequence[Row]
    repetitions: Sequence[Row]
    parts: Sequence[str]
    longest: float
    total: str


def stack_chart(stack: Stack, rows: Rows, measure: Measure) -> Spec:
    """The bars, the ticks, the numbers inside the bars, and a column of what they come to."""
    scale = alt.Scale(domain=[0, stack.longest * ROOM_FOR_TOTAL], nice=False)
    return layered(
        _bars(stack, rows, measure, scale),
        _ticks(stack, rows, measure, scale),
        _numbers(stack, rows, scale),
        _totals(stack, rows),
        _totals_heading(stack),
        height_px=rows.height_px,
        title=rows.title(HEADING_DROP_PX),
    )


def _tint(stack: Stack, prefix: str = "") -> alt.Color:
    tints = [color(prefix + part) for part in stack.parts]
    return alt.Color("part:N", scale=alt.Scale(domain=list(stack.parts), range=tints), legend=None)


def _bars(stack: Stack, rows: Rows, measure: Measure, scale: alt.Scale) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data(stack.segments))
        .mark_bar(height=24)
        .encode(
            x=alt.X("start:Q", scale=scale, axis=measure_axis(measure)),
            x2="end:Q",
            y=rows.channel(),
            color=_tint(stack),
            tooltip=[tip("label", rows.heading), tip("name", "part"), tip("text", measure.title)],
        )
    )
    return chart


def _numbers(stack: Stack, rows: Rows, scale: alt.Scale) -> alt.Chart:
    inside = [
        {**row, "middle": (row["start"] + row["end"]) / 2}
        for row in stack.segments
        if row["value"] >= ROOM_FOR_TEXT * stack.longest
    ]
    chart: alt.Chart = (
        alt.Chart(data(inside))
        .mark_text(baseline="middle", aria=False)
        .encode(
            x=alt.X("middle:Q", scale=scale),
            y=rows.channel(),
            text="text:N",
            color=_tint(stack, "on-"),
        )
    )
    return chart


def _ticks(stack: Stack, rows: Rows, measure: Measure, scale: alt.Scale) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data(stack.repetitions))
        .mark_tick(height=32, thickness=1.5, opacity=0.85)
        .encode(
            x=alt.X("value:Q", scale=scale),
            y=rows.channel(),
            tooltip=[tip("block", "repetition"), tip("text", measure.title)],
        )
    )
    return chart


def _totals(stack: Stack, rows: Rows) -> alt.Chart:
    """What each bar comes to, in a column of its own: beside a tick it would seem the tick's."""
    chart: alt.Chart = (
        alt.Chart(data(stack.totals))
        .mark_text(align="right", baseline="middle", fontSize=13, fontWeight="bold", aria=False)
        .encode(x=alt.value("width"), y=rows.channel(), text="text:N")
    )
    return chart


def _totals_heading(stack: Stack) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data([{"text": stack.total}]))
        .mark_text(align="right", baseline="bottom", color=color("muted"), aria=False)
        .encode(x=alt.value("width"), y=alt.value(HEADING_Y_PX), text="text:N")
    )
    return chart
