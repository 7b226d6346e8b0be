"""What may be said, and how often it is wrong: through the function that the product uses."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.verdicts import Contrast, judge

SAYS_A_DIFFERENCE = {"better", "worse", "indicated better", "indicated worse"}
TRIAL_NOISE = 0.065
"""Spread of a trial about its block; what was found on virtual machines."""

BLOCK_NOISE = 0.15
SIMULATED = 2_000


def words(
    logs: list[float], *, others: int = 0, floor: float | None = None, more: bool = False
) -> str | None:
    family = [Contrast(logs, 0.05, floor, more), *[Contrast([0.0], 0.05)] * others]
    return judge(family)[0].word


EIGHT = [0.2, 0.21, 0.19, 0.2, 0.22, 0.18, 0.2, 0.2]


@pytest.mark.parametrize(
    ("logs", "floor", "word"),
    [
        (EIGHT, None, "worse"),
        ([-value for value in EIGHT], None, "better"),
        (EIGHT[:7], None, "worse"),
        (EIGHT[:6], None, "indicated worse"),
        ([-value for value in EIGHT[:3]], None, "indicated better"),
        (EIGHT[:2], None, "not decided"),
        (EIGHT[:1], None, "not decided"),
        (EIGHT, 0.25, "not decided"),
        (EIGHT[:3], 0.2, "not decided"),
        # Noise hides a difference; it does not make it irrelevant.
        ([value / 2 for value in EIGHT], 0.25, "not decided"),
        ([value / 10 for value in EIGHT], 0.25, "no relevant difference"),
        ([value / 10 for value in EIGHT], None, "no relevant difference"),
        ([value / 10 for value in EIGHT[:3]], None, "no relevant difference"),
        ([0.0] * 8, None, "no relevant difference"),
        ([0.0] * 3, None, "no relevant difference"),
        ([0.5, -0.4, 0.3, -0.2, 0.6, -0.5, 0.1, 0.2], None, "not decided"),
        # Told from zero, but not relevant: neither worse nor without a relevant difference.
        ([0.044, 0.047, 0.046, 0.045, 0.055, 0.045, 0.05, 0.048], None, "not decided"),
    ],
)
def test_words(logs: list[float], floor: float | None, word: str) -> None:
    assert words(logs, floor=floor) == word


def test_more_of_a_rate_is_better() -> None:
    assert words(EIGHT, more=True) == "better"
    assert words(EIGHT[:4], more=True) == "indicated better"
    assert words([-value for value in EIGHT], more=True) == "worse"


def test_each_comparison_that_was_named_makes_all_others_stricter() -> None:
    logs = [0.16, 0.02, 0.15, 0.03, 0.14, 0.17, 0.01, 0.12]
    assert words(logs) == "worse"
    assert words(logs, others=40) == "not decided"


def test_nothing_is_said_of_what_is_barred_but_it_counts() -> None:
    barred, other = judge([Contrast(EIGHT, 0.05, barred="it is limited"), Contrast(EIGHT, 0.05)])
    assert (barred.word, barred.needed) == (None, None)
    assert barred.p_holm is not None
    assert other.word == "worse"
    alone = judge([Contrast(EIGHT, 0.05)])[0]
    assert alone.p_holm is not None
    assert other.p_holm == pytest.approx(2 * alone.p_holm)


def test_what_is_not_decided_says_what_would_decide() -> None:
    (found,) = judge([Contrast([0.2, 0.1, 0.3], 0.05)])
    assert found.word == "not decided"
    assert found.needed is not None and found.needed >= 7
    for logs, floor in (([0.1], None), (EIGHT, 0.25)):
        (nothing,) = judge([Contrast(logs, 0.05, floor)])
        assert (nothing.word, nothing.needed) == ("not decided", None)
    (small,) = judge([Contrast([0.02, -0.02, 0.03], 0.05)])
    assert small.needed is not None and 3 < small.needed < 7


@given(
    st.lists(st.floats(-1, 1), min_size=0, max_size=6),
    st.integers(0, 5),
    st.booleans(),
)
def test_up_to_six_blocks_never_more_than_indicate(
    logs: list[float], others: int, more: bool
) -> None:
    word = words(logs, others=others, more=more)
    assert word not in ("better", "worse")
    if len(logs) < 3:
        assert word not in SAYS_A_DIFFERENCE


def simulate(blocks: int, shifts: list[float], *, floor: float | None = None) -> Counter[str]:
    """How often which words are said in simulated runs of levels against one baseline.

    Keys are `<word>`, once a run and word, for levels that do not differ, and `<word>!` for those
    that do. A block has an effect of its own on all its trials.
    """
    random = np.random.default_rng(20260601)
    shape = (SIMULATED, blocks, len(shifts) + 1)
    noise = random.normal(0, TRIAL_NOISE, shape) + random.normal(0, BLOCK_NOISE, (*shape[:2], 1))
    logs = noise[..., 1:] - noise[..., :1] + np.array(shifts)
    told: Counter[str] = Counter()
    for run in logs:
        judged = judge([Contrast(run[:, level], 0.05, floor) for level in range(len(shifts))])
        told.update(
            {
                f"{found.word}{'!' if shift else ''}"
                for found, shift in zip(judged, shifts, strict=True)
            }
        )
        told["any false"] += any(
            found.word in SAYS_A_DIFFERENCE and not shift
            for found, shift in zip(judged, shifts, strict=True)
        )
    return told


@pytest.mark.parametrize("blocks", [3, 8, 12])
def test_at_most_one_run_in_twenty_of_equal_conditions_says_a_difference(blocks: int) -> None:
    told = simulate(blocks, [0.0] * 6)
    assert told["any false"] / SIMULATED <= 0.05
    assert told["not decided"] > 0


def test_what_differs_does_not_make_the_others_differ() -> None:
    """One real difference found in nearly every run takes its share of Holm's budget away."""
    told = simulate(8, [math.log(1.25), 0.0, 0.0])
    assert told["worse!"] / SIMULATED >= 0.95
    assert told["better!"] == 0
    assert told["any false"] / SIMULATED <= 0.05


def test_power_against_ten_per_cent() -> None:
    """What eight and twelve blocks find of a small difference."""
    eight, twelve = (simulate(blocks, [math.log(1.10)]) for blocks in (8, 12))
    assert eight["worse!"] / SIMULATED > 0.6
    assert twelve["worse!"] / SIMULATED > eight["worse!"] / SIMULATED
    assert eight["better!"] + twelve["better!"] == 0


def test_a_noise_floor_makes_verdicts_rarer() -> None:
    told, free = (simulate(8, [math.log(1.10)], floor=floor) for floor in (0.12, None))
    assert told["worse!"] < free["worse!"]
