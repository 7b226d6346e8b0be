"""A run in a few sentences and a compact table: the same for the terminal and the page.

Pure: frames of the warehouse in, words out.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from reports.findings import findings
from reports.gating import marked
from reports.numbers import show, show_all, show_count, show_share
from reports.scenarios import cells_of


def headline(
    scenario_summary: pl.DataFrame,
    trial_summary: pl.DataFrame,
    comparisons: pl.DataFrame | None = None,
    *,
    limits_tag: str = "",
) -> list[str]:
    """One paragraph a workload: what happened from the smallest pool to the largest.

    Acquire wait, round trip and end to end are medians over the repetitions of their means;
    every repetition's end to end follows, and the verdicts on its primary comparisons where
    `comparisons`, a frame of the view, holds some. `limits_tag`, such as "unlimited", stands in
    each.
    """
    tag = f" ({limits_tag})" if limits_tag else ""
    return [
        " ".join(
            [
                f"{found.series.name}{tag}: {found.sentence}",
                *found.verdicts,
                found.repetitions,
                *found.warnings,
            ]
        )
        for found in findings(scenario_summary, trial_summary, comparisons)
    ]


LIMITS_TAGS = {"limited": "", "unlimited": "unlimited", "not asked": "no CPU limit asked for"}


def limits_tag(limits_state: str) -> str:
    """What stands wherever results are shown: nothing in a limited run, else that it is not."""
    return LIMITS_TAGS.get(limits_state, f"CPU limits: {limits_state}")


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One scenario in the compact table; phases are medians over the repetitions, in ms."""

    scenario: str
    workload: str
    pool_size: int
    limited: bool
    n: int
    failed: int
    end_to_end_mean_ms: float | None
    end_to_end_p50_ms: float | None
    end_to_end_p95_ms: float | None
    end_to_end_p99_ms: float | None
    end_to_end_max_ms: float | None
    acquire_wait_mean_ms: float | None
    round_trip_mean_ms: float | None
    release_mean_ms: float | None
    database_throttled_share: float | None
    database_cpu_cores: float | None
    database_memory_mib: float | None

    @property
    def name(self) -> str:
        """The scenario, marked where it is limited."""
        return marked(self.scenario, self.limited)

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of SUMMARY_HEADINGS."""
        latencies = show_all(
            [
                self.end_to_end_mean_ms,
                self.end_to_end_p50_ms,
                self.end_to_end_p95_ms,
                self.end_to_end_p99_ms,
                self.end_to_end_max_ms,
                self.acquire_wait_mean_ms,
                self.round_trip_mean_ms,
                self.release_mean_ms,
            ]
        )
        return (
            self.name,
            show_count(self.n),
            show_count(self.failed),
            *latencies,
            show_share(self.database_throttled_share),
            show(self.database_cpu_cores, 3),
            show(self.database_memory_mib, 0),
        )


SUMMARY_HEADINGS = (
    "scenario",
    "n",
    "failed",
    "end to end mean ms",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "max ms",
    "acquire wait ms",
    "round trip ms",
    "release ms",
    "throttled share",
    "database cores",
    "database MiB",
)
"""Column heads of the compact table; the phases without a statistic are means."""


def summary_rows(scenario_summary: pl.DataFrame) -> list[SummaryRow]:
    """The compact table: one row a scenario, in the order of the page."""
    rows = {row["scenario"]: row for row in scenario_summary.iter_rows(named=True)}
    wanted = SummaryRow.__dataclass_fields__
    return [
        SummaryRow(**{name: rows[cell.scenario][name] for name in wanted})
        for cell in cells_of(scenario_summary)
    ]
