"""An A/A out of an experiment: one of its scenarios under two names that tell nothing. Pure.

How far the two come apart is the noise floor of that scenario on the host. For the power, others
in the same blocks do more real work.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from poolexp.errors import UsageError
from poolexp.experiment import Experiment
from poolexp.scenario import Scenario
from poolexp.variants import Variant
from poolexp.workload import BurstArrivals

BLIND_NAMES = ("amber", "birch", "cedar", "dune")
"""Which name does what is drawn by the experiment's seed, so none has a meaning."""

POWER = (1.10, 1.25)
"""Factors of real work that a comparison has to find."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AaDesign:
    """What an A/A is to be like.

    Attributes:
        scenarios: slugs without a variant; the one of `slowest` where there are none.
        pairs: blocks, each of which has both twins once.
        power: whether conditions with more real work are measured as well.
        measure_s: length of the windows; None for the experiment's own.

    """

    scenarios: tuple[str, ...] = ()
    pairs: int = 20
    power: bool = False
    measure_s: float | None = None


def slowest(experiment: Experiment) -> Scenario:
    """The scenario of which noise is asked where none is named.

    Of the workload with the most calibrated CPU time a request, and then in the largest bursts,
    the smallest pool: what waits longest varies most.
    """

    def load(cell: Scenario) -> tuple[float, int, int]:
        workload = experiment.find_workload(cell.workload)
        cpu_ms = workload.calibrated[1].calibrate_cpu_ms if workload.calibrated else 0.0
        arrivals = workload.arrivals
        burst = arrivals.size if isinstance(arrivals, BurstArrivals) else 1
        return cpu_ms, burst, -cell.pool.size

    return max(experiment.cells(), key=load)


def aa_document(
    document: Mapping[str, Any], experiment: Experiment, wanted: AaDesign, folder: Path
) -> Document:
    """The file of the A/A: the experiment's `document`, with twins instead of its variants.

    The twins, and those that do more work, are like the experiment's first variant where it has
    any. What the file names beside itself, in `folder`, is named absolutely.

    Raises:
        UsageError: the experiment has no such scenario.

    """
    made = copy.deepcopy(dict(document))
    made["name"] = f"{experiment.name[:61]}-aa"
    made["question"] = f"How far do equal conditions of {experiment.name} come apart?"
    made["aa"] = {"experiment": experiment.name}
    design = made.setdefault("design", {})
    design["repetitions"] = wanted.pairs
    design["only"] = list(_scenarios(experiment, wanted.scenarios))
    if wanted.measure_s is not None:
        design["measure_s"] = float(wanted.measure_s)
    made.get("analysis", {}).pop("baseline_variant", None)
    made["variant"] = _variants(experiment, wanted, folder)
    for workload in made["workload"] if isinstance(made["workload"], list) else [made["workload"]]:
        if "file" in (arrivals := workload.get("arrivals", {})):
            arrivals["file"] = str((folder / arrivals["file"]).resolve())
    return made


def _scenarios(experiment: Experiment, wanted: Sequence[str]) -> Sequence[str]:
    known = [cell.slug for cell in experiment.cells()]
    for slug in wanted:
        if slug not in known:
            raise UsageError(
                f"{experiment.name} has no scenario {slug!r}", f"Give one of {', '.join(known)}."
            )
    return list(dict.fromkeys(wanted)) or [slowest(experiment).slug]


def _variants(experiment: Experiment, wanted: AaDesign, folder: Path) -> list[Document]:
    base = experiment.variant[0] if experiment.variant else Variant(name="base")
    factors = (1.0, 1.0, *(POWER if wanted.power else ()))
    names = list(BLIND_NAMES[: len(factors)])
    random = Random(f"{experiment.design.seed}/blind")  # noqa: S311 - repeatable on purpose
    random.shuffle(names)
    made = [
        _variant(name, base, factor, folder) for name, factor in zip(names, factors, strict=True)
    ]
    # The first is what the others are compared with. Their order tells nothing either.
    return [made[0], *sorted(made[1:], key=lambda variant: str(variant["name"]))]


def _variant(name: str, base: Variant, factor: float, folder: Path) -> Document:
    made: Document = {"name": name}
    if base.settings:
        made["settings"] = dict(base.settings)
    if base.pg_bin is not None:
        made["pg_bin"] = str((folder / base.pg_bin).resolve())
    if base.work * factor != 1:
        made["work"] = base.work * factor
    return made
