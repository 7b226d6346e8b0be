"""A history in words and small pictures: the same for the terminal and the page. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.comparison import limits_words, metric_words, told_apart
from reports.numbers import counted, listed, show, show_range
from warehouse.change_points import AVAILABLE
from warehouse.runs_history import Break, Change, History, Point, Series
from warehouse.whole_runs import FEWEST_RUNS

BARS = "▁▂▃▄▅▆▇█"
LEFT_OUT = "·"
PARTED = "|"


def group_name(group: int | None) -> str:
    """`A`, `B`, … `Z`, `A1`: a group of runs that are alike; a dash where a run does not count."""
    if group is None:
        return "–"
    letter = chr(ord("A") + group % 26)
    return f"{letter}{group // 26}" if group >= 26 else letter


def sparkline(points: Sequence[Point]) -> str:
    """A bar a run, from the least to the most; a wall where another group begins."""
    counting = [point.value for point in points if not point.uncounted and point.value is not None]
    low, high = min(counting, default=0.0), max(counting, default=0.0)
    text, group = "", None
    for point in points:
        if point.group is not None:
            text += PARTED if group not in (None, point.group) else ""
            group = point.group
        text += _bar(point, low, high)
    return text


def _bar(point: Point, low: float, high: float) -> str:
    if point.uncounted or point.value is None:
        return LEFT_OUT
    share = (point.value - low) / (high - low) if high > low else 0.0
    return BARS[min(int(share * len(BARS)), len(BARS) - 1)]


def expected_words(point: Point) -> str:
    """`1.90–2.21`, or how many of the runs needed there are."""
    if point.expected is None:
        return f"{min(point.earlier, FEWEST_RUNS)} of {FEWEST_RUNS} runs"
    return show_range(point.expected.low, point.expected.high)


def place_words(point: Point) -> str:
    """`inside`, `above`, `below`, `not counted: …`, or that it is not known yet."""
    if point.uncounted:
        return f"not counted: {point.uncounted}"
    return point.place or "not known yet"


def change_words(change: Change) -> str:
    """From which level to which, and at which run."""
    label = f" ({change.run.label})" if change.run.label else ""
    share = 100 * (change.after / change.before - 1)
    sign = f"{share:+.0f} %".replace("-", "\N{MINUS SIGN}")
    return (
        f"from {show(change.before)} to {show(change.after)} ({sign}) "
        f"at {change.run.run_id}{label}, {change.run.created_at:%Y-%m-%d}; "
        f"medians of {change.runs_before} and {counted(change.runs_after, 'run')}"
    )


def break_words(found: Break) -> str:
    """What is unlike from a run on, with the values of a few facts."""
    told = []
    for difference in found.unlike[:3]:
        before, after = told_apart(difference)
        told.append(f"{difference.fact} ({before} to {after})")
    more = len(found.unlike) - len(told)
    rest = [f"{counted(more, 'other fact')}"] if more else []
    verb = "goes back to" if found.returns else "begins"
    return (
        f"{found.run.run_id} {verb} group {group_name(found.group)}: unlike the run before in "
        f"{listed([*told, *rest])}."
    )


def history_sentences(history: History) -> Iterator[str]:
    """Where conditions changed, where levels did, and where the newest run lies."""
    for each in history.breaks:
        yield break_words(each)
    for series in history.series:
        for change in series.changes:
            yield f"{series.scenario} changed {change_words(change)}."
    if not AVAILABLE:
        yield "Changes are not looked for: ruptures has no build for this Python."
    yield from _of_newest(history)


def _of_newest(history: History) -> Iterator[str]:
    newest = history.runs[-1]
    outside = [series for series in history.series if series.points[-1].place in ("above", "below")]
    if not newest.valid:
        yield f"The newest run, {newest.run_id}, does not count: {newest.invalid_because}."
    elif outside:
        told = listed(_newest_words(series) for series in outside)
        yield f"The newest run, {newest.run_id}, lies outside of what was expected: {told}."
    elif any(series.points[-1].place for series in history.series):
        yield f"The newest run, {newest.run_id}, lies where it was expected wherever that is known."
    else:
        yield (
            f"Where the newest run, {newest.run_id}, was to lie is not known: that takes "
            f"{FEWEST_RUNS} earlier valid runs alike in what matters."
        )


def _newest_words(series: Series) -> str:
    point = series.points[-1]
    return f"{series.scenario} ({show(point.value)}, expected {expected_words(point)})"


def history_title(history: History, shown: int) -> str:
    """What is shown: experiment, metric, and of how many runs."""
    runs = f"{shown} of {counted(len(history.runs), 'run')}"
    title = f"{history.experiment}: {metric_words(history.metric)}, {runs}"
    tag = limits_words(history.runs[-1:])
    return f"{title}; the newest {tag}" if tag else title
