"""An experiment: what is varied, what is held, how often and for how long.

A value given as a list is a factor: the scenarios are the cross product of the workloads and of
all factors. Pure: nothing in here touches a server, a clock or a disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from poolexp.cgroups import CpuLimit
from poolexp.scenario import PoolSetting, Scenario
from poolexp.tables import Factor, Name, Positive, Table
from poolexp.workload import Workload

RESERVED_CONNECTIONS = 3
"""PostgreSQL's default `superuser_reserved_connections`, which a pool cannot have."""

MAXIMUM_TRIALS = 10_000
MAXIMUM_REQUESTS_PER_TRIAL = 5_000_000

Outcome = Literal["done", "acquire_timeout", "query_timeout", "error", "not_sent"]
"""What became of a planned request."""

Place = tuple[str | int, ...]


class Limits(Table):
    """CPU limit of one control group; without `cpu_cores` the group is unlimited."""

    cpu_cores: Positive | None = None
    period_ms: Positive = 10.0

    @model_validator(mode="after")
    def _the_kernel_takes_it(self) -> Self:
        self.cpu_limit()
        return self

    def cpu_limit(self) -> CpuLimit | None:
        """The limit as a control group takes it, or None for no limit."""
        return None if self.cpu_cores is None else CpuLimit(self.cpu_cores, self.period_ms)


class Design(Table):
    """How often, in which order and for how long."""

    repetitions: int = Field(default=3, ge=1, le=1000)
    seed: int = Field(default=1, ge=0, lt=2**63)
    warm_up_s: float = Field(default=2.0, ge=0, le=86_400)
    measure_s: float = Field(default=12.0, gt=0, le=86_400)
    drain_s: float = Field(default=30.0, gt=0, le=86_400)
    """How long after the window the last requests are waited for before they are given up."""


class Database(Table):
    """The server under test."""

    kind: Literal["embedded"] = "embedded"
    max_connections: int = Field(default=110, ge=10, le=10_000)
    dataset: Literal["pool_lab"] = "pool_lab"
    limits: Factor[Limits] = (Limits(),)
    settings: dict[str, str] = {}


class Generator(Table):
    """The process that sends the requests."""

    limits: Factor[Limits] = (Limits(),)


class Pool(Table):
    """The connection pool in between."""

    size: Factor[Annotated[int, Field(ge=1)]]
    reset: Factor[bool] = (True,)
    """Whether a released connection is reset, as asyncpg does by default."""
    acquire_timeout_s: Positive | None = None
    query_timeout_s: Positive | None = None


class Analysis(Table):
    """What is compared, named before anything is measured."""

    primary: Literal["end_to_end_mean_ms"] = "end_to_end_mean_ms"
    baseline_pool_size: int | None = None
    delta: float = Field(default=0.05, gt=0, lt=1)


class Validation(Table):
    """What a run must satisfy beyond completeness."""

    allowed_outcomes: Factor[Outcome] = ("done",)


class Experiment(Table):
    """A whole experiment file."""

    name: Name
    question: str = Field(default="", max_length=500)
    design: Design = Design()
    database: Database = Database()
    generator: Generator = Generator()
    pool: Pool
    workload: Annotated[Factor[Workload], Field(min_length=1)]
    analysis: Analysis = Analysis()
    validation: Validation = Validation()

    def scenarios(self) -> Iterator[Scenario]:
        """The cross product of workloads and factors, in the order of the file."""
        limits = self.database.limits, self.generator.limits
        vary = any(len(levels) > 1 for levels in limits)
        for workload, size, reset, database, generator in product(
            self.workload, self.pool.size, self.pool.reset, *limits
        ):
            yield Scenario(
                workload=workload.name,
                pool=PoolSetting(
                    size, reset, self.pool.acquire_timeout_s, self.pool.query_timeout_s
                ),
                database_limit=database.cpu_limit(),
                generator_limit=generator.cpu_limit(),
                limits_vary=vary,
            )

    def find_workload(self, name: str) -> Workload:
        """The workload of that name."""
        return {workload.name: workload for workload in self.workload}[name]

    @property
    def digest(self) -> str:
        """SHA-256 of everything the file says, in a canonical form."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def contradictions(experiment: Experiment) -> Iterator[tuple[Place, str]]:
    """What is wrong between the parts of an experiment whose parts are each right."""
    yield from _twins(experiment)
    yield from _sizes(experiment)
    yield from _extent(experiment)


def _twins(experiment: Experiment) -> Iterator[tuple[Place, str]]:
    names = [workload.name for workload in experiment.workload]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield ("workload", index, "name"), f"{name} is used twice"
    factors: tuple[tuple[Place, tuple[object, ...]], ...] = (
        (("pool", "size"), experiment.pool.size),
        (("pool", "reset"), experiment.pool.reset),
        (("database", "limits"), experiment.database.limits),
        (("generator", "limits"), experiment.generator.limits),
    )
    for place, levels in factors:
        if any(level in levels[:index] for index, level in enumerate(levels)):
            yield place, "a level is given twice"


def _sizes(experiment: Experiment) -> Iterator[tuple[Place, str]]:
    offered = experiment.database.max_connections
    most = offered - RESERVED_CONNECTIONS
    for size in experiment.pool.size:
        if size > most:
            yield (
                ("pool", "size"),
                f"a pool of {size} does not fit: of max_connections = {offered}, "
                f"{RESERVED_CONNECTIONS} are reserved, so at most {most} are free",
            )
    baseline = experiment.analysis.baseline_pool_size
    if baseline is not None and baseline not in experiment.pool.size:
        sizes = ", ".join(str(size) for size in experiment.pool.size)
        yield ("analysis", "baseline_pool_size"), f"{baseline} is none of the sizes {sizes}"


def _extent(experiment: Experiment) -> Iterator[tuple[Place, str]]:
    design = experiment.design
    trials = len(list(experiment.scenarios())) * design.repetitions
    if trials > MAXIMUM_TRIALS:
        yield (
            ("design", "repetitions"),
            f"the plan would have {trials:,} trials; at most {MAXIMUM_TRIALS:,} are accepted",
        )
    for index, workload in enumerate(experiment.workload):
        rate = workload.arrivals.rate_per_s
        most = rate * (design.warm_up_s + design.measure_s)
        if most > MAXIMUM_REQUESTS_PER_TRIAL:
            yield (
                ("workload", index, "arrivals", "rate_per_s"),
                f"a trial would have {most:,.0f} requests; "
                f"at most {MAXIMUM_REQUESTS_PER_TRIAL:,} are accepted",
            )
        elif rate * design.measure_s < getattr(workload.arrivals, "size", 1):
            yield (
                ("workload", index, "arrivals", "rate_per_s"),
                f"nothing would arrive within the window of {design.measure_s:g} s",
            )


def without_limits(experiment: Experiment) -> Experiment:
    """The same experiment with no CPU limit asked for, for a machine where none is wanted."""
    unlimited = {"limits": (Limits(),)}
    return experiment.model_copy(
        update={
            "database": experiment.database.model_copy(update=unlimited),
            "generator": experiment.generator.model_copy(update=unlimited),
        }
    )
