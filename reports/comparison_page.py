"""The page about runs against a baseline: what differs, a picture, a table, and what is claimed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reports.charts import Measure, Row, ratios_chart, specification
from reports.comparison import (
    answer,
    claim_words,
    introduced,
    limits_words,
    metric_words,
    roles,
    show_p_value,
    show_ratio,
    told_apart,
)
from reports.figures.figure import Figure, KeyEntry, Panel
from reports.numbers import show, show_share
from reports.page import render, write_page
from reports.table import Column, Entry, Group, Table
from reports.table import Row as TableRow
from reports.theme import color, style_variables
from warehouse.runs_compared import SHOWN, Compared, RunPair, ScenarioPair
from warehouse.whole_runs import FEWEST_RUNS, MOST_RUNS


@dataclass(frozen=True, slots=True)
class Section:
    """One run against the baseline, as the page shows it."""

    heading: str
    sentences: tuple[str, ...]
    figure: Figure | None
    table: Table | None


def write_comparison(compared: Compared, directory: Path) -> Path:
    """Write the page below `directory` and return its path.

    Raises:
        OSError: the directory cannot be written, or its disk is full; an older page stays whole.
    """
    others = "-".join(run.run_id for run in compared.runs[1:4])
    path = directory / f"compare-{compared.runs[0].run_id}-{others}.html"
    write_page(path, comparison_page(compared))
    return path


def comparison_page(compared: Compared) -> str:
    """The page, as text."""
    return render(
        "comparison.html",
        title=f"{compared.runs[0].experiment['name']}: runs against {compared.runs[0].run_id}",
        style_variables=style_variables([]),
        limits_tag=limits_words(compared.runs),
        introduced=introduced(compared.runs),
        differences=differences_table(compared) if compared.differences else None,
        sections=[
            _section(compared, pair, place) for place, pair in enumerate(compared.pairs, start=1)
        ],
        delta=show_share(compared.delta),
        fewest_runs=FEWEST_RUNS,
        most_runs=MOST_RUNS,
    )


def differences_table(compared: Compared) -> Table:
    """Every fact that is not the same in all runs, those that matter first."""
    heads = ("fact", *roles(compared.runs))
    columns = tuple(Column(head, numeric=False) for head in heads)
    groups = []
    for title, matters in (("These matter: nothing is claimed", True), ("By the way", False)):
        rows = tuple(
            TableRow(each.fact, tuple(Entry(text) for text in (each.fact, *told_apart(each))))
            for each in compared.differences
            if each.matters is matters
        )
        groups += [Group(title, rows)] if rows else []
    return Table("differences", "Facts that are unlike", columns, tuple(groups))


def _section(compared: Compared, pair: RunPair, place: int) -> Section:
    shown = [each for each in pair.scenarios if each.ratio(compared.primary)]
    return Section(
        f"{pair.other.run_id} against the baseline",
        tuple(answer(compared, pair)),
        _figure(compared, pair, shown, place) if shown else None,
        _table(compared, pair, place) if pair.scenarios else None,
    )


def _figure(compared: Compared, pair: RunPair, shown: list[ScenarioPair], place: int) -> Figure:
    metric = metric_words(compared.primary)
    dots = list(_dots(compared, shown))
    relevant = 1 / (1 + compared.delta), 1 + compared.delta
    measure = Measure("ratio to the baseline, logarithmic")
    told = "; ".join(f"{dot['label']}: {dot['text']}, {dot['claim']}" for dot in dots)
    spec = ratios_chart(dots, relevant, measure)
    return Figure(
        f"ratios-{place}",
        f"Ratios of {metric}",
        f"Each dot is {pair.other.run_id} over the baseline. {told}.",
        (Panel("", specification(spec, f"Dots, one a scenario, with intervals. {told}.")),),
        (
            KeyEntry("ratio", color("accent"), "circle"),
            KeyEntry("interval, where the spread is known", color("accent"), "line"),
            KeyEntry(
                f"no relevant difference, ±{show_share(compared.delta)}", color("grid"), "block"
            ),
        ),
    )


def _dots(compared: Compared, shown: list[ScenarioPair]) -> Iterator[Row]:
    for each in shown:
        claim = each.claim
        known = claim.interval is not None and claim.runs >= FEWEST_RUNS
        interval = claim.interval if known else None
        yield {
            "label": each.scenario,
            "ratio": each.ratio(compared.primary),
            "low": math.exp(interval.low) if interval else None,
            "high": math.exp(interval.high) if interval else None,
            "text": " to ".join(show(value) for value in each.values[compared.primary]),
            "claim": claim_words(each),
        }


def _table(compared: Compared, pair: RunPair, place: int) -> Table:
    metrics = tuple(dict.fromkeys([*SHOWN, compared.primary]))
    columns = (
        Column("scenario", numeric=False),
        *(Column(metric_words(metric), "ratio; from, to", ranged=True) for metric in metrics),
        Column("claim", numeric=False),
        Column("p", "Holm"),
        Column("runs", "of the spread"),
    )
    rows = tuple(
        TableRow(
            each.scenario,
            (
                Entry(each.scenario),
                *(_entry(each, metric) for metric in metrics),
                Entry(claim_words(each)),
                Entry(show_p_value(each.claim.p_holm)),
                Entry(str(each.claim.runs)),
            ),
        )
        for each in pair.scenarios
    )
    return Table(
        f"ratios-{place}",
        "Ratios to the baseline",
        columns,
        (Group(pair.other.run_id, rows),),
        f"Claims are about {metric_words(compared.primary)} alone, as the experiment says.",
        dense=True,
    )


def _entry(pair: ScenarioPair, metric: str) -> Entry:
    first, second = pair.values[metric]
    ratio = pair.ratio(metric)
    return Entry(show_ratio(ratio), ratio, f"{show(first)} to {show(second)}", metric)
