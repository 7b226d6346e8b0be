"""Colours that can be read and told apart, and charts that hold no number that is none."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from reports.charts.chart import plain
from reports.charts.curves import log_ticks
from reports.theme import DARK, LIGHT, color, level_colors, resolved, style_variables

READABLE = 4.5
"""Contrast that the accessibility guidelines ask of text."""

TELLABLE = 3.0
"""Contrast that they ask of graphics."""


def luminance(text: str) -> float:
    """Relative luminance as the guidelines (WCAG 2.2) define it."""
    channels = [int(text[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_can_be_read(colors: dict[str, str]) -> None:
    papers = {"warn": "warn-paper", "bad": "bad-paper"}
    for name in ("ink", "muted", "accent", "good", "warn", "bad"):
        assert contrast(colors[name], colors["paper"]) >= READABLE, name
        assert contrast(colors[name], colors[papers.get(name, "paper")]) >= READABLE, name
    for name, ink in colors.items():
        if name.startswith("on-"):
            assert contrast(ink, colors[name.removeprefix("on-")]) >= READABLE, name


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_the_phases_that_matter_stand_out(colors: dict[str, str]) -> None:
    for name in ("round-trip", "send-lag"):
        assert contrast(colors[name], colors["paper"]) >= TELLABLE, name
    assert colors.keys() == LIGHT.keys()


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("dark", [False, True])
def test_levels_rise_in_lightness_for_every_kind_of_sight(count: int, *, dark: bool) -> None:
    text = resolved(" ".join(level_colors(count)), [count], dark=dark)
    levels = [luminance(level) for level in text.split()]
    assert len(levels) == count
    assert all(before < after for before, after in itertools.pairwise(levels))


def test_every_colour_that_is_named_has_a_value_on_the_page() -> None:
    rules = style_variables([3])
    for name in [*LIGHT, "series-0", "series-5", "level-3-0", "level-3-2"]:
        assert len(re.findall(f"--{name}:#", rules)) == 2
    assert resolved(f'"{color("ink")}"', []) == f'"{LIGHT["ink"]}"'


def test_what_is_no_number_becomes_null() -> None:
    assert [plain(value) for value in (math.nan, math.inf, -math.inf)] == [None] * 3
    assert plain(83.838383838) == 83.8384
    assert plain("datum.x") == "datum.x"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.9, 120, [1, 2, 5, 10, 20, 50, 100]),
        (24, 115, [30, 40, 50, 60, 80, 100]),
        (70, 83, [70, 71, 72]),
        (0.00101, 0.00109, [0.00101, 0.00109]),
    ],
)
def test_ticks_of_a_logarithmic_axis(low: float, high: float, ticks: list[float]) -> None:
    assert log_ticks(low, high)[: len(ticks)] == ticks
    assert all(low <= tick <= high for tick in log_ticks(low, high))
