"""What is held fixed within a trial: the workload, the pool and the limits."""

from __future__ import annotations

from dataclasses import dataclass

from poolexp.cgroups import CpuLimit


@dataclass(frozen=True, slots=True)
class PoolSetting:
    """One level of the pool's factors."""

    size: int
    reset: bool = True
    selection: str = "lifo"
    statement_cache: bool = True
    acquire_timeout_s: float | None = None
    query_timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """One cell of the experiment's matrix."""

    workload: str
    pool: PoolSetting
    database_limit: CpuLimit | None
    generator_limit: CpuLimit | None
    limits_vary: bool = False
    concurrency: int | None = None
    """Workers of a closed loop; None where requests arrive at planned times."""
    variant: str | None = None
    """The name of the experiment's variant; None where it has none."""

    @property
    def limits(self) -> dict[str, CpuLimit | None]:
        """The limit asked for, by the name of its control group."""
        return {"database": self.database_limit, "generator": self.generator_limit}

    @property
    def slug(self) -> str:
        """A name for the cell, the same in every run: `heavy-burst-pool-5`, or `...-5-newer`."""
        return self.cell if self.variant is None else f"{self.cell}-{self.variant}"

    @property
    def cell(self) -> str:
        """The slug without the variant: what the variants of a scenario share."""
        parts = [self.workload, f"pool-{self.pool.size}"]
        if self.concurrency is not None:
            parts.append(f"workers-{self.concurrency}")
        if self.pool.selection != "lifo":
            parts.append(self.pool.selection.replace("_", "-"))
        if not self.pool.reset:
            parts.append("no-reset")
        if not self.pool.statement_cache:
            parts.append("no-statement-cache")
        if self.limits_vary:
            parts += [
                _limit_part("db", self.database_limit),
                _limit_part("gen", self.generator_limit),
            ]
        return "-".join(parts)


def _limit_part(group: str, limit: CpuLimit | None) -> str:
    return (
        f"{group}-unlimited"
        if limit is None
        else f"{group}-{limit.cores:g}-per-{limit.period_ms:g}ms"
    )
