"""Comparisons out of rows made by hand: directions, and what has no number."""

from __future__ import annotations

import math
from typing import Any

import pytest

from warehouse.comparisons import METRICS, Comparison, compare
from warehouse.measured import RATE, Floors, Measured

WORKLOAD: dict[str, Any] = {"name": "loop", "arrivals": None}


def trial(size: int, block: int, values: dict[str, float | None], **more: Any) -> dict[str, Any]:
    """A row of `trials` with that of `trial_summary`."""
    row = dict.fromkeys(METRICS, 1.0) | {
        "trial": 2 * block + (size == 20),
        "scenario": f"loop-pool-{size}",
        "workload": "loop",
        "pool_size": size,
        "block": block,
        "variant": None,
        "concurrency": 16,
        "selection": "lifo",
        "pool_reset": True,
        "statement_cache": True,
        "attempt": 1,
        "status": "accepted",
        "excluded": False,
        "planned": None,
        "n": 1_000,
        "failed": 0,
    }
    for group in ("database", "generator"):
        row |= {f"{group}_cores": None, f"{group}_period_ms": None}
    return row | values | more


def run(rows: list[dict[str, Any]], primary: str, limited: tuple[str, ...] = ()) -> Comparison:
    """The primary comparison of a run with these trials."""
    experiment = {"workload": [WORKLOAD], "analysis": {"primary": primary, "delta": 0.05}}
    found = compare(Measured(experiment, rows, limited, Floors(())))
    (primary_row,) = (row for row in found if row.kind == "primary")
    return primary_row


NOISE = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99)


@pytest.mark.parametrize(("metric", "verdict"), [(RATE, "better"), ("end_to_end_p50_ms", "worse")])
def test_more_is_better_of_a_rate_alone(metric: str, verdict: str) -> None:
    rows = [trial(5, block, {metric: 100.0}) for block in range(8)]
    rows += [trial(20, block, {metric: 120 * noise}) for block, noise in enumerate(NOISE)]
    found = run(rows, metric)
    assert (found.metric, found.verdict) == (metric, verdict)
    assert found.ratio == pytest.approx(1.2, rel=0.01)
    assert found.difference == pytest.approx(20, rel=0.01)


def test_a_failed_request_is_infinitely_slow_wherever_it_counts() -> None:
    """A median may bear it; a mean, and a percentile that falls on it, cannot."""
    values = {"end_to_end_mean_ms": None, "end_to_end_p50_ms": 2.0}
    rows = [trial(5, block, {"end_to_end_p50_ms": 1.0}) for block in range(8)]
    rows += [trial(20, block, values, failed=1) for block in range(8)]
    mean, median = run(rows, "end_to_end_mean_ms"), run(rows, "end_to_end_p50_ms")
    assert (mean.ratio, mean.difference, mean.blocks) == (None, None, 0)
    assert median.ratio == pytest.approx(2)
    for found in (mean, median):
        assert (found.verdict, found.reason) == (None, "requests of loop-pool-20 failed")


def test_a_trial_without_requests_leaves_its_block_out() -> None:
    rows = [trial(size, block, {}) for size in (5, 20) for block in range(4)]
    rows[0] |= {"end_to_end_mean_ms": None, "n": 0}
    assert run(rows, "end_to_end_mean_ms").blocks == 3


def test_a_mean_of_zero_has_a_difference_but_no_ratio() -> None:
    rows = [trial(5, block, {"acquire_wait_mean_ms": 0.0}) for block in range(4)]
    rows += [trial(20, block, {"acquire_wait_mean_ms": 3.0}) for block in range(4)]
    found = run(rows, "acquire_wait_mean_ms")
    assert (found.ratio, found.difference, found.verdict) == (None, 3.0, None)


def test_a_scenario_that_broke_its_trial_off_gets_no_verdict() -> None:
    """Else a condition could choose the blocks in which it is compared by dying."""
    rows = [trial(size, block, {}) for size in (5, 20) for block in range(8)]
    rows[-1] |= {"attempt": None, "status": "failed"}
    found = run(rows, "end_to_end_mean_ms")
    assert (found.blocks, found.verdict) == (7, None)
    assert found.reason == "trial 15 of loop-pool-20 broke off"
    rows[-1] |= {"status": "missing"}
    assert run(rows, "end_to_end_mean_ms").verdict == "no relevant difference"


def test_a_percentile_beyond_which_too_few_requests_lie_gets_no_verdict() -> None:
    metric = "end_to_end_p90_ms"
    rows = [trial(5, block, {metric: 1.0}) | {"n": 30} for block in range(8)]
    rows += [trial(20, block, {metric: 2.0}) | {"n": 30} for block in range(8)]
    few = run(rows, metric)
    assert few.ratio == pytest.approx(2)
    assert few.verdict is None
    assert few.reason == "too few independent requests lie beyond that percentile"
    assert run([row | {"n": 40} for row in rows], metric).verdict == "worse"


def test_both_reasons_are_told() -> None:
    rows = [trial(size, block, {}) for size in (5, 20) for block in range(8)]
    found = run(rows, "end_to_end_mean_ms", ("loop-pool-5", "loop-pool-20"))
    assert found.reason == "loop-pool-20 is limited; loop-pool-5 is limited"
    assert found.ratio == pytest.approx(1) and math.isfinite(found.p_holm or 0)
