"""What the benchmarks share: one server, both generators in the same group, and a table.

Absolute values drift by tens of percent on machines like ours, so nothing is compared across
runs: the two sides take turns, and what counts is the ratio of each pair.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from rich.console import Console
from rich.table import Table

from poolexp.catalogue import parse_experiment
from poolexp.cgroups import CpuLimit, Group, control_groups
from poolexp.databases.binaries import wheel_directory
from poolexp.databases.embedded import embedded_server
from poolexp.databases.server import Server
from poolexp.datasets import load_dataset
from poolexp.landing import read_json
from poolexp.measuring import Bench, measure
from poolexp.plan import make_plan

LIGHT = "SELECT balance FROM pool_lab WHERE id = :id"
LIGHT_PARAMETERS = {"id": {"min": 1, "max": 20_000}}
LIGHT_SCRIPT = "\\set id random(1, 20000)\nSELECT balance FROM pool_lab WHERE id = :id;\n"

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial of ours: the rows of its window, and the generator's CPU time in it.

    `origin_ns` is the origin of its instants on the monotonic clock.
    """

    rows: pl.DataFrame
    generator_cpu_s: float
    window_s: float
    origin_ns: int

    @property
    def rate_per_s(self) -> float:
        """Requests that ended well per second of the window."""
        return self.rows.filter(pl.col("outcome") == "done").height / self.window_s

    def ms(self, end: str, start: str) -> Values:
        """A difference of two instants of every request that has both, in ms."""
        return ((self.rows[end] - self.rows[start]).drop_nulls() / 1e6).to_numpy()


@dataclass(frozen=True, slots=True)
class Stand:
    """A server with the data set, and the groups that both sides run in."""

    server: Server
    groups: Mapping[str, Group]
    limit: CpuLimit | None

    async def ours(
        self, workload: Mapping[str, Any], pool: Mapping[str, Any], *, measure_s: float, seed: int
    ) -> Trial:
        """Measure one trial with our generator; the first half second is warm-up."""
        limits = {} if self.limit is None else {"cpu_cores": self.limit.cores}
        document = {
            "name": "benchmark",
            "design": {"repetitions": 1, "seed": seed, "warm_up_s": 0.5, "measure_s": measure_s},
            "database": {"max_connections": 200, "limits": limits},
            "generator": {"limits": limits},
            "pool": dict(pool),
            "workload": {"name": "load", **workload},
        }
        plan = make_plan(parse_experiment(document, source="benchmark"), "benchmark")
        with tempfile.TemporaryDirectory() as place:
            bench = Bench(
                plan.run_id, Path(place), plan.experiment, self.server, self.groups, found={}
            )
            directory = await measure(bench, plan.trials[0], 1)
            rows = pl.read_parquet(directory / "requests.parquet").filter(~pl.col("warm_up"))
            counters = pl.read_parquet(directory / "counters.parquet")
            manifest = read_json(directory / "trial.json")
        used = counters.filter(pl.col("group") == "generator")["cpu_usage_ns"]
        cpu_s = float(used[-1] - used[0]) / 1e9
        return Trial(rows, cpu_s, measure_s, manifest["origin_monotonic_ns"])

    def pgbench(self, script: str, *arguments: object) -> Pgbench:
        """Run pgbench in the generator's group with a log of every transaction."""
        self.groups["generator"].set_limit(self.limit)
        self.groups["database"].set_limit(self.limit)
        connect = self.server.connect_arguments()
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "script.sql").write_text(script, encoding="utf-8")
            command = [
                *(str(wheel_directory() / "pgbench"), "-n", "-f", "script.sql"),
                *("-M", "prepared", "--log", *map(str, arguments)),
                *("-h", connect["host"], "-p", str(connect["port"])),
                *("-U", connect["user"], connect["database"]),
            ]
            told = subprocess.run(
                self.groups["generator"].command(command),
                cwd=place,
                env={**os.environ, "PGPASSWORD": connect["password"]},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            logs = [np.loadtxt(path, ndmin=2) for path in Path(place).glob("pgbench_log.*")]
        return Pgbench(told, np.concatenate(logs))


@dataclass(frozen=True, slots=True)
class Pgbench:
    """What pgbench printed and logged."""

    told: str
    log: Values

    @property
    def rate_per_s(self) -> float:
        """Transactions per second, without the time to connect."""
        if "failed transactions: 0" not in self.told:
            raise RuntimeError(f"some of pgbench's transactions failed:\n{self.told}")
        found = re.search(r"tps = ([0-9.]+)", self.told)
        assert found is not None  # noqa: S101 - pgbench always prints it
        return float(found[1])

    @property
    def schedule_lag_ms(self) -> Values:
        """Schedule lag of every transaction after the first tenth, with `--rate`."""
        lags: Values = self.log[len(self.log) // 10 :, 6] / 1000
        return lags


@asynccontextmanager
async def stand(limit: CpuLimit | None) -> AsyncIterator[Stand]:
    """Start a server and make the groups; both are gone afterwards."""
    with control_groups("benchmark", ("database", "generator", "harness")) as groups:
        async with embedded_server(group=groups["database"], max_connections=200) as server:
            await load_dataset(server, "pool_lab")
            yield Stand(server, groups, limit)


@dataclass(slots=True)
class Ratios:
    """Pairs of one comparison: ours, the peer's, and what is aimed at."""

    name: str
    goal: str
    ours: list[float] = field(default_factory=list)
    peers: list[float] = field(default_factory=list)

    def add(self, ours: float, peer: float) -> None:
        """Add one pair that was measured side by side."""
        self.ours.append(ours)
        self.peers.append(peer)

    def cells(self) -> Sequence[str]:
        """Name, medians of both sides, the median ratio with its range, the goal."""
        ratios = [ours / peer for ours, peer in zip(self.ours, self.peers, strict=True)]
        return (
            self.name,
            f"{statistics.median(self.ours):.4g}",
            f"{statistics.median(self.peers):.4g}",
            f"{statistics.median(ratios):.3f}",
            f"{min(ratios):.3f} to {max(ratios):.3f}",
            str(len(ratios)),
            self.goal,
        )


def show(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print a table that can be pasted into the README of this folder."""
    table = Table(title=title, title_justify="left")
    for heading in ("metric", "ours", "peer", "ratio", "range", "pairs", "goal"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    Console(width=130).print(table)
