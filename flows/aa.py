"""`poolexp aa`: the file of an A/A, and what its run came to."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from flows.console import add, make_table, plain
from poolexp.aa import AaDesign, aa_document
from poolexp.catalogue import load_experiment, parse_experiment, source_of
from poolexp.toml_text import toml_text
from reports.numbers import show, show_share
from warehouse import queries
from warehouse.aa import METRICS
from warehouse.database import Warehouse

Row = Mapping[str, Any]

METRIC_WORDS = {
    "end_to_end_mean_ms": "end to end, mean",
    "end_to_end_p50_ms": "end to end, p50",
    "end_to_end_p99_ms": "end to end, p99",
    "acquire_wait_mean_ms": "acquire wait, mean",
    "round_trip_mean_ms": "round trip, mean",
}


def write_aa_experiment(
    reference: str, wanted: AaDesign, home: Path, *, seed: int | None = None
) -> Path:
    """Write the A/A's experiment below the home, where it can be read and run again.

    Raises:
        UsageError: there is no such experiment, or no such scenario in it.
        ExperimentError: its file is wrong, or no A/A can be made of it.

    """
    experiment = load_experiment(reference, seed=seed)
    source, text = source_of(reference)
    given = tomllib.loads(text)
    if seed is not None:
        given.setdefault("design", {})["seed"] = seed
    document = aa_document(given, experiment, wanted, Path(source).parent)
    written = (
        f"# Made by `poolexp aa {reference}`: equal conditions under names that tell nothing.\n"
        + toml_text(document)
    )
    made = parse_experiment(document, source=f"the A/A of {reference}", text=written)
    folder = home / "experiments"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{made.name}-{made.digest[:8]}.toml"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(written)
    return path


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise floors that a run measured, its false verdicts, and its power; nothing else's.

    Attributes:
        asked: whether the run was to measure them.
    """

    floors: pl.DataFrame
    results: pl.DataFrame
    asked: bool


def read_aa(warehouse: Warehouse, run_id: str) -> Noise:
    """Read what a run says about noise."""
    experiment = queries.run_facts(warehouse, run_id)["plan"]["experiment"]
    return Noise(
        floors=queries.noise_floors_of_run(warehouse, run_id),
        results=queries.aa_results(warehouse, run_id),
        asked=bool(experiment.get("aa")),
    )


def show_aa(console: Console, noise: Noise) -> None:
    """Tell it; nothing where the run was not to measure it."""
    floors, results = noise.floors, noise.results
    if results.is_empty():
        if noise.asked:
            console.print("No noise was measured: the run is not valid, or has no usable block.")
        return
    console.print()
    for (scenario,), own in results.group_by("scenario", maintain_order=True):
        told = floors.filter(pl.col("scenario") == scenario)
        twins = own.filter(pl.col("work") == 1)
        _show_floors(console, str(scenario), told, twins)
        _show_calls(console, "Equal conditions (false verdicts)", twins.to_dicts())
        for (work,), unequal in own.filter(pl.col("work") != 1).group_by(
            "work", maintain_order=True
        ):
            _show_calls(console, f"{work:g} times the work (power)", unequal.to_dicts())
    console.print("The other metrics: the view aa_results.", highlight=False)


def _show_floors(
    console: Console, scenario: str, floors: pl.DataFrame, twins: pl.DataFrame
) -> None:
    counts = floors["blocks"].unique().sort().to_list()
    heads = ("metric", "sd of log ratio", *(f"{count} blocks" for count in counts))
    console.print(
        plain(
            f"{scenario}: noise floor, the 95th percentile of the difference between equal "
            "conditions over so many blocks"
        )
    )
    table = make_table("", heads)
    spreads = dict(twins.select("metric", "sd_log_ratio").iter_rows())
    for (metric,), own in floors.group_by("metric", maintain_order=True):
        at = {row["blocks"]: row for row in own.iter_rows(named=True)}
        cells = (_floor_words(at[count]) if count in at else "" for count in counts)
        add(table, (METRIC_WORDS[str(metric)], show(spreads.get(metric), 4), *cells))
    console.print(table)


def _floor_words(row: Row) -> str:
    return f"{show_share(row['floor_ratio'])} ({show(row['floor_ms'])} ms)"


def _show_calls(console: Console, title: str, rows: Sequence[Row]) -> None:
    """The primary metric alone; the view has the others."""
    primary = [row for row in rows if row["metric"] == METRICS[0]]
    console.print(
        plain(
            f"{title}, {METRIC_WORDS[METRICS[0]]}: of disjoint comparisons those with a verdict, "
            "with 95 % bounds (Clopper and Pearson); of choices of blocks that share trials"
        )
    )
    table = make_table(
        "",
        ("blocks", "decided", "indicated", "of", "bounds", "of", "decided", "indicated"),
        text_columns=0,
    )
    for row in primary:
        add(
            table,
            (
                row["blocks"],
                row["decided"],
                row["indicated"],
                row["comparisons"],
                f"{show_share(row['share_low'])} to {show_share(row['share_high'])}",
                row["subsets"],
                show_share(row["subsets_decided"] / row["subsets"]),
                show_share(row["subsets_indicated"] / row["subsets"]),
            ),
        )
    console.print(table)
    for row in primary[:1]:
        ends = f"{show(row['ratio_low'], 3)} to {show(row['ratio_high'], 3)}"
        ratio = f"{show(row['ratio'], 3)} ({ends})"
        console.print(plain(f"  {row['variant']} / {row['baseline']}: {ratio} over all blocks."))
