"""How scenarios are named and ordered on a page: workload, then what else differs, then size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl


@dataclass(frozen=True, slots=True)
class Cell:
    """One scenario as a reader meets it.

    Attributes:
        variant: what the slug says besides workload and size, such as `no-reset`; often empty.
    """

    scenario: str
    workload: str
    pool_size: int
    variant: str

    @property
    def series(self) -> str:
        """What this cell shares with those from which it differs in the pool's size alone."""
        return f"{self.workload} {self.variant}".strip()

    @property
    def label(self) -> str:
        """The cell's name within its series: the pool's size."""
        return str(self.pool_size)

    @property
    def connections(self) -> str:
        """The pool's size in words."""
        return f"{self.pool_size} connection" + ("s" if self.pool_size != 1 else "")


@dataclass(frozen=True, slots=True)
class Series:
    """Cells that differ in the pool's size alone, the smallest pool first."""

    name: str
    workload: str
    cells: tuple[Cell, ...]

    @property
    def smallest(self) -> Cell:
        """The cell with the smallest pool."""
        return self.cells[0]

    @property
    def largest(self) -> Cell:
        """The cell with the largest pool."""
        return self.cells[-1]


def cells_of(scenario_summary: pl.DataFrame) -> tuple[Cell, ...]:
    """All scenarios in the order in which a page shows them.

    The workload with the longest end to end comes first: where requests wait, there is most to
    see. Within a workload the variants follow each other, each from small pools to large.
    """
    slowest = _slowest_first(scenario_summary)
    cells = [
        _cell(row["scenario"], row["workload"], row["pool_size"])
        for row in scenario_summary.iter_rows(named=True)
    ]
    return tuple(
        sorted(cells, key=lambda cell: (slowest[cell.workload], cell.variant, cell.pool_size))
    )


def _cell(scenario: str, workload: str, pool_size: int) -> Cell:
    rest = scenario.removeprefix(f"{workload}-pool-{pool_size}")
    return Cell(scenario, workload, pool_size, rest.removeprefix("-"))


def _slowest_first(scenario_summary: pl.DataFrame) -> dict[str, int]:
    columns = ["end_to_end_mean_ms", "round_trip_mean_ms"]
    longest = (
        scenario_summary.group_by("workload", maintain_order=True)
        .agg(pl.max_horizontal(pl.col(columns).max()).alias("longest"))
        .sort("longest", descending=True, nulls_last=True, maintain_order=True)
    )
    return {name: place for place, name in enumerate(longest["workload"])}


def series_of(cells: Sequence[Cell]) -> tuple[Series, ...]:
    """The cells gathered into series, in the order of the page."""
    return tuple(
        Series(name, members[0].workload, members)
        for name, found in groupby(cells, key=lambda cell: cell.series)
        for members in [tuple(found)]
    )
