"""The commands that keep what was measured: rebuild, export, import, prune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flows.console import make_console, plain
from flows.counting import counting
from flows.options import HomeOption, RunArgument
from warehouse.database import open_warehouse
from warehouse.export import export_run
from warehouse.importing import import_run
from warehouse.queries import resolve_run
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


def export(
    run: RunArgument = "latest",
    to: Annotated[
        Path | None,
        typer.Option("--to", help="A new directory or .zip file; default: exports/ of the home."),
    ] = None,
    home: HomeOption = Path("var"),
) -> None:
    """Pack one run to give it away: Parquet, CSV summaries, documents, a column dictionary."""
    with open_warehouse(home, read_only=True) as warehouse:
        run_id = resolve_run(warehouse, run)
        path = export_run(warehouse, run_id, to or home / "exports" / run_id)
    typer.echo(path)


def import_(
    parcel: Annotated[Path, typer.Argument(help="A directory or .zip file of `poolexp export`.")],
    home: HomeOption = Path("var"),
) -> None:
    """Bring an exported run into this home, checked and byte for byte."""
    imported = import_run(home, parcel)
    there = "was there already" if imported.known else "is in"
    make_console().print(plain(f"Run {imported.run_id} {there} {home}."), soft_wrap=True)


def _show_rebuilt(console: Console, report: Rebuilt) -> None:
    lines = [f"Not read from the old file: {reason}" for reason in report.unread]
    lines += [f"SKIPPED  {each.directory}: {each.reason}" for each in report.skipped]
    lines += [
        f"MISSING  {run_id}: only the old file has this run; its directory is gone"
        for run_id in report.missing
    ]
    carried = ", ".join(f"{rows} of {name}" for name, rows in report.carried.items() if rows)
    lines.append(
        f"Rebuilt: {len(report.runs)} runs, {report.attempts} attempts, {report.requests:,} "
        f"requests. Carried over, because no directory holds them, rows: {carried or 'none'}. "
        f"Runs validated again: {len(report.validated)}."
    )
    if report.kept_as:
        lines.append(f"The old file is kept as {report.kept_as}; delete it when you like.")
    for line in lines:
        console.print(plain(line), soft_wrap=True)
