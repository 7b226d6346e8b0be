"""What may be said of a run's comparisons, in words: the same for the terminal and the page.

Verdicts are the warehouse's; here they only get their sentence. Pure: frames of the warehouse in,
words out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from reports.numbers import MISSING, counted, show, show_share

PHASE_WORDS = {
    "end_to_end": "end to end",
    "response": "the response",
    "acquire_wait": "the acquire wait",
    "round_trip": "the round trip",
    "release": "the release",
    "send_lag": "the send lag",
}


def metric_in_words(metric: str) -> str:
    """A column of `trial_summary`: `end to end`, `p90 of the round trip`."""
    if metric == "rate_per_s":
        return "the rate"
    phase, _, statistic = metric.removesuffix("_ms").rpartition("_")
    words = PHASE_WORDS.get(phase, phase)
    return words if statistic == "mean" else f"{statistic} of {words}"


def show_change(ratio: float | None) -> str:
    """A ratio as what it is more or less: 1.032 is `+3.2 %`."""
    if ratio is None:
        return MISSING
    percent = 100 * (ratio - 1)
    text = show(abs(percent), 0 if abs(percent) >= 100 else 1)
    sign = "" if float(text.replace(",", "")) == 0 else "+" if percent > 0 else "−"
    return f"{sign}{text} %"


def show_change_range(low: float | None, high: float | None) -> str:
    """Both ends of an interval of ratios: `−4.0 % to +9.1 %`."""
    if low is None and high is None:
        return MISSING
    return f"{show_change(low)} to {show_change(high)}"


def show_p(value: float | None) -> str:
    """A p-value; one that is small never reads as zero."""
    if value is None:
        return MISSING
    return "< 0.0001" if value < 0.0001 else show(value, 4 if value < 0.01 else 3)


@dataclass(frozen=True, slots=True)
class Claim:
    """One primary comparison, with the verdict on it or why there is none.

    `low` and `high` are the ends of the interval that holds for all primary comparisons together.
    """

    factor: str
    scenario: str
    baseline: str
    level: str
    baseline_level: str
    metric: str
    blocks: int
    ratio: float | None
    low: float | None
    high: float | None
    noise_floor: float | None
    relevant: float
    verdict: str | None
    reason: str | None
    needed: int | None

    @property
    def verdict_in_words(self) -> str:
        """The verdict with what it rests on: `not decided (3 repetitions; about 9 ...)`."""
        if self.verdict is None:
            return f"no verdict, because {self.reason or 'it was not judged'}"
        rests = counted(self.blocks, "repetition")
        if self.needed is not None:
            rests += f"; about {self.needed} would be needed"
        return f"{self.verdict} ({rests})"

    @property
    def what(self) -> str:
        """What is compared with what."""
        if self.factor == "pool_size":
            return f"{self.level} connections against {self.baseline_level}"
        return f"{self.level} against {self.baseline_level} ({self.scenario})"

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        change = ""
        if self.ratio is not None:
            change = f" {show_change(self.ratio)}"
            if self.low is not None or self.high is not None:
                change += f" ({show_change_range(self.low, self.high)})"
        return f"{self.what}, {metric_in_words(self.metric)}{change}: {self.verdict_in_words}."


def claims_of(comparisons: pl.DataFrame | None) -> tuple[Claim, ...]:
    """The primary comparisons of a run, in their order; none before it was judged."""
    if comparisons is None or comparisons.is_empty():
        return ()
    primary = comparisons.filter(pl.col("kind") == "primary")
    return tuple(_claim(row) for row in primary.iter_rows(named=True))


def _claim(row: Mapping[str, Any]) -> Claim:
    same = ("factor", "scenario", "baseline", "level", "baseline_level", "metric", "blocks")
    more = ("ratio", "noise_floor", "relevant", "verdict", "reason")
    return Claim(
        **{name: row[name] for name in (*same, *more)},
        low=row["adjusted_low"],
        high=row["adjusted_high"],
        needed=row["blocks_needed"],
    )


def ground_rules(claims: Iterable[Claim]) -> Iterator[str]:
    """From where on a difference counts, and whether the host's noise is known."""
    told = list(claims)
    if not told:
        return
    lacking = [claim for claim in told if claim.noise_floor is None]
    least, most = (of(claim.relevant for claim in told) for of in (min, max))
    bound = show_share(least) if least == most else f"{show_share(least)} to {show_share(most)}"
    yield f"A difference counts from {bound} on."
    if len(lacking) == len(told):
        yield "Noise floor not measured: what this host varies by on its own is not known."
    elif lacking:
        yield f"Noise floor not measured for {len(lacking)} of {counted(len(told), 'comparison')}."


def drift_in_words(drifts: pl.DataFrame) -> str | None:
    """The warning of a run whose numbers moved while it went on; None where there is none."""
    warned = drifts.filter(pl.col("warned"))
    if warned.is_empty():
        return None
    row = warned.row(0, named=True)
    return (
        f"{metric_in_words(row['metric'])} moved by {show_change(1 + row['change'])} from the "
        f"first trial to the last, whatever the scenario (permutation p {show_p(row['p_value'])})"
    )
