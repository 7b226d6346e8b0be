"""Where a level changed, and that chance seldom looks like it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from warehouse.change_points import SHORTEST_STRETCH, change_points

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="ruptures has no build for this Python"
)


def series(*stretches: tuple[int, float], seed: int = 1) -> list[float]:
    """Stretches of so many values about a level, with a scatter of 0.05."""
    random = np.random.default_rng(seed)
    return [float(value) for size, level in stretches for value in random.normal(level, 0.05, size)]


@pytest.mark.parametrize(
    ("stretches", "places"),
    [
        (((12, 0.0), (8, 0.4)), (12,)),
        (((12, 0.4), (8, 0.0)), (12,)),
        (((10, 0.0), (10, 0.5), (10, 0.0)), (10, 20)),
        (((20, 0.0), (SHORTEST_STRETCH, 0.5)), (20,)),
        (((30, 0.0),), ()),
        (((5, 0.0), (4, 0.5)), ()),
        (((20, 0.0), (1, 0.5), (20, 0.0)), ()),
    ],
)
def test_places(stretches: tuple[tuple[int, float], ...], places: tuple[int, ...]) -> None:
    assert change_points(series(*stretches)) == places


def test_equal_values_never_change() -> None:
    assert change_points([1.5] * 20) == ()


@pytest.mark.parametrize("runs", [10, 20, 60])
def test_chance_seldom_looks_like_a_change(runs: int) -> None:
    found = sum(bool(change_points(series((runs, 0.0), seed=seed))) for seed in range(600))
    assert found / 600 < 0.04
