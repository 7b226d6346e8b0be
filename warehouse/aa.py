"""Takes the noise of a host from an A/A run: floors, false verdicts and power, and stores them.

They follow from the run's trials, so they can be taken again at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from warehouse.conclusions import draw_conclusions_again
from warehouse.database import Warehouse
from warehouse.migrate import transaction
from warehouse.noise import (
    BlockPair,
    Called,
    Floor,
    block_counts,
    called,
    floors,
    halves,
    ratio_of,
)
from warehouse.queries import run_facts, trial_summary, trials
from warehouse.statements import statement

METRICS = (
    "end_to_end_mean_ms",
    "end_to_end_p50_ms",
    "end_to_end_p99_ms",
    "acquire_wait_mean_ms",
    "round_trip_mean_ms",
)
"""Of which floors are told; the first is the primary one of an experiment that names none."""

_FORGET = (
    "DELETE FROM raw.noise_floor WHERE aa_run_id = ?",
    "DELETE FROM raw.aa_result WHERE run_id = ?",
)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AaPlan:
    """Who is compared with whom, read from the documents of an A/A run.

    Attributes:
        experiment: the name of the one whose noise it is.
        baseline: the first of the twins; `twin` is the other.
        others: variants that do other work than the twins, with the factor between them.

    """

    experiment: str
    delta: float
    repetitions: int
    baseline: str
    twin: str
    others: Mapping[str, float]


def aa_plan(experiment: Mapping[str, Any]) -> AaPlan | None:
    """The plan of an experiment as plan.json has it; None where it is no A/A."""
    if not experiment.get("aa"):
        return None
    variants = experiment["variant"]
    conditions = [[v["settings"], v["pg_bin"], v["work"]] for v in variants]
    # The experiment was checked: there are twins.
    first = next(at for at, each in enumerate(conditions) if conditions.count(each) > 1)
    second = conditions.index(conditions[first], first + 1)
    work = variants[first]["work"]
    return AaPlan(
        experiment=experiment["aa"]["experiment"],
        delta=experiment["analysis"]["delta"],
        repetitions=experiment["design"]["repetitions"],
        baseline=variants[first]["name"],
        twin=variants[second]["name"],
        others={
            variant["name"]: variant["work"] / work
            for variant, each in zip(variants, conditions, strict=True)
            if each[:2] == conditions[first][:2] and each != conditions[first]
        },
    )


def measure_noise(warehouse: Warehouse, run_id: str) -> bool:
    """Take floors, false verdicts and power from an A/A run, and replace what was stored of them.

    The conclusions of earlier runs of the experiment on this host are drawn again with them.
    Returns whether it is one; nothing happens to any other run.

    Raises:
        UsageError: there is no such run.

    """
    documents = run_facts(warehouse, run_id)
    plan = aa_plan(documents["plan"]["experiment"])
    if plan is None:
        return False
    host_key = documents["facts"].get("host", {}).get("host_key", "not known")
    about = {"run_id": run_id, "host_key": host_key, "experiment": plan.experiment}
    _store(warehouse, about, *_measured(plan, _usable(warehouse, run_id)))
    draw_conclusions_again(warehouse, host_key, plan.experiment)
    return True


def _measured(plan: AaPlan, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows of noise floors, and those of results."""
    floor_rows: list[Row] = []
    result_rows: list[Row] = []
    for scenario in dict.fromkeys(row["cell"] for row in rows):
        own = [row for row in rows if row["cell"] == scenario]
        for metric in METRICS:
            key = {"scenario": scenario, "metric": metric}
            found = _floors(plan, own, metric)
            floor_rows += [key | asdict(floor) for floor in found]
            result_rows += [key | row for row in _results(plan, own, metric, found)]
    return floor_rows, result_rows


def _store(
    warehouse: Warehouse, about: Row, floor_rows: Sequence[Row], result_rows: Sequence[Row]
) -> None:
    with transaction(warehouse.connection):
        for sql in _FORGET:
            warehouse.connection.execute(sql, [about["run_id"]])
        for name, made in (("insert_noise_floors", floor_rows), ("insert_aa_results", result_rows)):
            parameters = about | {"rows": json.dumps(made, allow_nan=False)}
            warehouse.connection.execute(statement(name), parameters)


def _usable(warehouse: Warehouse, run_id: str) -> Sequence[Row]:
    """Trials that count, with the name of the cell that the variants share."""
    planned = trials(warehouse, run_id).select("trial", "variant")
    summary = trial_summary(warehouse, run_id).filter(
        pl.col("attempt").is_not_null() & ~pl.col("excluded")
    )
    columns = ["trial", "block", "scenario", *METRICS]
    joined = summary.select(columns).join(planned, on="trial").sort("trial")
    return [
        row | {"cell": row["scenario"].removesuffix(f"-{row['variant']}")}
        for row in joined.iter_rows(named=True)
    ]


def _pairs(rows: Sequence[Row], metric: str, condition: str, baseline: str) -> list[BlockPair]:
    """Blocks in which both conditions have a number that has a logarithm."""
    found = {
        (row["variant"], row["block"]): row[metric] for row in rows if (row[metric] or 0.0) > 0
    }
    return [
        BlockPair(block, value, found[baseline, block])
        for (variant, block), value in found.items()
        if variant == condition and (baseline, block) in found
    ]


def _floors(plan: AaPlan, rows: Sequence[Row], metric: str) -> list[Floor]:
    measured, _ = halves(_pairs(rows, metric, plan.twin, plan.baseline))
    return floors(measured, block_counts(plan.repetitions))


def _results(
    plan: AaPlan, rows: Sequence[Row], metric: str, found: Sequence[Floor]
) -> Iterator[Row]:
    """One row a pair of conditions and number of blocks: the twins, then those with more work."""
    known = {floor.blocks: floor.ratio for floor in found}
    for variant, work in ((plan.twin, 1.0), *plan.others.items()):
        pairs = _pairs(rows, metric, variant, plan.baseline)
        if not pairs:
            continue
        # Of the twins the blocks of the floor are left out, so that it has not seen these.
        judged = halves(pairs)[1] if variant == plan.twin else pairs
        about = {"variant": variant, "baseline": plan.baseline, "work": work}
        about |= {"pairs": len(judged), "delta": plan.delta, **_ratio(pairs)}
        for blocks in block_counts(plan.repetitions):
            if blocks <= len(judged):
                floor = known.get(blocks)
                counts = called(judged, blocks, delta=plan.delta, floor=floor, only_worse=work != 1)
                yield {**about, **_counts(counts)}


def _ratio(pairs: Sequence[BlockPair]) -> Row:
    names = ("ratio", "ratio_low", "ratio_high", "sd_log_ratio")
    return dict(zip(names, ratio_of(pairs), strict=True))


def _counts(counts: Called) -> Row:
    row = asdict(counts)
    bounds = {"share_low": row.pop("low"), "share_high": row.pop("high")}
    return {**row, **bounds, "share": counts.share}
