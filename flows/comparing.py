"""The commands that set runs side by side: compare and history.

What they need is imported by them: scipy takes half a second, and most commands do without.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flows.console import make_console
from flows.options import HomeOption
from warehouse.database import open_warehouse
from warehouse.queries import resolve_run

WORSE = 1


class FailOn(StrEnum):
    """Which claim makes the command fail."""

    WORSE = "worse"


ExperimentArgument = Annotated[
    str | None, typer.Argument(help="An experiment's name; by default that of the newest run.")
]
RunsArgument = Annotated[
    list[str],
    typer.Argument(metavar="RUN RUN...", help="The baseline first; ids, labels or 'latest'."),
]
FailOnOption = Annotated[
    FailOn | None,
    typer.Option("--fail-on", help="Exit with 1 where a scenario is claimed to be worse."),
]
HtmlOption = Annotated[bool, typer.Option("--html", help="Write a page and print its path.")]
OpenOption = Annotated[bool, typer.Option("--open", help="Write a page and open it in a browser.")]


def compare(
    runs: RunsArgument,
    home: HomeOption = Path("var"),
    fail_on: FailOnOption = None,
    html: HtmlOption = False,
    open_page: OpenOption = False,
) -> None:
    """Compare runs with a baseline: what differs first, then what may be claimed."""
    from flows.run_tables import show_compared
    from warehouse.runs_compared import compare_runs

    with open_warehouse(home, read_only=True) as warehouse:
        compared = compare_runs(warehouse, [resolve_run(warehouse, run) for run in runs])
    show_compared(make_console(), compared)
    if html or open_page:
        from reports.comparison_page import write_comparison

        _tell_page(write_comparison(compared, home / "reports"), open_page=open_page)
    raise typer.Exit(WORSE if fail_on is FailOn.WORSE and compared.any_worse else 0)


def history(
    experiment: ExperimentArgument = None,
    home: HomeOption = Path("var"),
    scenario: Annotated[str | None, typer.Option(help="Only this one, run by run.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="A column of scenario_summary; by default the experiment's primary metric."
        ),
    ] = None,
    last: Annotated[int, typer.Option(min=1, help="So many of the newest runs are shown.")] = 30,
    html: HtmlOption = False,
    open_page: OpenOption = False,
) -> None:
    """Show an experiment over its runs: the newest against the others, and where levels changed."""
    from flows.run_tables import show_history
    from warehouse.runs_history import experiment_history

    with open_warehouse(home, read_only=True) as warehouse:
        found = experiment_history(warehouse, experiment, metric=metric, scenario=scenario)
    show_history(make_console(), found, last, run_by_run=scenario is not None)
    if html or open_page:
        from reports.history_page import write_history

        _tell_page(write_history(found, last, home / "reports"), open_page=open_page)


def _tell_page(path: Path, *, open_page: bool) -> None:
    typer.echo(path)
    if open_page:
        typer.launch(path.resolve().as_uri())
