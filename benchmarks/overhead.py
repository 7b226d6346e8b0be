"""Where the wall time of runs went, over the seconds of warm-up and window that none can save.

usage:  .venv/bin/uv run python -m benchmarks.overhead [HOME]

Reads the finished runs of `pool-lab` in a home's warehouse; run the experiment first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from benchmarks.stand import Ratios, show
from warehouse import queries
from warehouse.database import open_warehouse


def main(home: Path) -> None:
    """Read and print."""
    with open_warehouse(home, read_only=True) as warehouse:
        runs = queries.runs(warehouse).filter(
            (pl.col("experiment") == "pool-lab") & (pl.col("state") == "complete")
        )
    trials = Ratios("first trial's start to last landing, s", "at most 1.06")
    begun = Ratios("the same with the start-up, s", "")
    for run in runs.iter_rows(named=True):
        least_s = run["planned_trials"] * (run["warm_up_s"] + run["measure_s"])
        trials.add(run["trials_s"], least_s)
        begun.add(run["start_up_s"] + run["trials_s"], least_s)
    show("Overhead of a run", [trials.cells(), begun.cells()])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("var"))
