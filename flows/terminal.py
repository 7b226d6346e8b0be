"""What the commands print: tables and sentences, the same numbers as in the reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

from flows.benchmark_result import Finished
from flows.console import add, make_table, plain
from flows.progress import duration
from poolexp.experiment import Experiment
from poolexp.plan import Plan, make_plan
from poolexp.records import planned_trial
from poolexp.variants import Variant
from reports.claims import claims_of, drift_in_words, ground_rules
from reports.gating import Gating, gating
from reports.numbers import show, show_count, show_share
from reports.standing import failure_words
from reports.summary import SummaryRow, headline, limits_tag, summary_rows
from warehouse import queries
from warehouse.database import Warehouse
from warehouse.validate import ValidationReport


def show_experiments(console: Console, experiments: Iterable[Experiment]) -> None:
    """The catalogue, with what each one takes."""
    table = make_table(
        "", ("experiment", "trials", "requests", "takes", "question"), text_columns=1
    )
    table.columns[-1].justify = "left"
    for experiment in experiments:
        plan = make_plan(experiment, "not run")
        add(
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
    table = make_table(
        "", ("trial", "block", "scenario", "limits", "requests", "measured", "offset (ms)")
    )
    for column in table.columns[2:4]:
        column.justify = "left"
    for trial in plan.trials:
        add(
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
    for variant in plan.experiment.variant:
        console.print(plain(_variant_text(variant)))
    design = plan.experiment.design
    console.print(
        f"{len(plan.trials)} trials of {design.warm_up_s:g} s warm-up and {design.measure_s:g} s "
        f"window: {duration(plan.measuring_s)} of measuring, about {duration(plan.expected_s)} in "
        f"all; {plan.planned_measured:,} requests in the windows. Seed {design.seed}.",
        highlight=False,
    )


def _variant_text(variant: Variant) -> str:
    """What makes a variant: `newer: pg_bin ../pg19/bin`, or that nothing does."""
    told = [f"{name} = {value}" for name, value in variant.settings.items()]
    told += [f"pg_bin {variant.pg_bin}"] if variant.pg_bin else []
    told += [f"{variant.work:g} times the work"] if variant.work != 1 else []
    return f"variant {variant.name}: {', '.join(told) or 'as the experiment says'}"


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


def show_runs(console: Console, runs: pl.DataFrame) -> None:
    """One line a run."""
    table = make_table(
        "",
        ("run", "label", "experiment", "state", "limits", "validation", "trials", "requests"),
        text_columns=6,
    )
    for row in runs.iter_rows(named=True):
        add(
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


@dataclass(frozen=True, slots=True)
class ShownRun:
    """What is shown of one run: read at once, so that the warehouse is not held while printing.

    Attributes:
        run: its row of the view `runs`.
        everything: the summary of scenarios as if no block were excluded.
    """

    run: Mapping[str, Any]
    scenarios: pl.DataFrame
    everything: pl.DataFrame
    trials: pl.DataFrame
    comparisons: pl.DataFrame
    drifts: pl.DataFrame
    failure_kinds: pl.DataFrame
    gating: Gating


def read_shown_run(warehouse: Warehouse, run_id: str) -> ShownRun:
    """Read what is shown of one run."""
    return ShownRun(
        run=queries.runs(warehouse).row(by_predicate=pl.col("run_id") == run_id, named=True),
        scenarios=queries.scenario_summary(warehouse, run_id),
        everything=queries.scenario_summary_all(warehouse, run_id),
        trials=queries.trial_summary(warehouse, run_id),
        comparisons=queries.comparisons(warehouse, run_id),
        drifts=queries.drifts(warehouse, run_id),
        failure_kinds=queries.failure_kinds(warehouse, run_id),
        gating=read_gating(warehouse, run_id),
    )


def show_run(console: Console, shown: ShownRun) -> None:
    """One run: what happened in words, then the compact table."""
    run, scenarios, trials, found = shown.run, shown.scenarios, shown.trials, shown.gating
    tag = limits_tag(run["limits_state"])
    console.print()
    console.print(
        plain(f"{run['experiment']}  {run['run_id']}  {run['label'] or ''}", style="bold")
    )
    console.print(plain(run["question"] or ""))
    console.print()
    for sentence in headline(scenarios, trials, shown.comparisons, limits_tag=tag):
        console.print(plain(sentence))
        console.print()
    if rules := " ".join(ground_rules(claims_of(shown.comparisons))):
        console.print(plain(rules))
        console.print()
    console.print(_summary_table(console.width, summary_rows(scenarios), tag))
    if found.excluded:
        everything = summary_rows(shown.everything)
        console.print(plain("The same over all trials, those of excluded blocks too:"))
        console.print(_summary_table(console.width, everything, tag))
    _show_gates(console, found)
    if warning := drift_in_words(shown.drifts):
        console.print(plain(f"Drift: {warning}."))
    for words in failure_words(shown.failure_kinds):
        console.print(plain(f"Error: {words}"))
    console.print(
        plain(
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
    console.print(plain(f"Gates: {found.verdict}."))
    for sentence in found.sentences():
        console.print(plain(f"  {sentence}"))


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
    table = make_table(title + (f"; {tag}" if tag else ""), (column.heading for column in columns))
    for column in table.columns:
        column.no_wrap = True
    for row in rows:
        add(table, (column.text(row) for column in columns))
    return table


def show_validation(console: Console, judged: ValidationReport) -> None:
    """The expectations that failed, with what was seen, and the verdict."""
    for result in judged.failures:
        console.print(plain(f"FAILED  {result.expectation}: {result.message}"))
    count = len({result.expectation for result in judged.results})
    failed = len({result.expectation for result in judged.failures})
    verdict = "FAILED" if failed or not judged.success else "passed"
    told = (
        f"{failed} of {count} expectations failed" if failed else f"all {count} expectations held"
    )
    console.print(plain(f"Validation of {judged.run_id}: {verdict}, {told}."))


def show_end(console: Console, finished: Finished) -> None:
    """Validation, where the time went, and where the report lies."""
    show_validation(console, finished.validation)
    parts = ", ".join(
        f"{name.replace('_', '-')} {seconds:.1f} s" for name, seconds in finished.wall_s.items()
    )
    total_s = finished.total_s
    console.print(
        plain(
            f"Wall time {total_s:.1f} s, {total_s / finished.measuring_s:.3f} x the "
            f"{finished.measuring_s:g} s of warm-up and windows ({parts}; landing overlaps the "
            f"trials). From the first trial's start to the last landing: "
            f"{finished.trials_s / finished.measuring_s:.3f} x."
        )
    )
    console.print(plain(f"Report: {finished.report}"), soft_wrap=True)
    if finished.limits.warning:
        console.print(plain(finished.limits.warning))
