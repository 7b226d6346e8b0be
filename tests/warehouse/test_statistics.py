"""The arithmetic of claims: against other implementations, by tables, and by its properties."""

from __future__ import annotations

import math
from itertools import product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from warehouse.statistics import (
    EXACT_FLIPS_UP_TO,
    MOST_BLOCKS,
    Interval,
    blocks_needed,
    holm,
    noise_floor,
    paired,
    share_bound,
    sign_flip_p,
    simultaneous_interval,
    spread_bound,
)

LOGS = st.lists(st.floats(-2, 2).map(lambda value: round(value, 6)), min_size=2, max_size=10)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(LOGS)
def test_the_t_test_is_the_one_of_scipy(logs: list[float]) -> None:
    found = paired(logs)
    if found.spread == 0:
        assert found.p_value == (1.0 if found.estimate == 0 else 0.0)
        return
    known = stats.ttest_1samp(logs, 0)
    assert found.p_value == pytest.approx(known.pvalue, rel=1e-6, abs=1e-12)
    interval = found.interval(0.1)
    assert interval is not None
    ends = known.confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high), rel=1e-6)


@given(LOGS)
def test_exchanging_the_conditions_turns_the_sign_and_nothing_else(logs: list[float]) -> None:
    there, back = paired(logs), paired([-value for value in logs])
    assert there.estimate is not None
    assert back.estimate == pytest.approx(-there.estimate)
    assert back.spread == pytest.approx(there.spread)
    assert back.p_value == pytest.approx(there.p_value)
    assert back.p_sign_flip == there.p_sign_flip


@given(st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=8))
def test_sign_flips_are_all_of_them(values: list[float]) -> None:
    sums = [
        abs(math.fsum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((-1, 1), repeat=len(values))
    ]
    expected = fmean(each >= abs(math.fsum(values)) for each in sums)
    assert sign_flip_p(np.array(values)) == expected


def test_drawn_sign_flips_agree_with_exact_ones() -> None:
    values = np.random.default_rng(3).normal(0.2, 1, EXACT_FLIPS_UP_TO + 1)
    drawn = sign_flip_p(values)
    exact = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=40_000, rng=1
    ).pvalue
    assert drawn == pytest.approx(exact, abs=0.01)


def test_few_blocks_cannot_have_a_small_sign_flip_p() -> None:
    assert paired([0.3, 0.31, 0.29]).p_sign_flip == 2 / 2**3


@pytest.mark.parametrize(
    ("logs", "estimate", "spread", "p_value"),
    [
        ([], None, None, None),
        ([0.2], 0.2, None, None),
        ([0.0, 0.0, 0.0], 0.0, 0.0, 1.0),
        ([0.2, 0.2], 0.2, 0.0, 0.0),
    ],
)
def test_too_little_to_tell(
    logs: list[float], estimate: float | None, spread: float | None, p_value: float | None
) -> None:
    found = paired(logs)
    assert (found.estimate, found.spread, found.p_value) == (estimate, spread, p_value)
    assert (found.interval() is None) == (spread is None)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        paired([0.1, bad])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


@given(P_VALUES)
def test_holm_rejects_what_bonferroni_rejects_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p_value, p_holm in zip(p_values, adjusted, strict=True):
        assert p_value <= p_holm <= min(1, len(p_values) * p_value)
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[index] for index in order] == sorted(adjusted)


@given(st.lists(LOGS, min_size=1, max_size=6))
def test_the_adjusted_interval_excludes_zero_just_where_holm_rejects(
    family: list[list[float]],
) -> None:
    found = [paired(logs) for logs in family]
    adjusted = holm([1.0 if each.p_value is None else each.p_value for each in found])
    for comparison, p_holm in zip(found, adjusted, strict=True):
        interval = simultaneous_interval(comparison, len(family), p_holm)
        assert interval is not None
        if abs(p_holm - 0.05) > 1e-9:
            assert interval.excludes_zero() == (p_holm < 0.05)


def test_the_interval_holds_what_it_promises() -> None:
    """4,000 times eight trials whose truth is known: 95 % of the intervals hold it."""
    random = np.random.default_rng(11)
    held = 0
    for logs in random.normal(0.1, 0.09, (4_000, 8)):
        interval = paired(logs).interval()
        assert interval is not None
        held += interval.low <= 0.1 <= interval.high
    # Three standard errors of a share of 0.95 over 4,000 are 0.0103.
    assert held / 4_000 == pytest.approx(0.95, abs=0.0104)


def test_blocks_needed_do_decide() -> None:
    """With as many blocks as are said to be needed, a power of about 80 % is found."""
    shift, spread = 0.1, 0.09
    needed = blocks_needed(spread, shift, 0.05, 2)
    assert needed is not None
    draws = np.random.default_rng(5).normal(shift, spread, (4_000, needed))
    decided = fmean((stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05).tolist())
    assert 0.78 < decided < 0.88


@pytest.mark.parametrize(
    ("spread", "room", "needed"), [(0.0, 0.5, 7), (0.05, 0.0, None), (2.0, 0.06, None)]
)
def test_blocks_needed_at_the_ends(spread: float, room: float, needed: int | None) -> None:
    assert blocks_needed(spread, room, 0.05, 7) == needed


@given(st.floats(0.05, 0.5), st.floats(0.01, 0.3))
def test_a_wider_spread_needs_more_blocks(room: float, spread: float) -> None:
    narrow, wide = (
        blocks_needed(each, room, 0.05, 2) or MOST_BLOCKS + 1 for each in (spread, 2 * spread)
    )
    assert narrow <= wide


def test_the_noise_floor_is_passed_by_one_pair_of_equal_conditions_in_twenty() -> None:
    """Against 200,000 differences of equal conditions, each over eight blocks."""
    random = np.random.default_rng(7)
    spread = 0.09
    floors = [noise_floor(logs, 8) for logs in random.normal(0, spread, (400, 24))]
    differences = np.abs(np.expm1(random.normal(0, spread, (200_000, 8)).mean(axis=1)))
    passed = [fmean((differences > floor).tolist()) for floor in floors[:40] if floor is not None]
    assert fmean(passed) == pytest.approx(0.05, abs=0.015)


def test_the_noise_floor_of_few() -> None:
    assert noise_floor([], 3) is None
    assert noise_floor([0.1], 3) is None
    assert noise_floor([0.0, 0.0], 3) == 0
    # t of two degrees of freedom, 4.303, times 3 over the root of 4.
    assert spread_bound([3.0, -3.0], 4) == pytest.approx(4.3027 * 3 / 2, rel=1e-4)


@pytest.mark.parametrize(("found", "of"), [(0, 20), (1, 20), (20, 20), (37, 2_000)])
def test_the_bound_of_a_share_is_the_one_of_scipy(found: int, of: int) -> None:
    known = stats.binomtest(found, of).proportion_ci(0.95, method="exact")
    assert share_bound(found, of) == pytest.approx((known.low, known.high))


def test_ends_of_intervals() -> None:
    assert Interval(0.01, 0.2).excludes_zero()
    assert not Interval(0.0, 0.2).excludes_zero()
    assert Interval(-0.04, 0.04).lies_within(0.05)
    assert not Interval(-0.06, 0.04).lies_within(0.05)
    assert Interval(-0.2, -0.06).lies_beyond(0.05)
    assert not Interval(-0.2, 0.06).lies_beyond(0.05)
