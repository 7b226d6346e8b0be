"""What happened from the smallest pool to the largest, in words.

Effects with every repetition or their range. The only words that judge are the verdicts on primary
comparisons, which the warehouse gives. Pure: frames of the warehouse in, words out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from reports.claims import Claim, claims_of
from reports.numbers import (
    MISSING,
    decimals_for,
    listed,
    show,
    show_range,
)
from reports.scenarios import Series, cells_of, series_of

TOLD_PHASES = {
    "acquire_wait": "the acquire wait",
    "round_trip": "the round trip",
    "end_to_end": "end to end",
}
"""The phases of the headline, in the order of the sentence."""

MOST_LISTED = 7
"""Up to so many repetitions are listed one by one; beyond that their range stands for them."""


@dataclass(frozen=True, slots=True)
class Spread:
    """One metric of one scenario over its repetitions, all in ms.

    Attributes:
        median: over the repetitions, as in the tables; None where there is none.
        values: one a repetition, in the order of the blocks; None where a repetition has none, or
            is left out.
    """

    median: float | None
    values: tuple[float | None, ...]

    @property
    def known(self) -> list[float]:
        """The repetitions that have a number."""
        return [value for value in self.values if value is not None]

    def words(self, decimals: int) -> str:
        """Every repetition, or their range where they are many."""
        if len(self.values) <= MOST_LISTED:
            return ", ".join(show(value, decimals) for value in self.values)
        return (
            f"{show_range(min(self.known), max(self.known), decimals)}" if self.known else MISSING
        )


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of one phase's mean between the smallest pool and the largest."""

    phase: str
    smallest: Spread
    largest: Spread

    @property
    def decimals(self) -> int:
        """Decimals that both ends share."""
        return decimals_for([self.smallest.median, self.largest.median])

    @property
    def ends(self) -> tuple[str, str]:
        """Both medians as text."""
        return show(self.smallest.median, self.decimals), show(self.largest.median, self.decimals)


@dataclass(frozen=True, slots=True)
class Finding:
    """What happened in one series of scenarios from its smallest pool to its largest."""

    series: Series
    effects: tuple[Effect, ...]
    failed: dict[str, tuple[int, int]]
    """Per scenario with failures: failed requests, and all requests."""
    usable: dict[str, tuple[int, int]]
    """Per scenario: usable trials, and planned ones."""
    limited: dict[str, str]
    """Per limited scenario: why."""
    claims: tuple[Claim, ...] = ()
    """The primary comparisons of its scenarios with others."""

    @property
    def sentence(self) -> str:
        """What happened, without the repetitions; with the verdict where there is one on it."""
        smallest, largest = self.series.smallest, self.series.largest
        if not any(spread.known for spread in self._spreads()):
            sizes = listed(dict.fromkeys((str(smallest.pool_size), largest.connections)))
            return f"with {sizes} no phase has a mean."
        if smallest is largest:
            return f"with {smallest.connections} {listed(self._stood())}."
        sizes = f"from {smallest.pool_size} to {largest.connections}"
        if self._told is None:
            return f"{sizes} {listed(self._went(self.effects))}."
        *phases, whole = self.effects
        (ends,) = self._went([whole])
        return f"{sizes} {listed(self._went(phases))}; {ends}: {self._told.verdict_in_words}."

    def _spreads(self) -> Iterator[Spread]:
        for effect in self.effects:
            yield from (effect.smallest, effect.largest)

    @property
    def _told(self) -> Claim | None:
        """The claim that the sentence itself is about."""
        ends = self.series.largest.scenario, self.series.smallest.scenario
        metric = f"{self.effects[-1].phase}_mean_ms"
        fitting = (each for each in self.claims if (each.scenario, each.baseline) == ends)
        return next((each for each in fitting if each.metric == metric), None)

    @property
    def verdicts(self) -> list[str]:
        """The other primary comparisons of its scenarios, one sentence each."""
        return [claim.sentence for claim in self.claims if claim != self._told]

    def _went(self, effects: Iterable[Effect]) -> Iterator[str]:
        sizes = self.series.smallest.pool_size, self.series.largest.pool_size
        verb = " went"
        for effect in effects:
            name, (before, after) = TOLD_PHASES[effect.phase], effect.ends
            if MISSING in (before, after):
                yield f"{name} {_half_known(effect.ends, sizes)}"
                verb = " went"
            elif before == after:
                yield f"{name} was {before} ms with both"
                verb = " went"
            else:
                yield f"{name}{verb} from {before} to {after} ms"
                verb = ""

    def _stood(self) -> Iterator[str]:
        for effect in self.effects:
            value = effect.ends[0]
            has = "has no mean" if value == MISSING else f"was {value} ms"
            yield f"{TOLD_PHASES[effect.phase]} {has}"

    @property
    def repetitions(self) -> str:
        """Every repetition's end to end, so that the reader sees how far they lie apart."""
        effect = self.effects[-1]
        ends = [(self.series.smallest, effect.smallest)]
        if self.series.smallest is not self.series.largest:
            ends.append((self.series.largest, effect.largest))
        decimals = decimals_for(value for _, spread in ends for value in spread.known)
        told = "; ".join(
            f"{spread.words(decimals)} ms with {cell.connections}" for cell, spread in ends
        )
        return f"End to end in {_each(len(effect.smallest.values))}: {told}."

    @property
    def warnings(self) -> list[str]:
        """What must stand beside the numbers: failures, and scenarios without a usable trial."""
        told = [
            f"{failed:,} of {count:,} requests failed with {cell.connections}; "
            "a repetition with a failure has no mean end to end."
            for cell in self.series.cells
            for failed, count in [self.failed.get(cell.scenario, (0, 0))]
            if failed
        ]
        told += self._missing_repetitions()
        told += [
            f"Limited with {cell.connections}: {self.limited[cell.scenario]}."
            for cell in self.series.cells
            if cell.scenario in self.limited
        ]
        return told

    def _missing_repetitions(self) -> Iterator[str]:
        """Said once where it is the same with every pool, as when a whole block is left out."""
        counts = [(cell, *self.usable.get(cell.scenario, (0, 0))) for cell in self.series.cells]
        short = [count for count in counts if count[1] < count[2]]
        if len(short) == len(counts) and len({count[1:] for count in counts}) == 1:
            yield f"Only {counts[0][1]} of {counts[0][2]} repetitions are usable."
            return
        for cell, usable, planned in short:
            yield f"Only {usable} of {planned} repetitions are usable with {cell.connections}."


def _half_known(ends: tuple[str, str], sizes: tuple[int, int]) -> str:
    if ends == (MISSING, MISSING):
        return "has no mean with either"
    has, lacks = (0, 1) if ends[1] == MISSING else (1, 0)
    return f"was {ends[has]} ms with {sizes[has]} and has no mean with {sizes[lacks]}"


def _each(repetitions: int) -> str:
    if repetitions == 1:
        return "the only repetition"
    if repetitions <= MOST_LISTED:
        return "each repetition"
    return f"{repetitions} repetitions (least to most)"


def findings(
    scenario_summary: pl.DataFrame,
    trial_summary: pl.DataFrame,
    comparisons: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding a series, the slowest workload first.

    `comparisons` is a frame of the view; without it nothing is said to be better or worse.
    """
    claims = claims_of(comparisons)
    return [
        _finding(series, scenario_summary, trial_summary, claims)
        for series in series_of(cells_of(scenario_summary))
    ]


def _finding(
    series: Series, scenarios: pl.DataFrame, trials: pl.DataFrame, claims: tuple[Claim, ...]
) -> Finding:
    rows = {row["scenario"]: row for row in scenarios.iter_rows(named=True)}
    spreads = {
        (cell.scenario, phase): _spread(rows[cell.scenario], trials, phase)
        for cell in (series.smallest, series.largest)
        for phase in TOLD_PHASES
    }
    own = {cell.scenario for cell in series.cells}
    return Finding(
        series=series,
        effects=tuple(
            Effect(
                phase,
                spreads[series.smallest.scenario, phase],
                spreads[series.largest.scenario, phase],
            )
            for phase in TOLD_PHASES
        ),
        failed={name: (row["failed"], row["n"]) for name, row in rows.items() if row["failed"]},
        usable={name: (row["usable"], row["trials"]) for name, row in rows.items()},
        limited={name: row["limited_reasons"] for name, row in rows.items() if row["limited"]},
        claims=tuple(claim for claim in claims if claim.scenario in own),
    )


def _spread(row: dict[str, object], trials: pl.DataFrame, phase: str) -> Spread:
    metric = f"{phase}_mean_ms"
    own = trials.filter(pl.col("scenario") == row["scenario"]).sort("block")
    median = row[metric]
    assert median is None or isinstance(median, float)  # noqa: S101 - the view's type
    values = own.select(pl.when(~pl.col("excluded")).then(pl.col(metric))).to_series()
    return Spread(median, tuple(values))
