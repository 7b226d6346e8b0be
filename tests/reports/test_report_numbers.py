"""Numbers as they are shown."""

from __future__ import annotations

import math

import pytest

from reports.numbers import (
    counted,
    decimals_for,
    listed,
    show,
    show_all,
    show_bytes,
    show_range,
    show_share,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0.0, "0"),
        (0.0123, "0.012"),
        (0.534, "0.53"),
        (7.816, "7.82"),
        (83.84, "83.8"),
        (131.4, "131"),
        (12345.6, "12,346"),
        (-3.456, "-3.46"),
    ],
)
def test_a_number_has_the_digits_it_bears(value: float | None, text: str) -> None:
    assert show(value) == text


def test_numbers_side_by_side_share_their_decimals() -> None:
    assert show_all([26.71, 0.013, None]) == ["26.7", "0.0", "–"]
    assert decimals_for([]) == 3


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert show(-0.0004, 2) == "0.00"


def test_a_range_of_equal_ends_is_one_number() -> None:
    assert show_range(80.14, 91.2) == "80.1–91.2"
    assert show_range(80.14, 80.11) == "80.1"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.0004, "< 0.1 %"), (0.0123, "1.2 %"), (0.845, "84 %"), (1.0, "100 %")],
)
def test_a_small_share_is_never_zero(share: float, text: str) -> None:
    assert show_share(share) == text


def test_words() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert counted(1, "trial") == "1 trial"
    assert counted(1200, "trial") == "1,200 trials"
    assert show_bytes(3_984_588) == "3.8 MiB"
    assert show_bytes(12) == "12 B"
