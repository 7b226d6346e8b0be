"""What happened from the smallest pool to the largest, in words."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from reports.claims import claims_of, drift_in_words, ground_rules, show_change
from reports.findings import findings
from reports.scenarios import cells_of, series_of
from reports.summary import SUMMARY_HEADINGS, headline, limits_tag, summary_rows

Means = dict[str, float | None]

VERDICTS = ("better", "worse", "faster", "slower", "difference", "significant", "improve")


def scenario(size: int, means: Means, *, slug: str = "", **more: Any) -> dict[str, object]:
    name = slug or f"bursts-pool-{size}"
    row: dict[str, object] = {
        "scenario": name,
        "workload": "bursts",
        "pool_size": size,
        "trials": 3,
        "usable": 3,
        "n": 1440,
        "failed": 0,
        "limited": False,
        "limited_reasons": None,
    }
    return row | {f"{phase}_mean_ms": mean for phase, mean in means.items()} | more


def trials(size: int, means: list[float | None], *, slug: str = "") -> list[dict[str, object]]:
    return [
        {
            "scenario": slug or f"bursts-pool-{size}",
            "block": block,
            "excluded": False,
            "acquire_wait_mean_ms": mean,
            "round_trip_mean_ms": mean,
            "end_to_end_mean_ms": mean,
        }
        for block, mean in enumerate(means, start=1)
    ]


def comparison(size: int, **more: Any) -> dict[str, object]:
    row: dict[str, object] = {
        "number": size,
        "kind": "primary",
        "factor": "pool_size",
        "workload": "bursts",
        "scenario": f"bursts-pool-{size}",
        "baseline": "bursts-pool-5",
        "level": str(size),
        "baseline_level": "5",
        "metric": "end_to_end_mean_ms",
        "blocks": 3,
        "ratio": 1.06,
        "adjusted_low": 0.98,
        "adjusted_high": 1.14,
        "noise_floor": None,
        "relevant": 0.05,
        "verdict": "not decided",
        "reason": None,
        "blocks_needed": None,
    }
    return row | more


def comparison_frame(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None)


SMALL: Means = {"acquire_wait": 26.71, "round_trip": 44.94, "end_to_end": 83.81}
LARGE: Means = {"acquire_wait": 0.012, "round_trip": 75.52, "end_to_end": 88.62}


def frames(
    scenarios: list[dict[str, object]], rows: list[dict[str, object]]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.DataFrame(scenarios), pl.DataFrame(rows)


def test_the_sentence_names_the_phases_and_both_ends() -> None:
    told = headline(
        *frames(
            [scenario(100, LARGE), scenario(5, SMALL), scenario(20, SMALL)],
            [
                *trials(5, [80.1, 83.81, 91.2]),
                *trials(20, [1.0, 1.0, 1.0]),
                *trials(100, [85.0, 88.62, 95.1]),
            ],
        )
    )
    assert told == [
        "bursts: from 5 to 100 connections the acquire wait went from 26.7 to 0.0 ms, "
        "the round trip from 44.9 to 75.5 ms and end to end from 83.8 to 88.6 ms. "
        "End to end in each repetition: 80.1, 83.8, 91.2 ms with 5 connections; "
        "85.0, 88.6, 95.1 ms with 100 connections."
    ]


def test_no_word_judges_before_the_run_is_judged() -> None:
    told = headline(
        *frames(
            [scenario(5, SMALL), scenario(100, LARGE)],
            [*trials(5, [80.0, 83.8, 91.0]), *trials(100, [85.0, 88.6, 95.0])],
        )
    )
    assert not [word for word in VERDICTS if word in told[0].lower()]


def test_the_sentence_ends_with_the_verdict_and_what_it_rests_on() -> None:
    (told,) = headline(
        *frames(
            [scenario(5, SMALL), scenario(20, SMALL), scenario(100, LARGE)],
            [*trials(5, [80.0, 84.0]), *trials(20, [84.0] * 2), *trials(100, [85.0, 89.0])],
        ),
        comparison_frame(
            comparison(20, verdict="worse", blocks_needed=None, blocks=8),
            comparison(100, verdict="not decided", blocks_needed=9),
        ),
    )
    assert told.startswith(
        "bursts: from 5 to 100 connections the acquire wait went from 26.7 to 0.0 ms and the round "
        "trip from 44.9 to 75.5 ms; end to end went from 83.8 to 88.6 ms: not decided "
        "(3 repetitions; about 9 would be needed). 20 connections against 5, end to end +6.0 % "
        "(−2.0 % to +14.0 %): worse (8 repetitions). End to end in each repetition: "
    )


def test_where_there_is_no_verdict_its_reason_stands() -> None:
    (found,) = findings(
        *frames(
            [scenario(5, SMALL), scenario(100, LARGE)], [*trials(5, [80.0]), *trials(100, [85.0])]
        ),
        comparison_frame(comparison(100, verdict=None, reason="bursts-pool-5 is limited")),
    )
    assert found.sentence.endswith("83.8 to 88.6 ms: no verdict, because bursts-pool-5 is limited.")
    assert found.verdicts == []


def test_a_verdict_on_another_metric_names_it() -> None:
    (found,) = findings(
        *frames(
            [scenario(5, SMALL), scenario(100, LARGE)], [*trials(5, [80.0]), *trials(100, [85.0])]
        ),
        comparison_frame(comparison(100, metric="round_trip_p90_ms", verdict="worse")),
    )
    assert found.sentence.endswith("and end to end from 83.8 to 88.6 ms.")
    assert found.verdicts == [
        "100 connections against 5, p90 of the round trip +6.0 % (−2.0 % to +14.0 %): worse "
        "(3 repetitions)."
    ]


def test_a_variant_is_named_with_its_scenario() -> None:
    (claim,) = claims_of(
        comparison_frame(
            comparison(5, factor="variant", level="new", baseline_level="old", ratio=None)
        )
    )
    assert claim.sentence == (
        "new against old (bursts-pool-5), end to end: not decided (3 repetitions)."
    )


def test_rows_that_were_not_named_beforehand_say_nothing() -> None:
    assert claims_of(comparison_frame(comparison(100, kind="other", verdict=None))) == ()
    assert claims_of(None) == ()


@pytest.mark.parametrize(
    ("floors", "rules"),
    [
        (
            [None, None],
            [
                "A difference counts from 5 % on.",
                "Noise floor not measured: what this host varies by on its own is not known.",
            ],
        ),
        (
            [0.08, None],
            [
                "A difference counts from 5 % to 8 % on.",
                "Noise floor not measured for 1 of 2 comparisons.",
            ],
        ),
        ([0.08, 0.08], ["A difference counts from 8 % on."]),
        ([], []),
    ],
)
def test_the_noise_floor_is_told(floors: list[float | None], rules: list[str]) -> None:
    rows = [
        comparison(size, noise_floor=floor, relevant=max(0.05, floor or 0))
        for size, floor in zip((20, 100), floors, strict=False)
    ]
    claims = claims_of(comparison_frame(*rows)) if rows else ()
    assert list(ground_rules(claims)) == rules


def test_drift_is_told_where_it_is_to_be() -> None:
    row = {"metric": "end_to_end_mean_ms", "change": 0.082, "p_value": 0.002, "warned": True}
    assert drift_in_words(pl.DataFrame([row])) == (
        "end to end moved by +8.2 % from the first trial to the last, whatever the scenario "
        "(permutation p 0.0020)"
    )
    assert drift_in_words(pl.DataFrame([row | {"warned": False}])) is None


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.032, "+3.2 %"),
        (0.96, "−4.0 %"),
        (1.0, "0.0 %"),
        (0.99999, "0.0 %"),
        (3.5, "+250 %"),
        (None, "–"),
    ],
)
def test_ratios_are_told_as_changes(ratio: float | None, text: str) -> None:
    assert show_change(ratio) == text


def test_a_run_without_usable_repetitions_says_so_once() -> None:
    none: Means = {"acquire_wait": None, "round_trip": None, "end_to_end": None}
    (found,) = findings(
        *frames(
            [scenario(5, none, usable=0), scenario(100, none, usable=0)],
            [*trials(5, [None] * 3), *trials(100, [None] * 3)],
        )
    )
    assert found.sentence == "with 5 and 100 connections no phase has a mean."
    assert found.warnings == ["Only 0 of 3 repetitions are usable."]


def test_equal_ends_are_said_once() -> None:
    means: Means = {"acquire_wait": 0.0312, "round_trip": 0.18, "end_to_end": 0.53}
    later: Means = {"acquire_wait": 0.0309, "round_trip": 0.27, "end_to_end": 0.75}
    (found,) = findings(
        *frames(
            [scenario(5, means), scenario(100, later)], [*trials(5, [0.5]), *trials(100, [0.7])]
        )
    )
    assert found.sentence == (
        "from 5 to 100 connections the acquire wait was 0.031 ms with both, "
        "the round trip went from 0.18 to 0.27 ms and end to end from 0.53 to 0.75 ms."
    )
    assert found.repetitions.startswith("End to end in the only repetition: 0.50 ms")


def test_failures_and_missing_trials_are_said() -> None:
    lost: Means = {"acquire_wait": 0.012, "round_trip": 75.52, "end_to_end": None}
    none: Means = {"acquire_wait": None, "round_trip": None, "end_to_end": None}
    (found,) = findings(
        *frames(
            [
                scenario(5, SMALL, failed=12),
                scenario(20, none, usable=0, n=0),
                scenario(100, lost, usable=2, failed=3, n=960),
            ],
            [*trials(5, [80.0, 83.8, 91.0]), *trials(20, [None] * 3), *trials(100, [None] * 3)],
        )
    )
    assert "end to end was 83.8 ms with 5 and has no mean with 100" in found.sentence
    assert found.warnings == [
        "12 of 1,440 requests failed with 5 connections; "
        "a repetition with a failure has no mean end to end.",
        "3 of 960 requests failed with 100 connections; "
        "a repetition with a failure has no mean end to end.",
        "Only 0 of 3 repetitions are usable with 20 connections.",
        "Only 2 of 3 repetitions are usable with 100 connections.",
    ]


def test_a_single_pool_stands_for_itself() -> None:
    (found,) = findings(*frames([scenario(1, SMALL)], trials(1, [83.8, None])))
    assert found.sentence == (
        "with 1 connection the acquire wait was 26.7 ms, the round trip was 44.9 ms "
        "and end to end was 83.8 ms."
    )
    assert found.repetitions == "End to end in each repetition: 83.8, – ms with 1 connection."


def test_many_repetitions_are_told_by_their_range() -> None:
    many = [80.0 + step for step in range(9)]
    (found,) = findings(
        *frames(
            [scenario(5, SMALL), scenario(9, LARGE)], [*trials(5, [*many]), *trials(9, [None] * 9)]
        )
    )
    assert found.repetitions == (
        "End to end in 9 repetitions (least to most): "
        "80.0–88.0 ms with 5 connections; – ms with 9 connections."
    )


def test_what_differs_besides_the_size_makes_a_series_of_its_own() -> None:
    rows = [
        scenario(size, SMALL, slug=f"bursts-pool-{size}{variant}")
        for size in (5, 100)
        for variant in ("", "-no-reset")
    ]
    series = series_of(cells_of(pl.DataFrame(rows)))
    assert [(found.name, [cell.scenario for cell in found.cells]) for found in series] == [
        ("bursts", ["bursts-pool-5", "bursts-pool-100"]),
        ("bursts no-reset", ["bursts-pool-5-no-reset", "bursts-pool-100-no-reset"]),
    ]


@pytest.mark.parametrize(
    ("state", "tag"),
    [("limited", ""), ("unlimited", "unlimited"), ("not asked", "no CPU limit asked for")],
)
def test_a_run_without_limits_says_so(state: str, tag: str) -> None:
    assert limits_tag(state) == tag
    (told,) = headline(*frames([scenario(5, SMALL)], trials(5, [83.8])), limits_tag=tag)
    assert told.startswith(f"bursts ({tag}): with" if tag else "bursts: with")


def test_the_compact_table_has_a_cell_for_every_heading() -> None:
    metrics = [
        "end_to_end_p50_ms",
        "end_to_end_p95_ms",
        "end_to_end_p99_ms",
        "end_to_end_max_ms",
        "release_mean_ms",
    ]
    more: dict[str, Any] = dict.fromkeys(metrics, 9.87)
    more |= {"database_throttled_share": 0.845, "database_cpu_cores": 0.2474}
    row = scenario(5, SMALL, **more, database_memory_mib=None)
    (made,) = summary_rows(pl.DataFrame([row]))
    assert dict(zip(SUMMARY_HEADINGS, made.cells(), strict=True)) == {
        "scenario": "bursts-pool-5",
        "n": "1,440",
        "failed": "0",
        "end to end mean ms": "83.8",
        "p50 ms": "9.9",
        "p95 ms": "9.9",
        "p99 ms": "9.9",
        "max ms": "9.9",
        "acquire wait ms": "26.7",
        "round trip ms": "44.9",
        "release ms": "9.9",
        "throttled share": "84 %",
        "database cores": "0.247",
        "database MiB": "–",
    }
