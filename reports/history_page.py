"""The page about an experiment's history: a trend for every scenario, and every run's number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.charts import Measure, Row, specification, trend_chart
from reports.charts.trend import PLACES, SHAPES
from reports.comparison import limits_words, metric_words
from reports.figures.figure import Figure, KeyEntry, Panel
from reports.numbers import show
from reports.page import render, write_page
from reports.table import Column, Entry, Group, Table
from reports.table import Row as TableRow
from reports.theme import color, style_variables
from reports.trend import (
    expected_words,
    group_name,
    history_sentences,
    history_title,
    place_words,
)
from warehouse.runs_history import History, Point, Series
from warehouse.whole_runs import FEWEST_RUNS, MOST_RUNS

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def write_history(history: History, last: int, directory: Path) -> Path:
    """Write the page about the `last` runs below `directory` and return its path.

    Raises:
        OSError: the directory cannot be written, or its disk is full; an older page stays whole.
    """
    name = _UNSAFE.sub("_", history.experiment)
    path = directory / f"history-{name}-{history.metric}.html"
    write_page(path, history_page(history, last))
    return path


def history_page(history: History, last: int) -> str:
    """The page, as text."""
    return render(
        "history.html",
        title=history_title(history, min(last, len(history.runs))),
        style_variables=style_variables([]),
        limits_tag=limits_words(history.runs[-1:]),
        sentences=list(history_sentences(history)),
        figure=_figure(history, last),
        table=_table(history, last),
        fewest_runs=FEWEST_RUNS,
        most_runs=MOST_RUNS,
    )


def _figure(history: History, last: int) -> Figure:
    panels = tuple(
        _panel(history, series, last)
        for series in history.series
        if any(point.value is not None for point in series.points[-last:])
    )
    key = (
        *(KeyEntry(place, tint, SHAPES[place]) for place, tint in PLACES.items()),
        KeyEntry("expected", color("accent"), "block"),
        KeyEntry("another level begins", color("bad"), "tick"),
        KeyEntry("other conditions begin", color("muted"), "tick"),
    )
    caption = (
        "Each dot is a run's median over its usable trials; the bar behind it is where the run "
        "was to lie."
    )
    return Figure("trend", "Every scenario over the runs", caption, panels, key if panels else ())


def _panel(history: History, series: Series, last: int) -> Panel:
    numbers = {point.run.run_id: at for at, point in enumerate(series.points, start=1)}
    shown = series.points[-last:]
    first = numbers[shown[0].run.run_id]
    changes = [numbers[change.run.run_id] for change in series.changes]
    walls = [numbers[each.run.run_id] for each in history.breaks]
    spec = trend_chart(
        list(_points(shown, first)),
        [{"at": at} for at in changes if at >= first],
        [{"at": at} for at in walls if at >= first],
        Measure(metric_words(history.metric)),
    )
    newest = shown[-1]
    told = f"newest {show(newest.value)}, expected {expected_words(newest)}"
    return Panel(
        series.scenario, specification(spec, f"Dots, one a run of {series.scenario}: {told}.")
    )


def _points(shown: Sequence[Point], first: int) -> Iterator[Row]:
    for at, point in enumerate(shown, start=first):
        if point.value is not None:
            yield {
                "at": at,
                "value": point.value,
                "low": point.expected.low if point.expected else None,
                "high": point.expected.high if point.expected else None,
                "place": _kind(point),
                "run": point.run.run_id,
                "date": f"{point.run.created_at:%Y-%m-%d}",
                "label": point.run.label or "",
                "text": show(point.value),
                "expected": expected_words(point),
            }


def _kind(point: Point) -> str:
    if point.uncounted:
        return "not counted"
    return {"": "not known yet", "inside": "inside"}.get(point.place, "outside")


def _table(history: History, last: int) -> Table:
    columns = (
        *(Column(head, numeric=False) for head in ("run", "date", "label", "group", "CPU limits")),
        Column("value", "ms" if history.metric.endswith("_ms") else ""),
        Column("expected"),
        Column("place", numeric=False),
    )
    groups = tuple(
        Group(series.scenario, tuple(_rows(history.metric, series, last)))
        for series in history.series
    )
    return Table("history", "Every run", columns, groups)


def _rows(metric: str, series: Series, last: int) -> Iterator[TableRow]:
    changed = {change.run.run_id for change in series.changes}
    for point in series.points[-last:]:
        run = point.run
        place = place_words(point)
        texts = (
            run.run_id,
            f"{run.created_at:%Y-%m-%d}",
            run.label or "",
            group_name(point.group),
            run.limits_state,
        )
        yield TableRow(
            f"{series.scenario}/{run.run_id}",
            (
                *(Entry(text) for text in texts),
                Entry(show(point.value), point.value, name=metric),
                Entry(expected_words(point)),
                Entry(f"{place}; another level begins" if run.run_id in changed else place),
            ),
            begins=run.run_id in changed,
        )
