"""Comparisons and histories in the terminal: the same words as on the pages."""

from __future__ import annotations

from rich.console import Console

from flows.console import add, make_table, plain
from reports.comparison import (
    answer,
    claim_words,
    introduced,
    limits_words,
    metric_words,
    roles,
    show_ratio,
    told_apart,
)
from reports.numbers import show, show_all
from reports.trend import (
    expected_words,
    group_name,
    history_sentences,
    history_title,
    place_words,
    sparkline,
)
from warehouse.runs_compared import Compared, RunPair
from warehouse.runs_history import History, Series


def show_compared(console: Console, compared: Compared) -> None:
    """Differences, then one table a run against the baseline, with the sentences under it."""
    console.print()
    for line in introduced(compared.runs):
        console.print(plain(line))
    console.print()
    _show_differences(console, compared)
    for pair in compared.pairs:
        _show_pair(console, compared, pair)


def _show_differences(console: Console, compared: Compared) -> None:
    if not compared.differences:
        console.print(plain("Nothing that is recorded differs between the runs."))
        return
    columns = ("what differs", "matters", *roles(compared.runs))
    table = make_table("", columns, text_columns=len(columns))
    for difference in compared.differences:
        matters = "yes" if difference.matters else "no"
        add(table, (difference.fact, matters, *told_apart(difference)))
    console.print(table)


def _titled(compared: Compared) -> str:
    tag = limits_words(compared.runs)
    title = f"Ratios to the baseline; claims about {metric_words(compared.primary)}"
    return f"{title}; {tag}" if tag else title


def _show_pair(console: Console, compared: Compared, pair: RunPair) -> None:
    table = make_table(
        _titled(compared),
        (
            "scenario",
            "acq. mean",
            "p99",
            "trip mean",
            "p99",
            "e2e mean",
            "p99",
            "from",
            "to",
            "claim",
        ),
    )
    table.columns[-1].justify = "left"
    for each in pair.scenarios:
        ratios = (
            show_ratio(each.ratio(f"{phase}_{statistic}_ms"))
            for phase in ("acquire_wait", "round_trip", "end_to_end")
            for statistic in ("mean", "p99")
        )
        values = show_all(each.values[compared.primary])
        add(table, (each.scenario, *ratios, *values, claim_words(each)))
    console.print()
    if pair.scenarios:
        console.print(table)
    for sentence in answer(compared, pair):
        console.print(plain(sentence))


def show_history(console: Console, found: History, last: int, *, run_by_run: bool) -> None:
    """One line a scenario, or one a run, then what is to be said."""
    shown = min(last, len(found.runs))
    console.print()
    if run_by_run:
        for series in found.series:
            _show_series(console, history_title(found, shown), series, last)
    else:
        _show_scenarios(console, history_title(found, shown), found, last)
    for sentence in history_sentences(found):
        console.print(plain(sentence))


def _show_scenarios(console: Console, title: str, found: History, last: int) -> None:
    table = make_table(title, ("scenario", "runs", "newest", "expected", "place"), text_columns=2)
    table.columns[-1].justify = "left"
    for series in found.series:
        newest = series.points[-1]
        add(
            table,
            (
                series.scenario,
                sparkline(series.points[-last:]),
                show(newest.value),
                expected_words(newest),
                place_words(newest),
            ),
        )
    console.print(table)


def _show_series(console: Console, title: str, series: Series, last: int) -> None:
    columns = ("run", "date", "label", "group", "value", "expected", "place")
    table = make_table(f"{title}; {series.scenario}", columns, text_columns=4)
    table.columns[-1].justify = "left"
    changed = {change.run.run_id for change in series.changes}
    for point in series.points[-last:]:
        place = place_words(point)
        add(
            table,
            (
                point.run.run_id,
                f"{point.run.created_at:%Y-%m-%d}",
                point.run.label,
                group_name(point.group),
                show(point.value),
                expected_words(point),
                f"{place}; another level begins" if point.run.run_id in changed else place,
            ),
        )
    console.print(table)
