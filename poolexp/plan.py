"""Experiment and seed in, the order of all trials out: randomised complete blocks.

One block a repetition; every block holds every scenario once, in an order of its own. Pure, so a
plan can be shown before, stored before anything runs, and made again years later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from poolexp.arrivals import NS_PER_S, ArrivalSchedule, is_drawn, schedule
from poolexp.experiment import Experiment
from poolexp.scenario import Scenario

OVERHEAD_S_PER_TRIAL = 0.8
"""Opening and warming connections, and landing: what a trial took here besides its window."""

START_AND_END_S = 25.0
"""Starting Prefect and the server before, validating and reporting after the trials."""


UNLIMITED_PERIOD_MS = 10.0
"""Start offsets are drawn over this period where nothing is limited, so that plans agree."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One scenario, to be measured once.

    Attributes:
        number: from 1, in the order of measurement.
        block: the repetition, from 1; position: the place within the block, from 1.
        seed: of the requests' parameters and drawn arrivals; equal within a block for all pools
            of a workload.
        start_offset_ns: where in the limit's period the origin lies; drawn, one per repetition
            and scenario, spread evenly over the period.
        planned_requests, planned_measured: in all, and within the window; None for a closed loop,
            where nobody knows beforehand.

    """

    number: int
    scenario: Scenario
    block: int
    position: int
    seed: int
    start_offset_ns: int
    planned_requests: int | None
    planned_measured: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """All trials of a run in their order."""

    run_id: str
    experiment: Experiment
    trials: tuple[Trial, ...]

    @property
    def planned_measured(self) -> int:
        """Requests planned within all windows; those of closed loops are not."""
        return sum(trial.planned_measured or 0 for trial in self.trials)

    @property
    def measuring_s(self) -> float:
        """Seconds of warm-up and window: what no tool can shorten."""
        design = self.experiment.design
        return len(self.trials) * (design.warm_up_s + design.measure_s)

    @property
    def expected_s(self) -> float:
        """Seconds the whole run will take, roughly."""
        return self.measuring_s + len(self.trials) * OVERHEAD_S_PER_TRIAL + START_AND_END_S


def make_plan(experiment: Experiment, run_id: str) -> Plan:
    """The randomised order of an experiment's trials; the run's id plays no part in it."""
    return Plan(run_id, experiment, tuple(_trials(experiment)))


def _trials(experiment: Experiment) -> Iterator[Trial]:
    scenarios = list(experiment.scenarios())
    counts = _Counts(experiment)
    offsets = {scenario.slug: _start_offsets(experiment, scenario) for scenario in scenarios}
    number = 0
    for block in range(1, experiment.design.repetitions + 1):
        order = list(scenarios)
        _random(experiment, "order", block).shuffle(order)
        for position, scenario in enumerate(order, start=1):
            number += 1
            seed = _random(experiment, "requests", block, scenario.workload).getrandbits(63)
            planned, measured = counts.of(scenario.workload, seed)
            yield Trial(
                number=number,
                scenario=scenario,
                block=block,
                position=position,
                seed=seed,
                start_offset_ns=offsets[scenario.slug][block - 1],
                planned_requests=planned,
                planned_measured=measured,
            )


def _random(experiment: Experiment, *purpose: object) -> Random:
    """A source of its own for each purpose, so that one draw more in one place moves no other."""
    parts = (experiment.design.seed, *purpose)
    return Random("/".join(str(part) for part in parts))  # noqa: S311 - repeatable on purpose


def schedule_for(experiment: Experiment, workload: str, seed: int) -> ArrivalSchedule | None:
    """When a workload's requests are to be sent in a trial with this seed; None in closed loops."""
    arrivals, design = experiment.find_workload(workload).arrivals, experiment.design
    if arrivals is None:
        return None
    return schedule(arrivals, warm_up_s=design.warm_up_s, measure_s=design.measure_s, seed=seed)


class _Counts:
    """How many requests trials have, counted once for each schedule that differs."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._known: dict[tuple[str, int], tuple[int | None, int | None]] = {}

    def of(self, workload: str, seed: int) -> tuple[int | None, int | None]:
        """Requests in all, and within the window."""
        arrivals = self._experiment.find_workload(workload).arrivals
        key = workload, seed if arrivals and is_drawn(arrivals) else 0
        if key not in self._known:
            planned = schedule_for(self._experiment, workload, seed)
            self._known[key] = (None, None) if planned is None else (len(planned), planned.measured)
        return self._known[key]


def _start_offsets(experiment: Experiment, scenario: Scenario) -> list[int]:
    """One offset a repetition: the period cut into as many slices, one draw from each, shuffled.

    Arrivals and the limit's period are commensurable (250 ms is 25 periods of 10 ms), so a trial
    meets one phase of the period throughout; over the repetitions all phases are to be met.
    """
    limit = scenario.database_limit or scenario.generator_limit
    period_ns = round((limit.period_ms if limit else UNLIMITED_PERIOD_MS) * NS_PER_S / 1000)
    random = _random(experiment, "offset", scenario.slug)
    repetitions = experiment.design.repetitions
    offsets = [
        int((part + random.random()) * period_ns / repetitions) for part in range(repetitions)
    ]
    random.shuffle(offsets)
    return offsets
