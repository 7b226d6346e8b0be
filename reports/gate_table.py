"""The table of gates: what each one judged, the worst it saw, and in which trials."""

from __future__ import annotations

import polars as pl

from reports.figures.figure import ROWS_HEADING
from reports.gating import marked
from reports.numbers import counted, show
from reports.reading import Facts, RunReading
from reports.scenarios import Cell, series_of
from reports.table import Column, Entry, Group, Row, Table

EFFECTS = {
    "excludes": "Causes from outside: the whole block is left out",
    "limits": "What a scenario can cause itself: it is marked as limited",
    "warns": "To be kept in mind",
}


def failed_gates(gates: pl.DataFrame) -> pl.DataFrame:
    """The names of the gates that a trial did not pass, one row a trial."""
    failed = gates.filter(~pl.col("passed")).sort("number")
    return failed.group_by("trial", maintain_order=True).agg(pl.col("gate").alias("gates"))


def gate_table(reading: RunReading) -> Table:
    """One row a gate, in their order."""
    groups = [
        Group(title, tuple(_row(limit, reading.gates) for limit in _limits(reading, effect)))
        for effect, title in EFFECTS.items()
    ]
    return Table(
        "gates",
        "Every gate",
        (
            Column("what is judged", numeric=False),
            Column("trials"),
            Column("not passed"),
            Column("not measured"),
            Column("the worst", numeric=False),
            Column("what to do", numeric=False),
        ),
        tuple(groups),
        "Each gate judges every trial to which it applies.",
    )


def both_ways_table(reading: RunReading) -> Table | None:
    """End to end with and without the excluded blocks; nothing where none is excluded."""
    if not reading.gating.excluded:
        return None
    everything = {row["scenario"]: row for row in reading.everything.iter_rows(named=True)}
    groups = [
        Group(
            series.name,
            tuple(
                _both_ways(cell, reading.scenario(cell), everything[cell.scenario])
                for cell in series.cells
            ),
        )
        for series in series_of(reading.cells)
    ]
    return Table(
        "both-ways",
        "End to end without and with the excluded blocks",
        (
            Column(ROWS_HEADING, numeric=False),
            Column("trials", "without"),
            *(Column(name, "ms, without") for name in BOTH_WAYS),
            Column("trials", "all"),
            *(Column(name, "ms, all") for name in BOTH_WAYS),
        ),
        tuple(groups),
        "Medians over the trials. Everything else on this page is without the excluded blocks.",
    )


BOTH_WAYS = {
    "mean": "end_to_end_mean_ms",
    "p50": "end_to_end_p50_ms",
    "p99": "end_to_end_p99_ms",
}


def _both_ways(cell: Cell, counted_row: Facts, all_row: Facts) -> Row:
    entries = [
        entry
        for row in (counted_row, all_row)
        for entry in (
            Entry(str(row["usable"])),
            *(Entry(show(row[metric]), row[metric]) for metric in BOTH_WAYS.values()),
        )
    ]
    return Row(cell.scenario, (Entry(marked(cell.label, counted_row["limited"])), *entries))


def _limits(reading: RunReading, effect: str) -> list[Facts]:
    return list(reading.gate_limits.filter(pl.col("effect") == effect).iter_rows(named=True))


def _row(limit: Facts, gates: pl.DataFrame) -> Row:
    own = gates.filter(pl.col("gate") == limit["gate"])
    failed = own.filter(~pl.col("passed"))
    unknown = own["passed"].null_count()
    return Row(
        limit["gate"],
        (
            Entry(limit["label"]),
            Entry(str(own.height)),
            Entry(str(failed.height) if failed.height else ""),
            Entry(str(unknown) if unknown else ""),
            Entry(_worst(own)),
            Entry(limit["remedy"] if failed.height else ""),
        ),
    )


def _worst(own: pl.DataFrame) -> str:
    """The finding of the worst trial; one without bound is worse than any number."""
    order = [pl.col("passed"), pl.col("observed").fill_null(float("inf"))]
    known = own.filter(pl.col("passed").is_not_null()).sort(order, descending=[False, True])
    if known.is_empty():
        return "applies to no trial" if own.is_empty() else "not measured"
    worst = known.row(0, named=True)
    finding = str(worst["message"]).partition(": ")[2]
    trials = known.filter(~pl.col("passed"))["trial"].to_list()
    if not trials:
        return finding
    numbers = ", ".join(map(str, trials[:6])) + (", …" if len(trials) > 6 else "")
    return f"{finding} (trial {worst['trial']}; {counted(len(trials), 'trial')}: {numbers})"
