"""What a person sees while a run is going on.

On a terminal a bar with the time left; elsewhere one plain line a trial, so that a log stays
readable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from poolexp.plan import Plan, Trial


class Reporter(Protocol):
    """Told what happens, in the order in which it happens."""

    def say(self, text: str) -> None:
        """Something worth a line of its own."""

    def begin(self, text: str) -> None:
        """A step that takes a while begins."""

    def trial_begins(self, trial: Trial) -> None:
        """A trial begins."""

    def trial_ends(self, trial: Trial, remark: str) -> None:
        """A trial has been measured and landed."""


class TimeLeft:
    """How long the rest of a run will take, judged by the trials so far."""

    def __init__(self, plan: Plan) -> None:
        self._total = len(plan.trials)
        design = plan.experiment.design
        self._trial_s = design.warm_up_s + design.measure_s + 0.8
        self._done = 0
        self._began = time.monotonic()

    def trial_done(self) -> None:
        """Count one more trial."""
        self._done += 1
        self._trial_s = (time.monotonic() - self._began) / self._done

    def __str__(self) -> str:
        return duration((self._total - self._done) * self._trial_s)


def duration(seconds: float) -> str:
    """A duration as people say it: `42 s`, `6 min 50 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class LineReporter:
    """One line an event."""

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._plan = plan
        self._left = TimeLeft(plan)

    def say(self, text: str) -> None:
        """Print it."""
        self._console.print(text, markup=False, highlight=False)

    def begin(self, text: str) -> None:
        """Print it."""
        self.say(text)

    def trial_begins(self, trial: Trial) -> None:
        """Nothing: the line comes when the trial has ended."""

    def trial_ends(self, trial: Trial, remark: str) -> None:
        """Print what was measured, and the time left."""
        self._left.trial_done()
        self.say(
            f"trial {trial.number:>{len(str(len(self._plan.trials)))}}/{len(self._plan.trials)}  "
            f"block {trial.block}  {trial.scenario.slug:<28} {remark}  ({self._left} left)"
        )


class BarReporter:
    """A bar at the foot of the terminal, with the lines that matter above it."""

    def __init__(self, progress: Progress, plan: Plan) -> None:
        self._progress = progress
        self._left = TimeLeft(plan)
        self._task = progress.add_task("starting", total=len(plan.trials), left=str(self._left))

    def say(self, text: str) -> None:
        """Print it above the bar."""
        self._progress.console.print(text, markup=False, highlight=False)

    def begin(self, text: str) -> None:
        """Name the step beside the bar."""
        self._progress.update(self._task, description=text)

    def trial_begins(self, trial: Trial) -> None:
        """Name the scenario beside the bar."""
        self._progress.update(self._task, description=trial.scenario.slug)

    def trial_ends(self, trial: Trial, remark: str) -> None:
        """Move the bar."""
        self._left.trial_done()
        self._progress.update(self._task, advance=1, left=f"{self._left} left")


@contextmanager
def reporting(plan: Plan, console: Console) -> Iterator[Reporter]:
    """The reporter that fits where the output goes."""
    if not console.is_terminal:
        yield LineReporter(console, plan)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        TimeElapsedColumn(),
    )
    # A redraw costs CPU time on the machine that is being measured: four a second would be seen.
    with Progress(*columns, console=console, refresh_per_second=1, transient=True) as progress:
        yield BarReporter(progress, plan)
