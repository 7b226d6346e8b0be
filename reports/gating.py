"""What the gates found in a run, in words: the same for the terminal and the page.

Pure: frames of the warehouse in, words out. No word here judges a pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from reports.numbers import counted, listed


@dataclass(frozen=True, slots=True)
class Gating:
    """What became of a run's trials at the gates.

    Attributes:
        accepted: how many trials were judged.
        gated: numbers of those in which a gate that excludes or limits did not pass.
        excluded: why a block is left out, by block.
        excluded_trials: how many accepted trials lie in those blocks.
        limited: why a scenario is limited, by scenario; `warned` the same for warnings.
        unusable: scenarios of which no trial is left.
        unmeasured: labels of what was not measured in some trial.
        remedies: what to do, each once, in the order of the gates.
    """

    accepted: int
    gated: tuple[int, ...]
    excluded: dict[int, str]
    excluded_trials: int
    limited: dict[str, str]
    warned: dict[str, str]
    unusable: tuple[str, ...]
    unmeasured: tuple[str, ...]
    remedies: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """How many trials were gated, in a few words."""
        if not self.accepted:
            return "no trial to judge"
        if not self.gated:
            return f"none of {counted(self.accepted, 'trial')} gated"
        return f"{len(self.gated)} of {counted(self.accepted, 'trial')} gated"

    def sentences(self) -> Iterator[str]:
        """Everything that stands beside the verdict, one sentence each."""
        for block, reason in self.excluded.items():
            yield f"Block {block} is left out: {reason}."
        for scenario in self.unusable:
            yield f"{scenario} has no usable trial."
        for scenario, reason in self.limited.items():
            yield f"{scenario} is limited: {reason}."
        for scenario, reason in self.warned.items():
            yield f"Note {scenario}: {reason}."
        yield from self.remedies
        if self.unmeasured:
            yield f"Not measured: {listed(self.unmeasured)}."


def gating(gates: pl.DataFrame, trials: pl.DataFrame, scenarios: pl.DataFrame) -> Gating:
    """Gather it from the views `gates`, `trials` and `scenario_summary` of one run."""
    failed = gates.filter(~pl.col("passed")).sort("number", "trial")
    counting = failed.filter(pl.col("effect") != "warns")
    left_out = trials.filter(pl.col("excluded")).sort("block")
    return Gating(
        accepted=trials["attempt"].count(),
        gated=tuple(sorted(set(counting["trial"]))),
        excluded=dict(left_out.select("block", "excluded_reason").iter_rows()),
        excluded_trials=left_out["attempt"].count(),
        limited=_reasons(scenarios, "limited_reasons"),
        warned=_reasons(scenarios, "warnings"),
        unusable=tuple(scenarios.filter(pl.col("usable") == 0)["scenario"]),
        unmeasured=tuple(_labels(gates.filter(pl.col("passed").is_null()))),
        remedies=tuple(dict.fromkeys(counting["remedy"])),
    )


def _reasons(scenarios: pl.DataFrame, column: str) -> dict[str, str]:
    told = scenarios.filter(pl.col(column).is_not_null())
    return dict(told.select("scenario", column).iter_rows())


def _labels(gates: pl.DataFrame) -> Iterator[str]:
    messages = gates.sort("number").unique("gate", keep="first", maintain_order=True)["message"]
    for message in messages:
        yield message.partition(":")[0]


def marked(scenario: str, limited: bool) -> str:
    """A scenario's name as it stands beside its numbers."""
    return f"{scenario} (limited)" if limited else scenario
