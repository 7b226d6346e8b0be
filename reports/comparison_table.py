"""The tables of comparisons: those with verdicts, and everything else with intervals alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import polars as pl

from reports.claims import (
    Claim,
    claims_of,
    metric_in_words,
    show_change,
    show_change_range,
    show_p,
)
from reports.numbers import MISSING, show_share
from reports.reading import Facts, RunReading
from reports.table import Column, Entry, Group, Row, Table

SHOWN = (
    "end_to_end_mean_ms",
    "end_to_end_p50_ms",
    "end_to_end_p90_ms",
    "end_to_end_p99_ms",
    "acquire_wait_mean_ms",
    "round_trip_mean_ms",
    "release_mean_ms",
    "rate_per_s",
)
"""The metrics of the second table; the view `comparisons` has all."""

KINDS = {
    "primary": "The same pairs",
    "other": "Other pairs that differ in one thing",
    "limit effect": "Change over the pool's size under a limit, over the same change without",
}


def comparison_tables(reading: RunReading) -> tuple[Table, ...]:
    """Both tables, as far as there is something in them; workloads in the order of the page."""
    comparisons = _in_page_order(reading)
    claims = claims_of(comparisons)
    made = [_claim_table(claims, comparisons)] if claims else []
    rest = comparisons.filter((pl.col("kind") != "primary") & pl.col("metric").is_in(SHOWN))
    if not rest.is_empty():
        made.append(_other_table(rest, {(claim.scenario, claim.baseline) for claim in claims}))
    return tuple(made)


def _in_page_order(reading: RunReading) -> pl.DataFrame:
    workloads = list(dict.fromkeys(cell.workload for cell in reading.cells))
    place = pl.col("workload").replace_strict(
        workloads, range(len(workloads)), return_dtype=pl.Int64
    )
    return reading.comparisons.sort(place, "number")


def _claim_table(claims: tuple[Claim, ...], comparisons: pl.DataFrame) -> Table:
    rows = comparisons.filter(pl.col("kind") == "primary").to_dicts()
    by_workload = groupby(zip(claims, rows, strict=True), key=lambda both: both[1]["workload"])
    groups = tuple(
        Group(workload, tuple(_claim_row(claim, row) for claim, row in members))
        for workload, members in by_workload
    )
    return Table(
        "comparisons",
        f"What was to be compared: {metric_in_words(claims[0].metric)}",
        (
            Column("scenario against baseline", numeric=False),
            Column("estimate"),
            Column("interval", "95 %, all together", numeric=False),
            Column("p", "Holm"),
            Column("p", "sign flips"),
            Column("Δ"),
            Column("noise floor", numeric=False),
            Column("repetitions"),
            Column("verdict", numeric=False),
        ),
        groups,
        "Ratios within blocks; + is more than with the baseline. Δ is the difference from which on "
        "one counts.",
    )


def _claim_row(claim: Claim, row: Facts) -> Row:
    floor = "not measured" if claim.noise_floor is None else show_share(claim.noise_floor)
    verdict = claim.verdict or f"none: {claim.reason}"
    if claim.needed is not None:
        verdict += f"; about {claim.needed} repetitions would be needed"
    return Row(
        f"{claim.scenario} {claim.baseline}",
        (
            Entry(f"{claim.scenario} against {claim.baseline}"),
            Entry(show_change(claim.ratio), claim.ratio, name="ratio"),
            Entry(show_change_range(claim.low, claim.high)),
            Entry(show_p(row["p_holm"]), row["p_holm"], name="p_holm"),
            Entry(show_p(row["p_sign_flip"]), row["p_sign_flip"], name="p_sign_flip"),
            Entry(show_share(claim.relevant)),
            Entry(floor),
            Entry(str(claim.blocks)),
            Entry(verdict),
        ),
    )


def _other_table(rest: pl.DataFrame, named: set[tuple[str, str]]) -> Table:
    shown = [metric for metric in SHOWN if metric in set(rest["metric"])]
    return Table(
        "differences",
        "Every other difference, with its interval",
        (
            Column("scenario against baseline", numeric=False),
            *(
                Column(metric_in_words(metric).removeprefix("the "), ranged=True)
                for metric in shown
            ),
        ),
        tuple(_other_groups(rest, named, shown)),
        "Estimates with 95 % t intervals, each for itself: of so many some exclude zero by chance, "
        "so nothing is claimed of them. Percentiles only where enough lies beyond them; what was "
        "to be compared stands above.",
        dense=True,
    )


def _other_groups(
    rest: pl.DataFrame, named: set[tuple[str, str]], shown: list[str]
) -> Iterator[Group]:
    rows: dict[str, dict[str, dict[str, Facts]]] = {kind: {} for kind in KINDS}
    for row in rest.iter_rows(named=True):
        pair = row["scenario"], row["baseline"]
        kind = "primary" if row["kind"] == "other" and pair in named else row["kind"]
        name = f"{pair[0]} against {pair[1]}"
        if kind == "limit effect":
            name += f" ({row['level']})"
        rows[kind].setdefault(name, {})[row["metric"]] = row
    for kind, pairs in rows.items():
        if pairs:
            yield Group(KINDS[kind], tuple(_other_row(*pair, shown) for pair in pairs.items()))


def _other_row(name: str, found: dict[str, Facts], shown: list[str]) -> Row:
    return Row(name, (Entry(name), *(_entry(found.get(metric)) for metric in shown)))


def _entry(row: Facts | None) -> Entry:
    if row is None:
        return Entry(MISSING)
    beside = show_change_range(row["ratio_low"], row["ratio_high"])
    return Entry(show_change(row["ratio"]), beside="" if beside == MISSING else beside)
