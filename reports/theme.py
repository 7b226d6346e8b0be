"""The look that pages and charts share: colours by name, light and dark, and the charts' manners.

Charts name a colour by its CSS variable. The browser resolves it, so one drawing serves light,
dark and paper without being drawn again. `resolved` puts plain colours in for files outside a page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif'

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "panel": "#f6f7f8",
    "ink": "#1b2126",
    "muted": "#5b6670",
    "line": "#dde1e5",
    "grid": "#e9ecef",
    "accent": "#0b63a5",
    "good": "#1d6b45",
    "bad": "#a92b1a",
    "warn": "#8a5200",
    "warn-paper": "#fff4df",
    "bad-paper": "#fdecea",
    "acquire-wait": "#e08214",
    "round-trip": "#2c6fad",
    "release": "#9fb4c7",
    "send-lag": "#6b7680",
    "on-acquire-wait": "#1b1203",
    "on-round-trip": "#ffffff",
    "on-release": "#12202c",
    "on-send-lag": "#ffffff",
    "anonymous": "#3d7f77",
    "shared": "#a9cdc4",
    "page-cache": "#d9d4bd",
    "other": "#66707a",
    "on-anonymous": "#ffffff",
    "on-shared": "#0f2a26",
    "on-page-cache": "#2b2716",
    "on-other": "#ffffff",
}

DARK: Mapping[str, str] = {
    "paper": "#14181c",
    "panel": "#1c2228",
    "ink": "#e6eaed",
    "muted": "#9aa6b0",
    "line": "#343d45",
    "grid": "#262e35",
    "accent": "#6db3ea",
    "good": "#6cc79a",
    "bad": "#f0897a",
    "warn": "#e9b45c",
    "warn-paper": "#2f2617",
    "bad-paper": "#331d1a",
    "acquire-wait": "#f0a04b",
    "round-trip": "#5b9bd5",
    "release": "#5c7286",
    "send-lag": "#a7b1ba",
    "on-acquire-wait": "#1b1203",
    "on-round-trip": "#07131f",
    "on-release": "#ffffff",
    "on-send-lag": "#14181c",
    "anonymous": "#6fb8ae",
    "shared": "#3c625c",
    "page-cache": "#6f6a52",
    "other": "#59636c",
    "on-anonymous": "#08211d",
    "on-shared": "#ffffff",
    "on-page-cache": "#ffffff",
    "on-other": "#ffffff",
}

# Ordered colours (purple to green, through blue) stay apart for every kind of colour vision
# because their lightness rises with them. Light paper takes the dark part, dark paper the rest.
_RAMP = (
    "#440154",
    "#472f7d",
    "#3b528b",
    "#2c728e",
    "#21918c",
    "#2ca860",
    "#6fb52c",
    "#b8de29",
    "#fde725",
)
_LIGHT_PART = 0.0, 0.72
_DARK_PART = 0.38, 0.94

# For workloads, which have no order: apart in hue and in lightness.
_SERIES_LIGHT = ("#2c6fad", "#c2570c", "#128064", "#8a4f9e", "#7a6a00", "#4d5a66")
_SERIES_DARK = ("#6db3ea", "#f0a04b", "#54c3a0", "#cf9fe0", "#d4c23c", "#b3bdc6")
SERIES_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
MOST_SERIES = len(SERIES_SHAPES)


def color(name: str) -> str:
    """The named colour, as a browser resolves it."""
    return f"var(--{name})"


def level_colors(count: int) -> list[str]:
    """One colour for each of `count` ordered levels, such as the pools of a workload."""
    return [color(f"level-{count}-{place}") for place in range(count)]


def series_color(place: int) -> str:
    """The colour of the series at `place`; after the last it begins again."""
    return color(f"series-{place % MOST_SERIES}")


def style_variables(level_counts: Sequence[int]) -> str:
    """The CSS that gives every named colour its value, in light, in dark and on paper."""
    light = _rules({**LIGHT, **_extra(_SERIES_LIGHT, level_counts, _LIGHT_PART)})
    dark = _rules({**DARK, **_extra(_SERIES_DARK, level_counts, _DARK_PART)})
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"
    )


def _rules(colors: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colors.items())


def _extra(
    series: Sequence[str], level_counts: Sequence[int], part: tuple[float, float]
) -> dict[str, str]:
    colors = {f"series-{place}": value for place, value in enumerate(series)}
    for count in set(level_counts):
        for place, value in enumerate(_ramp(count, part)):
            colors[f"level-{count}-{place}"] = value
    return colors


def _ramp(count: int, part: tuple[float, float]) -> list[str]:
    low, high = part
    step = (high - low) / max(count - 1, 1)
    return [
        _on_ramp(low + step * place if count > 1 else (low + high) / 2) for place in range(count)
    ]


def _on_ramp(share: float) -> str:
    """The ramp's colour at `share` of its length, mixed of the two nearest."""
    position = share * (len(_RAMP) - 1)
    before = min(int(position), len(_RAMP) - 2)
    mix = position - before
    pairs = zip(_channels(_RAMP[before]), _channels(_RAMP[before + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * mix):02x}" for a, b in pairs)


def _channels(text: str) -> list[int]:
    return [int(text[start : start + 2], 16) for start in (1, 3, 5)]


def resolved(text: str, level_counts: Sequence[int], *, dark: bool = False) -> str:
    """A chart's specification with plain colours, for a picture that stands outside a page."""
    base, series, part = (
        (DARK, _SERIES_DARK, _DARK_PART) if dark else (LIGHT, _SERIES_LIGHT, _LIGHT_PART)
    )
    colors = {**base, **_extra(series, level_counts, part)}
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colors[found[1]], text)


def chart_config() -> dict[str, Any]:
    """Vega-Lite's configuration: no box, quiet axes, text in the page's own letters."""
    axis = {
        "domain": False,
        "ticks": False,
        "gridColor": color("grid"),
        "labelColor": color("muted"),
        "titleColor": color("muted"),
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelPadding": 6,
        "labelFont": FONT,
        "titleFont": FONT,
    }
    return {
        "background": None,
        "font": FONT,
        "padding": {"left": 2, "right": 6, "top": 4, "bottom": 2},
        "view": {"stroke": None},
        "axis": axis,
        "text": {"color": color("ink"), "font": FONT, "fontSize": 12},
        "rule": {"color": color("muted")},
        "tick": {"color": color("ink")},
        "point": {"color": color("ink"), "filled": True},
        "line": {"color": color("ink")},
        "bar": {"color": color("accent")},
    }
