"""The commands that keep what was measured: rebuild, export, import, prune."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from flows.console import make_console, plain
from flows.counting import counting
from flows.options import HomeOption
from warehouse.rebuild import Rebuilt
from warehouse.rebuild import rebuild as rebuild_warehouse

INCOMPLETE = 1


def rebuild(home: HomeOption = Path("var")) -> None:
    """Make the warehouse again from the trial directories; the old file is kept."""
    console = make_console()
    with counting(console, "landing run") as step:
        report = rebuild_warehouse(home, step)
    _show_rebuilt(console, report)
    raise typer.Exit(0 if report.whole else INCOMPLETE)


def _show_rebuilt(console: Console, report: Rebuilt) -> None:
    lines = [f"Not read from the old file: {reason}" for reason in report.unread]
    lines += [f"SKIPPED  {each.directory}: {each.reason}" for each in report.skipped]
    lines += [
        f"MISSING  {run_id}: only the old file has this run; its directory is gone"
        for run_id in report.missing
    ]
    carried = ", ".join(f"{rows} of {table}" for table, rows in report.carried.items())
    lines.append(
        f"Rebuilt: {len(report.runs)} runs, {report.attempts} attempts, {report.requests:,} "
        f"requests. Carried over, because no directory holds them, rows: {carried or 'none'}. "
        f"Runs validated again: {len(report.validated)}."
    )
    if report.kept_as:
        lines.append(f"The old file is kept as {report.kept_as}; delete it when you like.")
    for line in lines:
        console.print(plain(line), soft_wrap=True)
