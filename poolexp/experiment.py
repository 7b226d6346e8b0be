"""An experiment: what is varied, what is held, how often and for how long.

A value given as a list is a factor: the scenarios are the cross product of the workloads and of
all factors. Pure: nothing in here touches a server, a clock or a disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from poolexp.cgroups import CpuLimit
from poolexp.scenario import PoolSetting, Scenario
from poolexp.tables import Factor, Name, Positive, Table, as_tuple
from poolexp.variants import Variant
from poolexp.workload import Workload

Outcome = Literal["done", "acquire_timeout", "query_timeout", "error", "given_up", "not_sent"]
"""What became of a planned request."""

Selection = Literal["lifo", "fifo", "round_robin", "key_hash"]
"""How the pool chooses a connection; `lifo` is asyncpg's own pool."""

PrimaryMetric = Literal[
    "end_to_end_mean_ms",
    "end_to_end_p50_ms",
    "end_to_end_p90_ms",
    "response_mean_ms",
    "response_p50_ms",
    "response_p90_ms",
    "acquire_wait_mean_ms",
    "acquire_wait_p50_ms",
    "acquire_wait_p90_ms",
    "round_trip_mean_ms",
    "round_trip_p50_ms",
    "round_trip_p90_ms",
    "rate_per_s",
]
"""What verdicts may be about: a column of `trial_summary`. Farther tails vary too much for them."""

Place = tuple[str | int, ...]


class Limits(Table):
    """CPU limit of one control group; without `cpu_cores` the group is unlimited."""

    cpu_cores: Annotated[float, Field(gt=0, le=4096)] | None = None
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
    measure_s: float = Field(default=12.0, ge=0.05, le=86_400)
    """At least a few of the kernel's ticks, or the counters at its edges say nothing."""
    drain_s: float = Field(default=30.0, gt=0, le=86_400)
    """How long after the window the last requests are waited for before they are given up."""
    pinning: bool = False
    """Whether generator and database get CPUs of their own."""
    only: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()
    """Slugs (without a variant) of the only scenarios to be measured; all where there are none."""


class Database(Table):
    """The server under test."""

    kind: Literal["embedded"] = "embedded"
    max_connections: int = Field(default=110, ge=10, le=10_000)
    dataset: Literal["pool_lab"] = "pool_lab"
    limits: Factor[Limits] = (Limits(),)
    settings: dict[str, str] = {}


class Generator(Table):
    """What sends the requests: one process, or several that share load, pool and limits."""

    limits: Factor[Limits] = (Limits(),)
    processes: int = Field(default=1, ge=1, le=64)


class Pool(Table):
    """The connection pool in between."""

    size: Factor[Annotated[int, Field(ge=1)]]
    reset: Factor[bool] = (True,)
    """Whether a released connection is reset, as asyncpg does by default."""
    selection: Factor[Selection] = ("lifo",)
    key: str | None = None
    """The parameter whose value picks the connection where `selection` is `key_hash`."""
    statement_cache: Factor[bool] = (True,)
    acquire_timeout_s: Positive | None = None
    query_timeout_s: Positive | None = None


class Analysis(Table):
    """What is compared, named before anything is measured."""

    primary: PrimaryMetric = "end_to_end_mean_ms"
    baseline_pool_size: int | None = None
    """What other sizes are compared with; without one, the smallest."""
    baseline_variant: str | None = None
    """What other variants are compared with; without one, the first of the file."""
    delta: float = Field(default=0.05, gt=0, lt=1)
    """The least difference that matters, as a share."""


class SameTwice(Table):
    """An A/A: the run measures how far two conditions that are the same come apart by chance.

    `experiment` is the name of the one whose noise that is.
    """

    experiment: Name


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
    variant: Annotated[tuple[Variant, ...], BeforeValidator(as_tuple)] = ()
    analysis: Analysis = Analysis()
    validation: Validation = Validation()
    aa: SameTwice | None = None

    def scenarios(self) -> Iterator[Scenario]:
        """The cells that are to be measured, in the order of the file, each with all variants."""
        for cell in self.cells():
            if not self.design.only or cell.slug in self.design.only:
                for variant in self.variant:
                    yield replace(cell, variant=variant.name)
                if not self.variant:
                    yield cell

    def cells(self) -> Iterator[Scenario]:
        """The cross product of workloads and factors, in the order of the file, with no variant."""
        limits = self.database.limits, self.generator.limits
        vary = any(len(levels) > 1 for levels in limits)
        loads = [(each.name, workers) for each in self.workload for workers in each.concurrencies]
        for (workload, workers), pool, database, generator in product(
            loads, self._pool_settings(), *limits
        ):
            yield Scenario(
                workload=workload,
                pool=pool,
                database_limit=database.cpu_limit(),
                generator_limit=generator.cpu_limit(),
                limits_vary=vary,
                concurrency=workers,
            )

    def _pool_settings(self) -> list[PoolSetting]:
        pool = self.pool
        return [
            PoolSetting(
                size=size,
                reset=reset,
                selection=selection,
                statement_cache=cache,
                acquire_timeout_s=pool.acquire_timeout_s,
                query_timeout_s=pool.query_timeout_s,
            )
            for size, reset, selection, cache in product(
                pool.size, pool.reset, pool.selection, pool.statement_cache
            )
        ]

    def find_workload(self, name: str) -> Workload:
        """The workload of that name."""
        return {workload.name: workload for workload in self.workload}[name]

    @property
    def digest(self) -> str:
        """SHA-256 of everything the file says, in a canonical form.

        Keys that came later count only where they are used: the digest of a file that an older
        version measured stays what it was.
        """
        said = self.model_dump(mode="json")
        for table, key in (
            (said, "variant"),
            (said, "aa"),
            (said["design"], "only"),
            (said["analysis"], "baseline_variant"),
        ):
            if not table[key]:
                del table[key]
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def without_limits(experiment: Experiment) -> Experiment:
    """The same experiment with no CPU limit asked for, for a machine where none is wanted."""
    unlimited = {"limits": (Limits(),)}
    return experiment.model_copy(
        update={
            "database": experiment.database.model_copy(update=unlimited),
            "generator": experiment.generator.model_copy(update=unlimited),
        }
    )
