"""Cumulative distributions on a logarithmic axis, a thin line for every repetition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair as alt

from reports.charts.chart import CURVE_PX, DECIMAL, Measure, Row, Spec, data, layered, tip

SHARE_TICKS = (0, 0.25, 0.5, 0.75, 0.9, 0.99)
_STEPS = ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), tuple(n / 10 for n in range(10, 100)))
FEWEST_TICKS = 3
MARGIN = 1.04


def curves_chart(
    points: Sequence[Row],
    colors: Mapping[str, str],
    measure: Measure,
    domain: tuple[float, float],
) -> Spec:
    """One curve a trial.

    Args:
        points: label, trial, block, share (0 to 1), value (more than zero).
        colors: of each label.
        measure: what the values are.
        domain: the least and the most that the axis has to hold.
    """
    low, high = domain[0] / MARGIN, domain[1] * MARGIN
    tints = alt.Scale(domain=list(colors), range=list(colors.values()))
    lines = (
        alt.Chart(data(points))
        .mark_line(strokeWidth=1.4, opacity=0.85)
        .encode(
            x=_value_channel(low, high, measure),
            y=_share_channel(),
            detail="trial:N",
            order="share:Q",
            color=alt.Color("label:N", scale=tints, legend=None),
            tooltip=[
                tip("label", "pool size"),
                tip("block", "repetition"),
                alt.Tooltip("share:Q", format=".1%", title="share"),
                alt.Tooltip("value:Q", format=".3~r", title="at most, ms"),
            ],
        )
    )
    return layered(lines, height_px=CURVE_PX)


def _value_channel(low: float, high: float, measure: Measure) -> alt.X:
    axis = alt.Axis(
        title=measure.title, values=log_ticks(low, high), format=DECIMAL, labelOverlap=True
    )
    return alt.X("value:Q", scale=alt.Scale(type="log", domain=[low, high], nice=False), axis=axis)


def _share_channel() -> alt.Y:
    axis = alt.Axis(title="share of requests", values=list(SHARE_TICKS), format=".0%")
    return alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`: 1, 2 and 5 of each decade, finer in a short range."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in _STEPS:
        candidates = [step * 10.0**decade for decade in decades for step in steps]
        ticks = [float(f"{tick:.3g}") for tick in candidates if low <= tick <= high]
        if len(ticks) >= FEWEST_TICKS:
            return ticks
    return [float(f"{low:.3g}"), float(f"{high:.3g}")]
