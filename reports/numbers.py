"""Numbers as a reader wants them: as many digits as they bear, and a dash where there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable

MISSING = "–"
"""Stands where there is no number; never a made-up zero."""


def decimals_for(values: Iterable[float | None]) -> int:
    """Decimals with which the largest of `values` shows about three digits.

    Values that are read side by side share their decimals, so 26.7 stands beside 0.0.
    """
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    if largest >= 100:
        return 0
    if largest >= 10:
        return 1
    return 2 if largest >= 0.1 else 3


def show(value: float | None, decimals: int | None = None) -> str:
    """A number with `decimals`, or with as many as its own size asks for."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0 and decimals is None:
        return "0"
    places = decimals_for([value]) if decimals is None else decimals
    text = f"{value:,.{places}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def show_all(values: Iterable[float | None]) -> list[str]:
    """Numbers that are read side by side, with the same decimals."""
    numbers = list(values)
    places = decimals_for(numbers)
    return [show(value, places) for value in numbers]


def show_range(least: float | None, most: float | None, decimals: int | None = None) -> str:
    """`80.1–91.2`, or a single number where both ends read the same."""
    places = decimals_for([least, most]) if decimals is None else decimals
    ends = show(least, places), show(most, places)
    return ends[0] if ends[0] == ends[1] else "–".join(ends)


def show_count(value: float | None) -> str:
    """A whole number with thousands apart."""
    return MISSING if value is None else f"{value:,.0f}"


def show_share(value: float | None) -> str:
    """A share of one as per cent; what is small but not zero never reads as zero."""
    if value is None or not math.isfinite(value):
        return MISSING
    percent = 100 * value
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %" if percent < 10 and percent != round(percent) else f"{percent:.0f} %"


def show_bytes(value: float | None) -> str:
    """Bytes in the largest binary unit that leaves at least one before the point."""
    if value is None:
        return MISSING
    size = float(value)
    for unit in ("B", "KiB", "MiB"):
        if abs(size) < 1024:
            return f"{show(size, 0 if unit == 'B' else 1)} {unit}"
        size /= 1024
    return f"{show(size, 1)} GiB"


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *before, last = list(words) or [""]
    return f"{', '.join(before)} and {last}" if before else last


def counted(count: int, noun: str) -> str:
    """`1 trial`, `27 trials`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
