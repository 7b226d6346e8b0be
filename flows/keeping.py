"""The commands that keep what was measured: rebuild, export, import, prune."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flows.console import add, make_console, make_table, plain
from flows.counting import counting
from flows.options import HomeOption, RunArgument
from poolexp.errors import UsageError
from warehouse.database import open_warehouse
from warehouse.export import export_run
from warehouse.importing import import_run
from warehouse.prune import Prunable, prunable
from warehouse.prune import prune as prune_runs
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


def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", help="Of runs older than this: 90d, 12w or 48h.")
    ],
    keep_label: Annotated[
        list[str] | None, typer.Option("--keep-label", help="Not of runs with this label; again.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: HomeOption = Path("var"),
) -> None:
    """Drop the raw rows of old runs from the warehouse; summaries and directories stay."""
    before = datetime.now(UTC).replace(tzinfo=None) - _age(older_than)
    with open_warehouse(home, read_only=True) as warehouse:
        found = prunable(warehouse, before, keep_label or ())
    console = make_console()
    _show_prunable(console, found)
    if dry_run or not found:
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nobody can be asked here", "Say --yes, or --dry-run to look only.")
        typer.confirm("Drop them?", abort=True)
    freed_bytes = prune_runs(home, found)
    console.print(plain(f"Dropped. The warehouse is {freed_bytes / 1e6:,.1f} MB smaller."))


_AGE = re.compile(r"(?P<count>[0-9]{1,5})(?P<unit>[hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no age", "Give hours, days or weeks: 48h, 90d, 12w.")
    return timedelta(hours=int(found["count"]) * _HOURS[found["unit"]])


def _show_prunable(console: Console, found: Sequence[Prunable]) -> None:
    table = make_table("", ("run", "label", "made", "requests", "readings", "about MB"))
    for run in found:
        row_mb = f"{run.about_bytes / 1e6:,.1f}"
        made = f"{run.created_at:%Y-%m-%d}"
        add(table, (run.run_id, run.label, made, f"{run.requests:,}", f"{run.counters:,}", row_mb))
    if found:
        console.print(table)
    total_mb = sum(run.about_bytes for run in found) / 1e6
    rows = sum(run.requests for run in found)
    console.print(
        plain(f"Runs with raw rows to drop: {len(found)}; {rows:,} requests, {total_mb:,.1f} MB.")
    )


def _show_rebuilt(console: Console, report: Rebuilt) -> None:
    lines = [f"Not read from the old file: {reason}" for reason in report.unread]
    lines += [f"SKIPPED  {each.directory}: {each.reason}" for each in report.skipped]
    lines += [
        f"MISSING  {run_id}: its directory is gone, and the old file cannot be read there"
        for run_id in report.missing
    ]
    carried = ", ".join(f"{rows} of {name}" for name, rows in report.carried.items() if rows)
    lines += [
        f"Taken from the old file, because its directory is gone: {run_id}"
        for run_id in report.brought
    ]
    lines.append(
        f"Rebuilt. Runs: {len(report.runs)}; attempts: {report.attempts}; requests: "
        f"{report.requests:,}. Rows carried over, because no directory holds them: "
        f"{carried or 'none'}. "
        f"Runs validated again: {len(report.validated)}."
    )
    if report.kept_as:
        lines.append(f"The old file is kept as {report.kept_as}; delete it when you like.")
    for line in lines:
        console.print(plain(line), soft_wrap=True)
