"""Runs against a baseline in words: the same for the terminal and the page. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from reports.numbers import counted, listed, show
from reports.summary import limits_tag
from warehouse.likeness import Difference
from warehouse.runs_compared import Compared, RunPair, ScenarioPair
from warehouse.runs_read import KnownRun
from warehouse.whole_runs import Claim

LONGEST_VALUE = 60
"""Characters of a fact's value in a table; whole statements would hide the others."""

LARGEST_LOG = math.log(10_001)
"""Beyond it no per cent are written: an interval from two earlier runs reaches any number."""

_PARTS = {
    "send_lag": "send lag",
    "acquire_wait": "acquire wait",
    "round_trip": "round trip",
    "release": "release",
    "end_to_end": "end to end",
    "response": "response",
}


def roles(runs: Sequence[KnownRun]) -> tuple[str, ...]:
    """What each run is called beside the others: `baseline`, `run 1` and so on."""
    return ("baseline", *(f"run {place}" for place in range(1, len(runs))))


def introduced(runs: Sequence[KnownRun]) -> tuple[str, ...]:
    """One line a run: role, id, label, when, whether it is valid, and whether it was limited."""
    return tuple(_introduced(run, role) for role, run in zip(roles(runs), runs, strict=True))


def _introduced(run: KnownRun, role: str) -> str:
    label = f" ({run.label})" if run.label else ""
    parts = (
        f"{role}: {run.run_id}{label}",
        f"{run.created_at:%Y-%m-%d %H:%M} UTC",
        run.invalid_because or "valid",
        limits_tag(run.limits_state),
    )
    return ", ".join(part for part in parts if part)


def limits_words(runs: Sequence[KnownRun]) -> str:
    """What stands beside results of runs whose limits were not in force; else empty."""
    return ", ".join(dict.fromkeys(tag for run in runs if (tag := limits_tag(run.limits_state))))


def metric_words(metric: str) -> str:
    """`end to end, mean (ms)`, of `end_to_end_mean_ms`."""
    if metric == "rate_per_s":
        return "requests done per second"
    phase, statistic = metric.removesuffix("_ms").rsplit("_", 1)
    return f"{_PARTS.get(phase, phase)}, {statistic} (ms)"


def shortened(text: str) -> str:
    """A value that fits a table; where it is cut there is an ellipsis."""
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def told_apart(difference: Difference) -> tuple[str, ...]:
    """The values of a fact in each run, so shortened that they can be told apart.

    Long values are shown from shortly before the first place where they differ.
    """
    start = 0
    if any(len(value) > LONGEST_VALUE for value in difference.values):
        start = max(0, _common_length(difference.values) - LONGEST_VALUE // 3)
    return tuple(shortened(("…" if start else "") + value[start:]) for value in difference.values)


def _common_length(values: tuple[str, ...]) -> int:
    length = 0
    for characters in zip(*values, strict=False):
        if len(set(characters)) > 1:
            break
        length += 1
    return length


def show_ratio(ratio: float | None) -> str:
    """`1.07`, or a dash."""
    return show(ratio, 2)


def show_p_value(p_value: float | None) -> str:
    """With four decimals; what is smaller is said to be smaller, never to be zero."""
    return "< 0.0001" if p_value is not None and p_value < 0.0001 else show(p_value, 4)


def per_cent(log_ratio: float) -> str:
    """`+40 %` of the logarithm of a ratio of 1.4; one decimal where it is small."""
    if log_ratio > LARGEST_LOG:
        return "more than a million %"
    share = 100 * math.expm1(log_ratio)
    return f"{share:+.{0 if abs(share) >= 10 else 1}f} %".replace("-", "\N{MINUS SIGN}")


def interval_words(claim: Claim) -> str:
    """`+31 % to +50 %`, or nothing where there is no interval."""
    if claim.interval is None or claim.word is None:
        return ""
    return f"{per_cent(claim.interval.low)} to {per_cent(claim.interval.high)}"


def claim_words(pair: ScenarioPair) -> str:
    """The claim in a few words, with its interval where it has one."""
    claim = pair.claim
    if claim.word is None:
        return f"no claim: {claim.reason}"
    interval = interval_words(claim)
    return f"{claim.word} ({interval})" if interval else claim.word


def answer(compared: Compared, pair: RunPair) -> Iterator[str]:
    """What is to be said of one run against the baseline, sentence by sentence."""
    baseline = compared.runs[0].run_id
    if pair.unlike:
        facts = listed(each.fact for each in pair.unlike)
        yield (
            f"{pair.other.run_id} and {baseline} are unlike in what matters ({facts}): "
            "their numbers stand side by side, and nothing is claimed."
        )
    else:
        yield (
            f"{pair.other.run_id} against {baseline}, judged by "
            f"{counted(pair.earlier, 'earlier valid run')} alike in what matters."
        )
    for run in (compared.runs[0], pair.other):
        if not run.valid:
            yield f"Nothing is claimed of {run.run_id}: {run.invalid_because}."
    yield from _of_claims(compared, pair)
    yield from _not_in_both(baseline, pair)


def _of_claims(compared: Compared, pair: RunPair) -> Iterator[str]:
    metric = metric_words(compared.primary)
    for word in ("worse", "better", "no relevant difference"):
        found = [each for each in pair.scenarios if each.claim.word == word]
        if found:
            told = listed(f"{each.scenario} ({_change(compared, each)})" for each in found)
            yield f"{word[0].upper()}{word[1:]} in {metric}: {told}."
    undecided = [each for each in pair.scenarios if each.claim.word == "not decided"]
    reasons: dict[str, list[str]] = {}
    for each in undecided:
        reasons.setdefault(each.claim.reason, []).append(each.scenario)
    for reason, scenarios in reasons.items():
        yield f"Not decided: {listed(scenarios)}; {reason}."


def _change(compared: Compared, pair: ScenarioPair) -> str:
    first, second = pair.values[compared.primary]
    return f"{show(first)} to {show(second)}, {interval_words(pair.claim)}"


def _not_in_both(baseline: str, pair: RunPair) -> Iterator[str]:
    for run_id, scenarios in ((baseline, pair.only_here), (pair.other.run_id, pair.only_there)):
        if scenarios:
            yield f"Only {run_id} has {listed(scenarios)}."
    if not pair.scenarios:
        yield "The runs have no scenario in common."
