"""`poolexp compare` and `poolexp history` as a person calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result
from written_reports import HOSTILE

from flows.cli import app
from reports.comparison import per_cent, told_apart
from warehouse.likeness import Difference


def call(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--home", str(home)])


def told(result: Result) -> str:
    """What was printed, whatever the lines' ends."""
    return " ".join(result.output.split())


def test_what_differs_stands_before_any_number(series_home: Path) -> None:
    result = call(series_home, "compare", "quiet-10", "kernel")
    assert result.exit_code == 0
    output = told(result)
    assert output.index("kernel yes 6.18.0 6.19.0") < output.index("Ratios to the baseline")
    assert "unlike in what matters (kernel)" in output
    assert "no claim: unlike runs" in output
    assert "worse" not in output


def test_an_unlimited_run_is_called_so_wherever_it_is_shown(series_home: Path) -> None:
    output = told(call(series_home, "compare", "quiet-10", "unlimited"))
    assert "(unlimited), 2026-12-15 21:15 UTC, valid, unlimited" in output
    assert "mean (ms); unlimited" in output


@pytest.mark.parametrize(
    ("runs", "options", "code"),
    [
        (("quiet-10", "slow"), ("--fail-on", "worse"), 1),
        (("quiet-10", "slow"), (), 0),
        (("slow", "quiet-10"), ("--fail-on", "worse"), 0),
        (("quiet-10", "equal"), ("--fail-on", "worse"), 0),
        (("quiet-10", "kernel"), ("--fail-on", "worse"), 0),
        (("quiet-10", "kernel", "slow"), ("--fail-on", "worse"), 1),
    ],
)
def test_the_exit_code(
    series_home: Path, runs: tuple[str, ...], options: tuple[str, ...], code: int
) -> None:
    assert call(series_home, "compare", *runs, *options).exit_code == code


def test_a_claim_with_its_numbers(series_home: Path) -> None:
    output = told(call(series_home, "compare", "quiet-10", "slow"))
    assert "judged by 11 earlier valid runs alike in what matters" in output
    assert "Worse in end to end, mean (ms): burst-pool-2 (" in output


def test_history_tells_of_the_newest_run_and_of_the_change(series_home: Path) -> None:
    result = call(series_home, "history", "stepped")
    assert result.exit_code == 0
    output = told(result)
    assert "stepped: end to end, mean (ms), 12 of 12 runs" in output
    assert "burst-pool-8 changed from" in output
    assert "(after-0)" in output


def test_history_run_by_run(series_home: Path) -> None:
    output = call(
        series_home, "history", "stepped", "--scenario", "burst-pool-8", "--last", "3"
    ).output
    rows = [line for line in output.splitlines() if line.lstrip().startswith("20270101T")]
    assert [row.split()[2] for row in rows] == ["after-1", "after-2", "after-3"]
    assert "another level begins" not in "".join(rows)


def test_hostile_labels_reach_the_terminal_as_text(series_home: Path) -> None:
    shown = call(series_home, "history", "--scenario", "burst-pool-8").output
    compared = call(series_home, "compare", "m-0", HOSTILE).output
    for output in (shown, compared):
        assert "alert(1)" in told_in_one_line(output)
        assert "\x1b" not in output
        assert "\u202e" not in output


def told_in_one_line(output: str) -> str:
    return "".join(output.split())


def test_conditions_that_come_and_go_are_said(series_home: Path) -> None:
    output = told(call(series_home, "history", "moved"))
    assert "begins group B: unlike the run before in kernel (6.18.0 to 6.19.0)" in output
    assert "goes back to group A" in output
    assert "▁|" in output


def test_differences_in_long_values_can_be_seen() -> None:
    common = "SELECT " + 200 * "x"
    first, second = told_apart(Difference("workload", (common + "a" + common, common), True))
    assert first != second
    assert max(len(first), len(second)) <= 60


@pytest.mark.parametrize(
    ("ratio_log", "text"),
    [(0.3365, "+40 %"), (-0.0202, "−2.0 %"), (0.0, "+0.0 %"), (900.0, "more than a million %")],
)
def test_changes_in_per_cent(ratio_log: float, text: str) -> None:
    assert per_cent(ratio_log) == text
