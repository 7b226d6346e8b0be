"""What twins tell of the noise, and how often a difference that is there would be found. Pure.

The floor and the false verdicts come from disjoint trials: blocks in turn belong to one half or
the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

from warehouse.statistics import noise_floor, paired, share_bound, spread_bound
from warehouse.verdicts import Contrast, judge

FLOOR_BLOCKS = (3, 5, 8, 10)
"""Numbers of blocks for which a floor is told, besides half of the pairs."""

MOST_SUBSETS = 400
"""Where there are more choices of so many blocks, as many are drawn."""

_SEED = 20260601


@dataclass(frozen=True, slots=True)
class BlockPair:
    """One metric of two conditions in one block; both are positive."""

    block: int
    condition: float
    baseline: float

    @property
    def log(self) -> float:
        """The logarithm of the ratio condition / baseline."""
        return math.log(self.condition / self.baseline)


@dataclass(frozen=True, slots=True)
class Floor:
    """By what equal conditions differ at most in 95 % of comparisons over so many blocks.

    `ratio` is a share (0.031 is 3.1 %), `difference` has the metric's unit.
    """

    blocks: int
    ratio: float
    difference: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Called:
    """How often comparisons over so many blocks came to a verdict.

    Attributes:
        comparisons: of disjoint blocks, so that they are independent; `decided` of them came to
            better or worse, `indicated` to an indication; `low` and `high` are the bounds of
            Clopper and Pearson for the share of any of the two.
        subsets: choices of so many blocks, which share trials: a finer share, without bounds.

    """

    blocks: int
    noise_floor: float | None
    comparisons: int
    decided: int
    indicated: int
    low: float | None
    high: float | None
    subsets: int
    subsets_decided: int
    subsets_indicated: int

    @property
    def share(self) -> float | None:
        """Of the disjoint comparisons, those that came to any verdict."""
        return (self.decided + self.indicated) / self.comparisons if self.comparisons else None


def halves(pairs: Sequence[BlockPair]) -> tuple[list[BlockPair], list[BlockPair]]:
    """Pairs for the floor, and for the false verdicts: in turn, so that both span the run."""
    ordered = sorted(pairs, key=lambda pair: pair.block)
    return ordered[0::2], ordered[1::2]


def block_counts(pairs: int) -> list[int]:
    """For how many blocks floors are told, where so many pairs were planned."""
    return sorted({*FLOOR_BLOCKS, max(pairs // 2, 2)})


def floors(pairs: Sequence[BlockPair], counts: Sequence[int]) -> list[Floor]:
    """Floors for so many blocks, from pairs of twins; none where there are fewer than two."""
    logs = [pair.log for pair in pairs]
    differences = [pair.condition - pair.baseline for pair in pairs]
    found = []
    for blocks in counts:
        ratio, difference = noise_floor(logs, blocks), spread_bound(differences, blocks)
        if ratio is not None and difference is not None:
            found.append(Floor(blocks, ratio, difference, len(pairs)))
    return found


def called(
    pairs: Sequence[BlockPair],
    blocks: int,
    *,
    delta: float,
    floor: float | None,
    only_worse: bool = False,
) -> Called:
    """Let comparisons over so many of these blocks be judged as any other.

    With `only_worse` a verdict counts where it is the right one: more work, of which less is
    better.
    """
    logs = [pair.log for pair in pairs]

    def count(choices: Sequence[Sequence[float]]) -> tuple[int, int]:
        words = [_word(choice, delta, floor) for choice in choices]
        sides = ("worse",) if only_worse else ("better", "worse")
        decided = sum(word in sides for word in words)
        return decided, sum(word in {f"indicated {side}" for side in sides} for word in words)

    disjoint = [logs[at : at + blocks] for at in range(0, len(logs) - blocks + 1, blocks)]
    subsets = list(_subsets(logs, blocks))
    decided, indicated = count(disjoint)
    low, high = share_bound(decided + indicated, len(disjoint)) if disjoint else (None, None)
    return Called(
        blocks, floor, len(disjoint), decided, indicated, low, high, len(subsets), *count(subsets)
    )


def _word(logs: Sequence[float], delta: float, floor: float | None) -> str | None:
    (judged,) = judge([Contrast(logs, delta, floor)])
    return judged.word


def _subsets(logs: Sequence[float], blocks: int) -> Iterator[Sequence[float]]:
    if math.comb(len(logs), blocks) <= MOST_SUBSETS:
        yield from combinations(logs, blocks)
        return
    random = Random(_SEED)  # noqa: S311 - repeatable on purpose
    for _ in range(MOST_SUBSETS):
        yield random.sample(logs, blocks)


def ratio_of(pairs: Sequence[BlockPair]) -> tuple[float, float | None, float | None, float | None]:
    """Estimate of the ratio over all blocks, both ends of its interval, and the spread of logs.

    Raises:
        ValueError: there are no pairs.

    """
    found = paired([pair.log for pair in pairs])
    if found.estimate is None:
        raise ValueError("without a block that has both there is no ratio")
    interval = found.interval()
    low, high = (math.exp(interval.low), math.exp(interval.high)) if interval else (None, None)
    return math.exp(found.estimate), low, high, found.spread
