import math
from random import Random

import pytest

from warehouse.noise import BlockPair, block_counts, called, floors, halves, ratio_of


def _pairs(count: int, ratio: float = 1.0, noise: float = 0.05, seed: int = 1) -> list[BlockPair]:
    """Pairs of a block: what a block has in common is much more than its noise."""
    random = Random(seed)
    made = []
    for block in range(1, count + 1):
        common = 80 * random.lognormvariate(0, 0.3)
        base, other = (common * random.lognormvariate(0, noise) for _ in range(2))
        made.append(BlockPair(block, other * ratio, base))
    return made


def test_floor_and_false_verdicts_see_disjoint_blocks() -> None:
    pairs = _pairs(21)
    measured, judged = halves(list(reversed(pairs)))
    assert {pair.block for pair in measured} & {pair.block for pair in judged} == set()
    assert len(measured) + len(judged) == 21
    assert block_counts(20) == [3, 5, 8, 10]
    assert block_counts(40) == [3, 5, 8, 10, 20]


def test_the_floor_falls_with_the_root_of_the_blocks() -> None:
    found = floors(_pairs(400), [4, 16])
    assert found[0].ratio == pytest.approx(math.expm1(1.97 * 0.05 * math.sqrt(2) / 2), rel=0.15)
    assert math.log1p(found[0].ratio) / math.log1p(found[1].ratio) == pytest.approx(2)
    assert found[0].difference == pytest.approx(80 * found[0].ratio, rel=0.3)
    assert floors(_pairs(1), [3]) == []


def test_equal_conditions_are_seldom_told_apart_and_unequal_ones_are_found() -> None:
    equal = called(_pairs(80, seed=4), 8, delta=0.05, floor=0.05)
    assert (equal.comparisons, equal.decided, equal.indicated) == (10, 0, 0)
    assert equal.low == 0
    assert equal.high == pytest.approx(0.308, abs=0.001)
    worse = called(_pairs(80, 1.25), 8, delta=0.05, floor=0.05, only_worse=True)
    assert (worse.decided, worse.share) == (10, 1.0)
    assert worse.subsets == worse.subsets_decided == 400
    better = called(_pairs(80, 0.8), 8, delta=0.05, floor=0.05, only_worse=True)
    assert (better.decided, better.subsets_decided) == (0, 0)


def test_three_blocks_only_indicate() -> None:
    found = called(_pairs(9, 1.25, noise=0.01), 3, delta=0.05, floor=None)
    assert (found.comparisons, found.decided, found.indicated) == (3, 0, 3)
    assert (found.subsets, found.subsets_indicated) == (84, 84)


def test_the_ratio_is_told_with_its_interval() -> None:
    ratio, low, high, spread = ratio_of(_pairs(40, 1.25))
    assert low is not None
    assert high is not None
    assert low < 1.25 < high
    assert ratio == pytest.approx(math.sqrt(low * high))
    assert spread == pytest.approx(0.05 * math.sqrt(2), rel=0.3)
    assert ratio_of(_pairs(1))[1:] == (None, None, None)
    with pytest.raises(ValueError, match="no ratio"):
        ratio_of([])
