import io

import pytest
from rich.console import Console

from flows.progress import duration, reporting
from poolexp.catalogue import load_experiment
from poolexp.plan import make_plan


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (403, "6 min 43 s"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_without_a_terminal_there_is_one_plain_line_a_trial() -> None:
    plan = make_plan(load_experiment("pool-lab-quick"), "run")
    output = io.StringIO()
    with reporting(plan, Console(file=output, width=120)) as reporter:
        reporter.begin("starting [bold]PostgreSQL[/bold]")
        for trial in plan.trials:
            reporter.trial_begins(trial)
            reporter.trial_ends(trial, "400 requests")
    lines = output.getvalue().splitlines()
    assert lines[0] == "starting [bold]PostgreSQL[/bold]", "text is never taken for markup"
    assert len(lines) == 28
    assert all("\x1b" not in line for line in lines)
    assert lines[1].startswith("trial  1/27  block 1")
    assert lines[-1].endswith("(0 s left)")


def test_on_a_terminal_there_is_a_bar_with_the_time_left() -> None:
    plan = make_plan(load_experiment("pool-lab-quick"), "run")
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=120)
    with reporting(plan, console) as reporter:
        reporter.trial_begins(plan.trials[0])
        reporter.trial_ends(plan.trials[0], "400 requests")
    shown = output.getvalue()
    assert plan.trials[0].scenario.slug in shown
    assert "1/27" in shown
    assert " left" in shown
