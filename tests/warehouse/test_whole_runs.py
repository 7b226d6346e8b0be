"""Claims across runs: only beyond the spread of earlier ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.whole_runs import (
    MOST_RUNS,
    Pairing,
    Spread,
    claims,
    prediction_interval,
    spread_of,
)

QUIET = Spread(runs=12, mean=0.0, deviation=0.02)


def test_prediction_interval_by_hand() -> None:
    # t with 9 degrees of freedom, 97.5 %: 2.262157 in any table.
    interval = prediction_interval(Spread(runs=10, mean=1.0, deviation=0.1))
    assert interval.high - 1.0 == pytest.approx(2.262157 * 0.1 * math.sqrt(1.1), rel=1e-6)
    assert interval.low == pytest.approx(2.0 - interval.high)


def test_prediction_intervals_hold_one_more_run_as_often_as_they_say() -> None:
    drawn = np.random.default_rng(3).normal(0, 0.07, (4_000, 11))
    inside = 0
    for row in drawn:
        spread = spread_of(row[:10].tolist())
        assert spread is not None
        interval = prediction_interval(spread)
        inside += interval.low <= row[10] <= interval.high
    # 95 %, with a standard error of 0.34 %.
    assert 0.938 < inside / len(drawn) < 0.962


@pytest.mark.parametrize(
    ("ratio", "more_is_better", "word"),
    [
        (1.4, False, "worse"),
        (0.7, False, "better"),
        (1.4, True, "better"),
        (0.7, True, "worse"),
    ],
)
def test_beyond_the_spread(ratio: float, word: str, *, more_is_better: bool) -> None:
    (claim,) = claims([Pairing(math.log(ratio), QUIET, 0.05, more_is_better)])
    assert claim.word == word
    assert claim.interval is not None
    assert claim.interval.excludes_zero()
    assert claim.reason == ""


@pytest.mark.parametrize(
    ("pairing", "word", "reason"),
    [
        (Pairing(0.05, QUIET, 0.05), "not decided", "6 % apart by chance, judged by 12 earlier"),
        (Pairing(0.0, Spread(12, 0.0, 0.01), 0.05), "no relevant difference", ""),
        (Pairing(0.3, None, 0.05), "not decided", "10 earlier valid runs alike"),
        (Pairing(0.3, Spread(9, 0.0, 0.02), 0.05), "not decided", "are needed, there are 9"),
        (Pairing(None, QUIET, 0.05), None, "missing in one of the runs"),
        (Pairing(0.3, QUIET, 0.05, barred="unlike runs"), None, "unlike runs"),
        (Pairing(None, None, 0.05, barred="limited"), None, "limited"),
    ],
)
def test_what_is_not_claimed_and_why(pairing: Pairing, word: str | None, reason: str) -> None:
    (claim,) = claims([pairing])
    assert claim.word == word
    assert reason in claim.reason


def test_a_small_difference_is_not_worse_however_certain() -> None:
    (claim,) = claims([Pairing(math.log(1.03), Spread(30, 0.0, 0.0001), 0.05)])
    assert claim.word == "no relevant difference"


def test_the_family_counts() -> None:
    """Alone it is beyond chance; as one of twenty it is not."""
    one = Pairing(0.075, QUIET, 0.05)
    others = [Pairing(0.0, QUIET, 0.05)] * 19
    assert claims([one])[0].word == "worse"
    assert claims([one, *others])[0].word == "not decided"
    assert claims([one, *[Pairing(0.0, QUIET, 0.05, barred="limited")] * 19])[0].word != "worse"


def test_few_false_claims_where_nothing_changed() -> None:
    """2,000 pairs of equal runs with five scenarios, each judged by ten earlier runs."""
    drawn = np.random.default_rng(8).normal(0, 0.08, (2_000, 5, 12))
    wrong = 0
    for scenarios in drawn:
        family = [
            Pairing(float(each[11] - each[10]), spread_of(each[:10].tolist()), 0.05)
            for each in scenarios
        ]
        wrong += any(claim.word in ("better", "worse") for claim in claims(family))
    # At most 5 % are allowed; 6.4 % would be three standard errors more.
    assert wrong / len(drawn) < 0.064


@given(
    st.lists(st.floats(-2, 2), min_size=1, max_size=6),
    st.integers(2, 40),
    st.floats(1e-4, 1.0),
)
def test_the_words_fit_the_intervals(logs: list[float], runs: int, deviation: float) -> None:
    family = [Pairing(log, Spread(runs, 0.0, deviation), 0.05) for log in logs]
    for log, claim in zip(logs, claims(family), strict=True):
        assert claim.interval is not None
        assert claim.interval.low <= log <= claim.interval.high or claim.p_holm == 0
        if claim.word in ("better", "worse"):
            assert runs >= 10
            assert claim.interval.excludes_zero()
            assert abs(log) > math.log(1.05)
            assert (claim.word == "worse") == (log > 0)


def test_only_the_newest_runs_make_the_spread() -> None:
    old, new = [5.0] * 50, [0.0, 1.0] * (MOST_RUNS // 2)
    assert spread_of(old + new) == spread_of(new)
    assert spread_of([1.0]) is None
    with pytest.raises(ValueError, match="finite"):
        spread_of([0.0, math.inf])
