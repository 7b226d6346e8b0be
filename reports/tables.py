"""The tables of a run report: every number that a figure draws, and where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from reports.figures.figure import ROWS_HEADING
from reports.gate_table import failed_gates
from reports.gating import marked
from reports.numbers import (
    counted,
    decimals_for,
    show,
    show_count,
    show_range,
    show_share,
)
from reports.reading import Facts, RunReading
from reports.scenarios import Cell, series_of
from reports.table import Column, Entry, Group, Row, Table

PHASES = {
    "end_to_end": "end to end",
    "acquire_wait": "acquire wait",
    "round_trip": "round trip",
    "release": "release",
    "send_lag": "send lag",
}
STATISTICS = ("mean", "p50", "p95", "p99", "max")
SHARES_BEYOND = {"p50": 0.5, "p95": 0.05, "p99": 0.01}

FEWEST_BEYOND = 4
"""A percentile asks for so many independent observations beyond it, in every trial."""

THIN = (
    f"† Fewer than {FEWEST_BEYOND} independent observations of a window lie beyond this percentile "
    "(a burst counts once), so chance moves it far."
)

RANGE = "the least and the most"

MOST_TRIALS = 300
"""A page with more rows would no longer be read; the warehouse has all."""


def latency_table(reading: RunReading) -> Table:
    """Every phase of every scenario: the median over the repetitions, the least and the most."""
    groups = [
        Group(
            series.name,
            tuple(
                _latency_row(reading, cell, phase, first=cell is series.smallest)
                for phase in PHASES
                for cell in series.cells
            ),
        )
        for series in series_of(reading.cells)
    ]
    return Table(
        "latencies",
        "Latencies by scenario",
        (
            Column("phase", numeric=False),
            Column(ROWS_HEADING, numeric=False),
            Column("n"),
            Column("failed"),
            *(Column(statistic, "ms", ranged=True) for statistic in STATISTICS),
        ),
        tuple(groups),
        f"Medians over the repetitions; beside each {RANGE} of them. {THIN}",
    )


def _latency_row(reading: RunReading, cell: Cell, phase: str, *, first: bool) -> Row:
    row, units = reading.scenario(cell), reading.units(cell)
    numbers = [
        replace(_spread(row, f"{phase}_{statistic}_ms"), thin=_thin(statistic, units))
        for statistic in STATISTICS
    ]
    return Row(
        f"{cell.scenario} {phase}",
        (
            Entry(PHASES[phase] if first else ""),
            Entry(marked(cell.label, row["limited"])),
            Entry(show_count(row["n"]), row["n"], name="n"),
            Entry(show_count(row["failed"]), row["failed"], name="failed"),
            *numbers,
        ),
        begins=first,
    )


def _thin(statistic: str, units: int) -> bool:
    beyond = SHARES_BEYOND.get(statistic)
    return beyond is not None and round(units * beyond, 6) < FEWEST_BEYOND


def _spread(row: Facts, metric: str, decimals: int | None = None) -> Entry:
    value, least, most = row[metric], row[f"{metric}_min"], row[f"{metric}_max"]
    places = decimals_for([least if value is None else value]) if decimals is None else decimals
    # With one usable trial the range would only say the number again.
    beside = _range(least, most, places) if row["usable"] > 1 and least is not None else ""
    text = show(value, places) if value else show(value)
    return Entry(text, value, "" if beside == text else beside, metric)


def resource_table(reading: RunReading) -> Table:
    """Processor and memory of every scenario."""
    groups = [
        Group(
            series.name,
            tuple(_resource_row(reading.scenario(cell), cell) for cell in series.cells),
        )
        for series in series_of(reading.cells)
    ]
    return Table(
        "resources",
        "Processor and memory by scenario",
        (
            Column(ROWS_HEADING, numeric=False),
            Column("usable trials"),
            Column("done", "per s", ranged=True),
            Column("connections used", ranged=True),
            Column("database", "cores", ranged=True),
            Column("throttled", "of active periods", ranged=True),
            Column("throttled", "ms, all CPUs", ranged=True),
            Column("database", "MiB", ranged=True),
            Column("generator", "cores", ranged=True),
            Column("throttled", "of active periods", ranged=True),
            Column("harness", "cores", ranged=True),
        ),
        tuple(groups),
        f"Medians over the repetitions; below each {RANGE} of them. "
        "Connections used are those that served at least one request of the window.",
        dense=True,
    )


def _resource_row(row: Facts, cell: Cell) -> Row:
    trials = f"{row['usable']} of {row['trials']}"
    return Row(
        cell.scenario,
        (
            Entry(marked(cell.label, row["limited"])),
            Entry(trials, row["usable"], name="usable"),
            _spread(row, "rate_per_s"),
            _spread(row, "backends", 0),
            _spread(row, "database_cpu_cores", 3),
            _share_spread(row, "database_throttled_share"),
            _spread(row, "database_throttled_ms"),
            _spread(row, "database_memory_mib"),
            _spread(row, "generator_cpu_cores", 3),
            _share_spread(row, "generator_throttled_share"),
            _spread(row, "harness_cpu_cores", 3),
        ),
    )


def _range(least: float, most: float | None, decimals: int) -> str:
    """The least and the most; without a most, one of the trials failed where it would be."""
    if most is None:
        return f"{show(least, decimals)}–failed"
    return show_range(least, most, decimals)


def _share_spread(row: Facts, metric: str) -> Entry:
    value, least, most = row[metric], row[f"{metric}_min"], row[f"{metric}_max"]
    ends = dict.fromkeys([show_share(least), show_share(most)])
    both = "–".join(ends).replace(" %–", "–", 1)
    beside = both if row["usable"] > 1 and len(ends) > 1 else ""
    return Entry(show_share(value), value, beside, metric)


TRIAL_METRICS: tuple[tuple[str, Column, int | None], ...] = (
    ("end_to_end_mean_ms", Column("end to end mean", "ms"), None),
    ("end_to_end_p50_ms", Column("p50", "ms"), None),
    ("end_to_end_p99_ms", Column("p99", "ms"), None),
    ("end_to_end_max_ms", Column("max", "ms"), None),
    ("acquire_wait_mean_ms", Column("acquire wait mean", "ms"), None),
    ("round_trip_mean_ms", Column("round trip mean", "ms"), None),
    ("release_mean_ms", Column("release mean", "ms"), None),
    ("send_lag_p99_ms", Column("send lag p99", "ms"), None),
    ("database_cpu_cores", Column("database", "cores"), 3),
    ("database_throttled_share", Column("throttled", "of active periods"), None),
    ("database_memory_mib", Column("database", "MiB"), None),
    ("backends", Column("used", "connections"), 0),
)


def trial_table(reading: RunReading) -> Table:
    """Every trial in the order of measurement, those without a usable attempt too."""
    joined = reading.trials.select(
        "trial", "status", "attempts", "database_limit_in_force", "generator_limit_in_force"
    )
    joined = joined.join(reading.trial_summary, on="trial").join(
        failed_gates(reading.gates), on="trial", how="left"
    )
    shown = joined.sort("trial").head(MOST_TRIALS)
    groups = [
        Group(f"Repetition {block}", tuple(_trial_row(row) for row in rows))
        for block, rows in _blocks(shown)
    ]
    left = joined.height - shown.height
    note = f"The other {left:,} trials are in the view trial_summary." if left > 0 else ""
    return Table(
        "trials",
        "Every trial, in the order of measurement",
        (
            Column("trial"),
            Column("scenario", numeric=False),
            Column("n"),
            Column("failed"),
            *(column for _, column, _ in TRIAL_METRICS),
            Column("remark", numeric=False),
        ),
        tuple(groups),
        note,
        dense=True,
    )


def _blocks(trials: pl.DataFrame) -> Iterator[tuple[int, Sequence[Facts]]]:
    for (block,), rows in trials.group_by("block", maintain_order=True):
        assert isinstance(block, int)  # noqa: S101 - the view's type
        yield block, list(rows.iter_rows(named=True))


def _trial_row(row: Facts) -> Row:
    numbers = [
        Entry(show_share(row[metric]), row[metric], name=metric)
        if metric.endswith("_share")
        else Entry(show(row[metric], decimals), row[metric], name=metric)
        for metric, _, decimals in TRIAL_METRICS
    ]
    return Row(
        str(row["trial"]),
        (
            Entry(str(row["trial"]), row["trial"], name="trial"),
            Entry(row["scenario"]),
            Entry(show_count(row["n"]), row["n"], name="n"),
            Entry(show_count(row["failed"]), row["failed"], name="failed"),
            *numbers,
            Entry(_remark(row)),
        ),
    )


def _remark(row: Facts) -> str:
    """What is unusual about a trial, or that nothing is."""
    if row["status"] != "accepted":
        return f"{row['status']}, {counted(row['attempts'], 'attempt')}"
    told = [f"attempt {row['attempt']}"] if row["attempts"] > 1 else []
    told += ["block left out"] if row["excluded"] else []
    told += [f"gate {name}" for name in row["gates"] or ()]
    told += [
        f"limit of the {group} NOT in force"
        for group in ("database", "generator")
        if row[f"{group}_limit_in_force"] is False
    ]
    return "; ".join(told) or "as planned"
