"""Drift within a run: found where there is some, and seldom where there is none."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

import pytest

from warehouse.drift import WARNS_UP_TO, Drift, drift


def run(random: Random, *, slope: float, blocks: int = 8) -> Drift:
    """Three scenarios in random order, 1, 2 and 3 ms, with noise and a slope over the run."""
    scenarios, logs = [], []
    for block in range(blocks):
        order = ["a", "b", "c"]
        random.shuffle(order)
        for place, name in enumerate(order):
            scenarios.append(name)
            level = math.log(1 + "abc".index(name))
            logs.append(level + slope * (3 * block + place) + random.gauss(0, 0.05))
    return drift(scenarios, range(1, len(logs) + 1), logs)


def test_a_drift_is_found_with_its_size() -> None:
    found = run(Random(1), slope=0.01)
    assert found.warned
    assert found.trials == 24
    assert found.change == pytest.approx(23 * 0.01, abs=0.06)


def test_scenarios_that_differ_are_no_drift() -> None:
    """All of one scenario first would look like one, were residuals not within scenarios."""
    logs = [0.01, -0.01, 0.0, 1.0, 1.01, 0.99]
    found = drift(["a"] * 3 + ["b"] * 3, range(1, 7), logs)
    assert not found.warned
    assert found.change == pytest.approx(0, abs=0.05)


def test_runs_without_drift_are_seldom_warned_of() -> None:
    random = Random(2)
    p_values = [found.p_value for found in (run(random, slope=0, blocks=4) for _ in range(150))]
    assert fmean(value is not None and value <= WARNS_UP_TO for value in p_values) <= 0.04
    assert fmean(value for value in p_values if value is not None) == pytest.approx(0.5, abs=0.08)


def test_the_same_run_gives_the_same_p() -> None:
    assert run(Random(3), slope=0.002) == run(Random(3), slope=0.002)


@pytest.mark.parametrize("scenarios", [[], ["a"], ["a", "b", "c"]])
def test_nothing_to_tell_from(scenarios: list[str]) -> None:
    found = drift(scenarios, range(len(scenarios)), [0.1] * len(scenarios))
    assert found == Drift(len(scenarios), None, None)
    assert not found.warned
