"""What may be claimed of paired trials: estimates, intervals, p-values, noise floors. Pure.

The unit is the trial. Two conditions are compared by the logarithms of their ratios, one a block,
so that what a block has in common (the hour, the temperature, a neighbour) cancels. Logarithms of
ratios are called `logs` here; `math.expm1` makes a share of one: 0.05 is 5 % more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import special

ALPHA = 0.05
"""Share of runs in which any verdict of the run may be false."""

POWER = 0.8
"""With this probability the number of blocks said to be needed will decide."""

MOST_BLOCKS = 1000
"""As many repetitions as a design may have; more are not named as needed."""

EXACT_FLIPS_UP_TO = 20
"""With more blocks, sign flips are drawn: 2^20 sums are still a matter of milliseconds."""

_DRAWN_FLIPS = 99_999
_SEED = 20260601
_ROUNDING = 1e-12

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends, as logarithms of ratios."""

    low: float
    high: float

    def excludes_zero(self) -> bool:
        """Whether no difference is none of its values."""
        return self.low > 0 or self.high < 0

    def lies_within(self, margin: float) -> bool:
        """Whether all of it is nearer to no difference than `margin`."""
        return -margin < self.low and self.high < margin

    def lies_beyond(self, margin: float) -> bool:
        """Whether all of it is farther from no difference than `margin`, on one side."""
        return self.low > margin or self.high < -margin


@dataclass(frozen=True, slots=True)
class Paired:
    """One condition against another over blocks.

    Attributes:
        blocks: pairs of trials that there were.
        estimate: mean of the logarithms of the ratios; None without blocks.
        spread: their standard deviation; None with fewer than two.
        p_value: two-sided, of Student's paired t test of no difference; None with fewer than two.
        p_sign_flip: the same by exchanging the two conditions within blocks in all 2^blocks ways
            (Fisher 1935): exact whatever the distribution; never below 2^(1-blocks).
    """

    blocks: int
    estimate: float | None
    spread: float | None
    p_value: float | None
    p_sign_flip: float | None

    def interval(self, alpha: float = ALPHA) -> Interval | None:
        """The t interval that misses the truth in a share `alpha` of cases."""
        if self.estimate is None or self.spread is None:
            return None
        half = _quantile(1 - alpha / 2, self.blocks) * self.spread / math.sqrt(self.blocks)
        return Interval(self.estimate - half, self.estimate + half)


def paired(logs: Sequence[float]) -> Paired:
    """Compare two conditions by the logarithms of their ratios, one a block.

    Raises:
        ValueError: one of them is infinite or no number.
    """
    values = np.asarray(logs, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a block without a finite ratio cannot be compared")
    blocks = len(values)
    if blocks < 2:
        return Paired(blocks, float(values[0]) if blocks else None, None, None, None)
    estimate, spread = float(values.mean()), float(values.std(ddof=1))
    # Identical trials differ by the rounding of logarithms; that is no spread and no difference.
    if spread < _ROUNDING:
        spread = 0.0
    if abs(estimate) < _ROUNDING:
        estimate = 0.0
    return Paired(
        blocks, estimate, spread, _t_p_value(estimate, spread, blocks), sign_flip_p(values)
    )


def _t_p_value(estimate: float, spread: float, blocks: int) -> float:
    if not spread:
        return 0.0 if estimate else 1.0
    return float(2 * special.stdtr(blocks - 1, -abs(estimate) / spread * math.sqrt(blocks)))


@cache
def _quantile(probability: float, blocks: int) -> float:
    """Of Student's t with blocks - 1 degrees of freedom."""
    return float(special.stdtrit(blocks - 1, probability))


def sign_flip_p(values: Floats) -> float:
    """Two-sided p of the sign-flip test of a mean of zero.

    Exact up to `EXACT_FLIPS_UP_TO` values; beyond, of so many drawn flips with a fixed seed, the
    observed one counted in, so that it is never zero (Phipson and Smyth 2010).
    """
    limit = abs(float(values.sum())) * (1 - _ROUNDING)
    if len(values) > EXACT_FLIPS_UP_TO:
        flips = np.random.default_rng(_SEED).integers(0, 2, (_DRAWN_FLIPS, len(values)), np.int8)
        extreme = np.abs((2.0 * flips - 1) @ values) >= limit
        return float((1 + extreme.sum()) / (1 + _DRAWN_FLIPS))
    # The first sign can be held: flipping all signs changes no absolute sum.
    sums = values[:1]
    for value in values[1:]:
        sums = np.concatenate((sums + value, sums - value))
    return float((np.abs(sums) >= limit).mean())


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p-values, in the order given.

    Rejecting those up to alpha keeps the probability of any false rejection below alpha (Holm
    1979, Scand. J. Statist. 6:65).
    """
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return tuple(adjusted)


def simultaneous_interval(
    comparison: Paired, family: int, p_holm: float, alpha: float = ALPHA
) -> Interval | None:
    """An interval that fits Holm's decision: it excludes zero if and only if Holm rejects.

    Among `family` comparisons it is Bonferroni's (level alpha / family), which holds for all of
    them together (Dunn 1961, JASA 56:52). Holm rejects whatever Bonferroni rejects and sometimes
    more; there the end beyond zero is cut to zero. Where all are rejected this is the confidence
    region of Holm's procedure (Guilbaud 2008, Biom. J. 50:678; Strassburger and Bretz 2008, Stat.
    Med. 27:4914). Where some are not, theirs ends at zero for every comparison that is rejected;
    Bonferroni's end is kept here, because it says more.
    """
    interval = comparison.interval(alpha / family)
    if interval is None or comparison.estimate is None or p_holm > alpha:
        return interval
    tiny = math.nextafter(0.0, 1.0)
    if comparison.estimate > 0:
        return Interval(max(interval.low, tiny), interval.high)
    return Interval(interval.low, min(interval.high, -tiny))


def blocks_needed(spread: float, room: float, alpha: float, least: int) -> int | None:
    """How many blocks give an interval of level `alpha` whose end is nearer than `room`.

    With probability `POWER`, if estimate and spread stayed as they are; from `least` on. None
    where more than `MOST_BLOCKS` would be needed.
    """
    enough = np.flatnonzero(_reaches(alpha) * spread < room) + 2
    enough = enough[enough >= least]
    return int(enough[0]) if len(enough) else None


@cache
def _reaches(alpha: float) -> Floats:
    """Per number of blocks from 2: by how many spreads a mean must lie off to be told apart."""
    blocks = np.arange(2, MOST_BLOCKS + 1, dtype=np.float64)
    needed = special.stdtrit(blocks - 1, 1 - alpha / 2) + special.stdtrit(blocks - 1, POWER)
    return np.asarray(needed / np.sqrt(blocks), dtype=np.float64)


def spread_bound(differences: Sequence[float], blocks: int) -> float | None:
    """95th percentile of |mean of `blocks` differences| between two equal conditions.

    `differences` are those of disjoint pairs of trials, in any unit. An empirical 95th percentile
    would need 80 groups of `blocks` pairs each (a percentile p needs units x (1 - p) of at least
    4), so it is the one of Student's t, with the mean square about zero: equal conditions have no
    difference, and one that was found all the same counts as noise. None with fewer than two.
    """
    if len(differences) < 2:
        return None
    values = np.asarray(differences, dtype=np.float64)
    root_mean_square = math.sqrt(float((values**2).mean()))
    quantile = float(special.stdtrit(len(values), 1 - ALPHA / 2))
    return quantile * root_mean_square / math.sqrt(blocks)


def noise_floor(logs: Sequence[float], blocks: int) -> float | None:
    """By what two equal conditions differ at most in 95 % of comparisons over `blocks` blocks.

    A share (0.031 is 3.1 %), from the logarithms of the ratios of disjoint A/A pairs of trials.
    """
    bound = spread_bound(logs, blocks)
    return None if bound is None else math.expm1(bound)


def share_bound(found: int, of: int, confidence: float = 1 - ALPHA) -> tuple[float, float]:
    """Clopper-Pearson interval of a share, exact (Clopper and Pearson 1934, Biometrika 26:404).

    In quantiles of the beta distribution. Of false verdicts, the upper end is exceeded by the
    true share with a probability of at most half of `1 - confidence`.
    """
    tail = (1 - confidence) / 2
    low = special.betaincinv(found, of - found + 1, tail) if found else 0.0
    high = special.betaincinv(found + 1, of - found, 1 - tail) if found < of else 1.0
    return float(low), float(high)
