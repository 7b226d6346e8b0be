"""What the commands print: tables and sentences, the same numbers as in the reports."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.benchmark_result import Finished
from flows.progress import duration
from poolexp.experiment import Experiment
from poolexp.plan import Plan, make_plan
from poolexp.records import planned_trial
from reports.gating import Gating, gating
from reports.numbers import show, show_count, show_share
from reports.summary import SummaryRow, headline, limits_tag, summary_rows
from warehouse import queries
from warehouse.database import Warehouse
from warehouse.validate import ValidationReport


class OutputFormat(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"

PIPED_WIDTH = 120
"""Columns where the output is no terminal: room for the tables, and diffs stay readable."""


def make_console() -> Console:
    """A console that is as wide as the terminal, or wide enough where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPED_WIDTH)


def _table(title: str, headings: Iterable[str], *, text_columns: int = 1) -> Table:
    """A quiet table: the first columns are words, the others numbers."""
    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index < text_columns else "right")
    return table


def _plain(text: object, style: str = "") -> Text:
    """Text that a person or a server may have written: never markup, never an escape sequence."""
    shown = "".join(
        char
        if char in "\n\t" or unicodedata.category(char)[0] != "C"
        else "\N{REPLACEMENT CHARACTER}"
        for char in str(text)
    )
    return Text(shown, style=style)


def _add(table: Table, cells: Iterable[object]) -> None:
    table.add_row(*(_plain("" if cell is None else cell) for cell in cells))


def show_experiments(console: Console, experiments: Iterable[Experiment]) -> None:
    """The catalogue, with what each one takes."""
    table = _table("", ("experiment", "trials", "requests", "takes", "question"), text_columns=1)
    table.columns[-1].justify = "left"
    for experiment in experiments:
        plan = make_plan(experiment, "not run")
        _add(
            table,
            (
                experiment.name,
                len(plan.trials),
                f"{plan.planned_measured:,}",
                duration(plan.expected_s),
                experiment.question,
            ),
        )
    console.print(table)
    console.print(
        "Copy one to edit it:  poolexp experiments pool-lab > mine.toml  "
        "and then  poolexp run mine.toml",
        highlight=False,
    )


def show_plan(console: Console, plan: Plan) -> None:
    """Every trial in its order, and the time it all takes."""
    table = _table(
        "", ("trial", "block", "scenario", "limits", "requests", "measured", "offset (ms)")
    )
    for column in table.columns[2:4]:
        column.justify = "left"
    for trial in plan.trials:
        _add(
            table,
            (
                trial.number,
                trial.block,
                trial.scenario.slug,
                _limits_text(trial.scenario.limits),
                trial.planned_requests,
                trial.planned_measured,
                f"{trial.start_offset_ns / 1e6:.2f}",
            ),
        )
    console.print(table)
    design = plan.experiment.design
    console.print(
        f"{len(plan.trials)} trials of {design.warm_up_s:g} s warm-up and {design.measure_s:g} s "
        f"window: {duration(plan.measuring_s)} of measuring, about {duration(plan.expected_s)} in "
        f"all; {plan.planned_measured:,} requests in the windows. Seed {design.seed}.",
        highlight=False,
    )


def _limits_text(limits: dict[str, Any]) -> str:
    return ", ".join(
        f"{group} {limit.cores:g} cores per {limit.period_ms:g} ms" if limit else f"{group} none"
        for group, limit in limits.items()
    )


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """A plan as `poolexp plan --json` prints it."""
    return {
        "experiment": plan.experiment.name,
        "experiment_hash": plan.experiment.digest,
        "measuring_s": plan.measuring_s,
        "expected_s": plan.expected_s,
        "planned_measured": plan.planned_measured,
        "trials": [planned_trial(trial) for trial in plan.trials],
    }


def show_runs(console: Console, warehouse: Warehouse) -> None:
    """One line a run."""
    table = _table(
        "",
        ("run", "label", "experiment", "state", "limits", "validation", "trials", "requests"),
        text_columns=6,
    )
    for row in queries.runs(warehouse).iter_rows(named=True):
        _add(
            table,
            (
                row["run_id"],
                row["label"],
                row["experiment"],
                row["state"],
                row["limits_state"],
                _validity(row["validated"]),
                f"{row['landed_trials']}/{row['planned_trials']}",
                f"{row['planned_measured']:,}",
            ),
        )
    console.print(table)


def _validity(validated: bool | None) -> str:
    return {True: "passed", False: "FAILED", None: "not validated"}[validated]


def show_run(console: Console, warehouse: Warehouse, run_id: str) -> None:
    """One run: what happened in words, then the compact table."""
    run = queries.runs(warehouse).row(by_predicate=pl.col("run_id") == run_id, named=True)
    scenarios = queries.scenario_summary(warehouse, run_id)
    trials = queries.trial_summary(warehouse, run_id)
    tag = limits_tag(run["limits_state"])
    console.print()
    console.print(_plain(f"{run['experiment']}  {run_id}  {run['label'] or ''}", style="bold"))
    console.print(_plain(run["question"] or ""))
    console.print()
    for sentence in headline(scenarios, trials, limits_tag=tag):
        console.print(_plain(sentence))
        console.print()
    console.print(_summary_table(console.width, summary_rows(scenarios), tag))
    found = read_gating(warehouse, run_id)
    if found.excluded:
        everything = summary_rows(queries.scenario_summary_all(warehouse, run_id))
        console.print(Text("The same over all trials, those of excluded blocks too:"))
        console.print(_summary_table(console.width, everything, tag))
    _show_gates(console, found)
    console.print(
        _plain(
            f"State: {run['state']}. Validation: {_validity(run['validated'])}. "
            f"CPU limits: {run['limits_state']}"
            + (f" ({run['limits_reason']})" if run["limits_reason"] else "")
            + "."
        )
    )


def read_gating(warehouse: Warehouse, run_id: str) -> Gating:
    """What became of a run's trials at the gates."""
    return gating(
        queries.gates(warehouse, run_id),
        queries.trials(warehouse, run_id),
        queries.scenario_summary(warehouse, run_id),
    )


def _show_gates(console: Console, found: Gating) -> None:
    console.print(Text(f"Gates: {found.verdict}."))
    for sentence in found.sentences():
        console.print(Text(f"  {sentence}"))


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of the summary; left out where the terminal is narrower than `from_width`."""

    heading: str
    text: Callable[[SummaryRow], str]
    from_width: int = 0


_SUMMARY_COLUMNS = (
    _Column("scenario", lambda row: row.name),
    _Column("n", lambda row: show_count(row.n), from_width=110),
    _Column("failed", lambda row: show_count(row.failed) if row.failed else "", from_width=90),
    _Column("mean", lambda row: show(row.end_to_end_mean_ms)),
    _Column("p50", lambda row: show(row.end_to_end_p50_ms), from_width=124),
    _Column("p99", lambda row: show(row.end_to_end_p99_ms)),
    _Column("acquire", lambda row: show(row.acquire_wait_mean_ms)),
    _Column("trip", lambda row: show(row.round_trip_mean_ms)),
    _Column("release", lambda row: show(row.release_mean_ms), from_width=90),
    _Column("throttled", lambda row: show_share(row.database_throttled_share), from_width=80),
    _Column("cores", lambda row: show(row.database_cpu_cores, 3), from_width=84),
    _Column("MiB", lambda row: show(row.database_memory_mib, 0)),
)


def _summary_table(width: int, rows: Sequence[SummaryRow], tag: str) -> Table:
    """The compact table: as many columns as the terminal has room for."""
    columns = [column for column in _SUMMARY_COLUMNS if width >= column.from_width]
    title = (
        "Medians over the repetitions: end to end (mean, p99) and the means of its phases in ms, "
        "then the database's throttled share of active periods, CPU cores and memory"
    )
    table = _table(title + (f"; {tag}" if tag else ""), (column.heading for column in columns))
    for column in table.columns:
        column.no_wrap = True
    for row in rows:
        _add(table, (column.text(row) for column in columns))
    return table


def show_validation(console: Console, judged: ValidationReport) -> None:
    """The expectations that failed, with what was seen, and the verdict."""
    for result in judged.failures:
        console.print(_plain(f"FAILED  {result.expectation}: {result.message}"))
    count = len({result.expectation for result in judged.results})
    failed = len({result.expectation for result in judged.failures})
    verdict = "FAILED" if failed or not judged.success else "passed"
    told = (
        f"{failed} of {count} expectations failed" if failed else f"all {count} expectations held"
    )
    console.print(_plain(f"Validation of {judged.run_id}: {verdict}, {told}."))


def show_end(console: Console, finished: Finished) -> None:
    """Validation, where the time went, and where the report lies."""
    show_validation(console, finished.validation)
    parts = ", ".join(
        f"{name.replace('_', '-')} {seconds:.1f} s" for name, seconds in finished.wall_s.items()
    )
    total_s = finished.total_s
    console.print(
        _plain(
            f"Wall time {total_s:.1f} s, {total_s / finished.measuring_s:.3f} x the "
            f"{finished.measuring_s:g} s of warm-up and windows ({parts}; landing overlaps the "
            f"trials). From the first trial's start to the last landing: "
            f"{finished.trials_s / finished.measuring_s:.3f} x."
        )
    )
    console.print(_plain(f"Report: {finished.report}"), soft_wrap=True)
    if finished.limits.warning:
        console.print(_plain(finished.limits.warning))


def show_frame(console: Console, frame: pl.DataFrame, output: OutputFormat) -> None:
    """Rows of a query, in the format that was asked for."""
    if output is OutputFormat.CSV:
        sys.stdout.write(frame.write_csv())
    elif output is OutputFormat.JSON:
        sys.stdout.write(frame.write_json() + "\n")
    elif output is OutputFormat.PARQUET:
        frame.write_parquet(sys.stdout.buffer)
    else:
        console.print(_frame_as_table(frame, console.width))
        console.print(f"{frame.height:,} rows", highlight=False)


def _frame_as_table(frame: pl.DataFrame, width: int) -> Table:
    """Rows side by side, or one below the other where they would not fit."""
    rows = [["NULL" if cell is None else str(cell) for cell in row] for row in frame.iter_rows()]
    widest = [max(map(len, column)) for column in zip(frame.columns, *rows, strict=True)]
    if sum(widest) + 3 * len(widest) > width and rows:
        table = _table("", ("column", "value"))
        table.columns[1].justify = "left"
        for number, row in enumerate(rows, start=1):
            _add(table, (f"row {number}", ""))
            for name, cell in zip(frame.columns, row, strict=True):
                _add(table, (f"  {name}", cell))
        return table
    table = _table("", frame.columns, text_columns=0)
    for column, kind in zip(table.columns, frame.dtypes, strict=True):
        column.justify = "right" if kind.is_numeric() else "left"
    for row in rows:
        _add(table, row)
    return table
