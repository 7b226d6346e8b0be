"""The words that may be said of a run's primary comparisons, and when. Pure.

All primary comparisons of a run are one family: the probability that any of them is called better
or worse although nothing differs is at most `ALPHA`.

A difference must exceed the noise floor to be claimed. That there is none is claimed within the
relevant difference alone: a noisy host makes no difference irrelevant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from warehouse.statistics import (
    ALPHA,
    Interval,
    Paired,
    blocks_needed,
    holm,
    paired,
    simultaneous_interval,
)

Word = Literal[
    "better",
    "worse",
    "indicated better",
    "indicated worse",
    "no relevant difference",
    "not decided",
]

DECIDES_FROM = 7
"""Blocks from which on a difference can be decided."""

INDICATES_FROM = 3
"""Blocks from which on a difference can be indicated."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """One condition against its baseline.

    Attributes:
        logs: logarithms of the ratios condition / baseline of the primary metric, one a block.
        delta: the relevant difference, as a share.
        floor: the noise floor for so many blocks, as a share; None where none was measured.
        more_is_better: whether a greater value of the metric is welcome.
        barred: why nothing may be said of it; None where something may.
    """

    logs: Sequence[float]
    delta: float
    floor: float | None = None
    more_is_better: bool = False
    barred: str | None = None

    @property
    def relevant(self) -> float:
        """Delta: the greater of relevant difference and noise floor, as a share."""
        return max(self.delta, self.floor or 0.0)


@dataclass(frozen=True, slots=True)
class Judged:
    """What one comparison of a family came to.

    `interval` and `p_holm` are adjusted for the family; `word` is None where the comparison is
    barred; `needed` says how many blocks would decide what is not decided.
    """

    paired: Paired
    interval: Interval | None
    p_holm: float | None
    word: Word | None
    needed: int | None


def judge(family: Sequence[Contrast], alpha: float = ALPHA) -> tuple[Judged, ...]:
    """The verdicts on all primary comparisons of a run, in the order given.

    Those that are barred, or have too few blocks for a p-value, count as well: what the family is
    was said beforehand, and cannot depend on what was measured.
    """
    found = [paired(contrast.logs) for contrast in family]
    adjusted = holm([1.0 if each.p_value is None else each.p_value for each in found])
    return tuple(
        _judged(contrast, comparison, p_holm, len(family), alpha)
        for contrast, comparison, p_holm in zip(family, found, adjusted, strict=True)
    )


def _judged(
    contrast: Contrast, comparison: Paired, p_holm: float, family: int, alpha: float
) -> Judged:
    interval = simultaneous_interval(comparison, family, p_holm, alpha)
    known = None if comparison.p_value is None else p_holm
    if contrast.barred is not None:
        return Judged(comparison, interval, known, None, None)
    word = _word(comparison, interval, contrast)
    needed = _needed(comparison, contrast, alpha / family) if word == "not decided" else None
    return Judged(comparison, interval, known, word, needed)


def _word(comparison: Paired, interval: Interval | None, contrast: Contrast) -> Word:
    if interval is None or comparison.estimate is None:
        return "not decided"
    good = (comparison.estimate > 0) == contrast.more_is_better
    relevant = math.log1p(contrast.relevant)
    if interval.lies_within(math.log1p(contrast.delta)):
        return "no relevant difference"
    if comparison.blocks >= DECIDES_FROM:
        if interval.excludes_zero() and abs(comparison.estimate) > relevant:
            return "better" if good else "worse"
    elif comparison.blocks >= INDICATES_FROM and interval.lies_beyond(relevant):
        return "indicated better" if good else "indicated worse"
    return "not decided"


def _needed(comparison: Paired, contrast: Contrast, alpha: float) -> int | None:
    """More blocks than there were; a difference needs as many as decide one.

    None where there is no spread to go by, or where the estimate is relevant but no more than
    noise: then a quieter host is needed.
    """
    if comparison.estimate is None or comparison.spread is None:
        return None
    size, least = abs(comparison.estimate), comparison.blocks + 1
    if size > math.log1p(contrast.relevant):
        return blocks_needed(comparison.spread, size, alpha, max(least, DECIDES_FROM))
    return blocks_needed(comparison.spread, math.log1p(contrast.delta) - size, alpha, least)
