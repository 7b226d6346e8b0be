"""What happened from the smallest pool to the largest, in words.

Effects only: numbers with every repetition or their range, and no word that judges. Pure: frames
of the warehouse in, words out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

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

    @property
    def sentence(self) -> str:
        """What happened, without the repetitions."""
        smallest, largest = self.series.smallest, self.series.largest
        if smallest is largest:
            return f"with {smallest.connections} {listed(self._stood())}."
        return f"from {smallest.pool_size} to {largest.connections} {listed(self._went())}."

    def _went(self) -> Iterator[str]:
        sizes = self.series.smallest.pool_size, self.series.largest.pool_size
        verb = " went"
        for effect in self.effects:
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


def findings(scenario_summary: pl.DataFrame, trial_summary: pl.DataFrame) -> list[Finding]:
    """One finding a series, the slowest workload first."""
    return [
        _finding(series, scenario_summary, trial_summary)
        for series in series_of(cells_of(scenario_summary))
    ]


def _finding(series: Series, scenarios: pl.DataFrame, trials: pl.DataFrame) -> Finding:
    rows = {row["scenario"]: row for row in scenarios.iter_rows(named=True)}
    spreads = {
        (cell.scenario, phase): _spread(rows[cell.scenario], trials, phase)
        for cell in (series.smallest, series.largest)
        for phase in TOLD_PHASES
    }
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
    )


def _spread(row: dict[str, object], trials: pl.DataFrame, phase: str) -> Spread:
    metric = f"{phase}_mean_ms"
    own = trials.filter(pl.col("scenario") == row["scenario"]).sort("block")
    median = row[metric]
    assert median is None or isinstance(median, float)  # noqa: S101 - the view's type
    values = own.select(pl.when(~pl.col("excluded")).then(pl.col(metric))).to_series()
    return Spread(median, tuple(values))
