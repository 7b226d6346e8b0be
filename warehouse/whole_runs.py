"""What may be claimed of whole runs: the spread of earlier ones, and whether a new one is beyond.

Two runs are one against one, and machines drift by tens of per cent. What a difference between two
runs is worth therefore follows from how far earlier runs of the same experiment, alike in all that
matters, lay apart when nothing was changed. The values are logarithms of a scenario's metric, one
a run; `math.expm1` makes a share of a difference. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from scipy import special

from warehouse.statistics import ALPHA, Interval, holm

FEWEST_RUNS = 10
"""Earlier runs below which nothing is claimed: with fewer, the spread itself is hardly known."""

MOST_RUNS = 30
"""So many of the newest earlier runs count: those of years ago tell of another machine room."""

Word = Literal["better", "worse", "no relevant difference", "not decided"]
UNDECIDED: Word = "not decided"


@dataclass(frozen=True, slots=True)
class Spread:
    """How far runs lie apart: number, mean and standard deviation of the logarithms."""

    runs: int
    mean: float
    deviation: float


def spread_of(logs: Sequence[float]) -> Spread | None:
    """The spread of the newest `MOST_RUNS` of earlier runs, oldest first; None with fewer than 2.

    Raises:
        ValueError: one of them is infinite or no number.
    """
    values = logs[-MOST_RUNS:]
    if not all(map(math.isfinite, values)):
        raise ValueError("a run without a finite value has no place in a spread")
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return Spread(len(values), mean, math.sqrt(squares / (len(values) - 1)))


def prediction_interval(spread: Spread, alpha: float = ALPHA) -> Interval:
    """Where one more run falls with probability 1 - alpha, if nothing changed.

    mean +- t s sqrt(1 + 1/n), t with n - 1 degrees of freedom (Hahn and Meeker 1991, Statistical
    Intervals, section 4.7).
    """
    half = _quantile(spread, alpha) * spread.deviation * math.sqrt(1 + 1 / spread.runs)
    return Interval(spread.mean - half, spread.mean + half)


def _quantile(spread: Spread, alpha: float) -> float:
    return _student(spread.runs, alpha)


@cache
def _student(runs: int, alpha: float) -> float:
    """Two-sided quantile of Student's t with runs - 1 degrees of freedom."""
    return float(special.stdtrit(runs - 1, 1 - alpha / 2))


@dataclass(frozen=True, slots=True)
class Pairing:
    """A scenario in two runs.

    Attributes:
        log_ratio: logarithm of the second run's value over the first's; None where one is missing.
        spread: of the earlier runs; None where there are fewer than two.
        delta: the relevant difference, as a share.
        more_is_better: whether a greater value of the metric is welcome.
        barred: why nothing may be said of it; None where something may.
    """

    log_ratio: float | None
    spread: Spread | None
    delta: float
    more_is_better: bool = False
    barred: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of a pairing; `word` is None where nothing may be said.

    Attributes:
        interval: of the logarithm of the ratio, adjusted for the family; None without a spread.
        p_holm: that two runs differ so much although nothing changed, adjusted by Holm.
        runs: earlier runs that the spread is made of.
        reason: why nothing is said, or is not decided; empty otherwise.
    """

    interval: Interval | None
    p_holm: float | None
    runs: int
    word: Word | None
    reason: str = ""


def claims(family: Sequence[Pairing], alpha: float = ALPHA) -> tuple[Claim, ...]:
    """The claims about all scenarios of a comparison, in the order given.

    All of them are one family, also those that are barred: what it is was known beforehand.
    """
    adjusted = holm([1.0 if (p := _p_value(each)) is None else p for each in family])
    return tuple(
        _claim(pairing, p_holm, alpha, len(family))
        for pairing, p_holm in zip(family, adjusted, strict=True)
    )


def _deviation(spread: Spread) -> float:
    """Of the difference of two runs: both of them scatter."""
    return math.sqrt(2) * spread.deviation


def _p_value(pairing: Pairing) -> float | None:
    """Two-sided, of Student's t: the deviation is that of earlier runs, independent of the two."""
    spread = pairing.spread
    if pairing.log_ratio is None or spread is None:
        return None
    if not spread.deviation:
        return 0.0 if pairing.log_ratio else 1.0
    statistic = abs(pairing.log_ratio) / _deviation(spread)
    return float(2 * special.stdtr(spread.runs - 1, -statistic))


def _interval(log_ratio: float, half: float, *, rejected: bool) -> Interval:
    """Bonferroni's, cut to zero where Holm rejects and it does not.

    `warehouse.statistics.simultaneous_interval` does the same, and gives the sources.
    """
    low, high = log_ratio - half, log_ratio + half
    if rejected and low <= 0 <= high:
        tiny = math.nextafter(0.0, 1.0)
        return Interval(tiny, high) if log_ratio > 0 else Interval(low, -tiny)
    return Interval(low, high)


def _claim(pairing: Pairing, p_holm: float, alpha: float, family: int) -> Claim:
    spread, log_ratio = pairing.spread, pairing.log_ratio
    runs = spread.runs if spread else 0
    if spread is None or log_ratio is None:
        missing = "a value is missing in one of the runs" if log_ratio is None else None
        if reason := pairing.barred or missing:
            return Claim(None, None, runs, None, reason)
        return Claim(None, None, runs, UNDECIDED, _too_few(runs))
    half = _quantile(spread, alpha / family) * _deviation(spread)
    interval = _interval(log_ratio, half, rejected=p_holm <= alpha)
    if pairing.barred is not None:
        return Claim(interval, p_holm, runs, None, pairing.barred)
    if runs < FEWEST_RUNS:
        return Claim(interval, p_holm, runs, UNDECIDED, _too_few(runs))
    word = _word(log_ratio, interval, pairing)
    return Claim(interval, p_holm, runs, word, _too_wide(half, runs) if word == UNDECIDED else "")


def _word(log_ratio: float, interval: Interval, pairing: Pairing) -> Word:
    margin = math.log1p(pairing.delta)
    if interval.lies_within(margin):
        return "no relevant difference"
    if interval.excludes_zero() and abs(log_ratio) > margin:
        return "better" if (log_ratio > 0) == pairing.more_is_better else "worse"
    return UNDECIDED


def _too_few(runs: int) -> str:
    have = "there are none" if not runs else f"there {'is' if runs == 1 else 'are'} {runs}"
    return f"{FEWEST_RUNS} earlier valid runs alike in what matters are needed, {have}"


def _too_wide(half: float, runs: int) -> str:
    return (
        f"two runs lie up to {100 * math.expm1(half):.0f} % apart by chance, "
        f"judged by {runs} earlier ones"
    )
