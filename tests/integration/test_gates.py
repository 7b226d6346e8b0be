"""Trials that are spoilt for real, from the measuring to the verdict of the gates."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

from poolexp.catalogue import parse_experiment
from poolexp.cgroups import Group
from poolexp.databases.embedded import embedded_server
from poolexp.databases.server import Server
from poolexp.landing import FORMAT, run_directory, write_json
from poolexp.measuring import Bench, measure
from poolexp.meters import Machine
from poolexp.plan import Plan, Trial, make_plan
from poolexp.records import Source, now, plan_document
from warehouse import queries
from warehouse.database import Warehouse, open_warehouse
from warehouse.load import load_run

LIMIT = {"limits": {"cpu_cores": 0.5, "period_ms": 10.0}}


def make(
    rate_per_s: float, *, measure_s: float, repetitions: int = 1, warm_up_s: float = 0.2
) -> Plan:
    experiment = {
        "name": "spoilt",
        "design": {"repetitions": repetitions, "warm_up_s": warm_up_s, "measure_s": measure_s},
        "database": LIMIT,
        "generator": LIMIT,
        "pool": {"size": [2, 4]},
        "workload": [
            {
                "name": "light",
                "sql": "SELECT :x::int",
                "parameters": {"x": {"min": 1, "max": 9}},
                "arrivals": {"kind": "uniform", "rate_per_s": rate_per_s},
            }
        ],
    }
    return make_plan(parse_experiment(experiment, source="test"), "20260101T000000Z-0000")


def bench(
    plan: Plan,
    home: Path,
    server: Server,
    groups: Mapping[str, Group],
    machine: Machine | None = None,
) -> Bench:
    directory = run_directory(home, plan.run_id)
    directory.mkdir(parents=True)
    write_json(directory / "plan.json", plan_document(plan, Source("test", "")))
    facts = {"format": FORMAT, "run_id": plan.run_id, "started_at": now()}
    write_json(directory / "run.json", facts)
    machine = machine or Machine()
    return Bench(plan.run_id, directory, plan.experiment, server, groups, {}, machine=machine)


@contextmanager
def landed(home: Path, plan: Plan) -> Iterator[Warehouse]:
    with open_warehouse(home) as warehouse:
        load_run(warehouse, run_directory(home, plan.run_id))
    with open_warehouse(home, read_only=True) as warehouse:
        yield warehouse


def gates_of(warehouse: Warehouse, plan: Plan, trial: int) -> dict[str, dict[str, Any]]:
    rows = queries.gates(warehouse, plan.run_id).iter_rows(named=True)
    return {row["gate"]: row for row in rows if row["trial"] == trial}


@contextmanager
def burner() -> Iterator[None]:
    """A process outside all our groups that burns a CPU."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


async def test_a_burner_beside_some_trials_excludes_their_blocks(
    tmp_path: Path, groups: dict[str, Group]
) -> None:
    plan = make(100.0, measure_s=0.6, repetitions=2)
    spoilt: Trial = plan.trials[2]
    async with embedded_server(group=groups["database"], max_connections=20) as server:
        ready = bench(plan, tmp_path, server, groups)
        for trial in plan.trials:
            with burner() if trial is spoilt else nullcontext():
                await measure(ready, trial, 1)
    with landed(tmp_path, plan) as warehouse:
        gate = gates_of(warehouse, plan, spoilt.number)["foreign_cpu"]
        trials = queries.trials(warehouse, plan.run_id)
    assert gate["passed"] is False
    assert gate["observed"] > 0.1
    for row in trials.iter_rows(named=True):
        if row["block"] == spoilt.block:
            assert row["excluded"]
            assert "CPU time of other processes" in row["excluded_reason"]
            assert re.search(rf"trial .*\b{spoilt.number}\b", row["excluded_reason"])


async def test_a_rate_far_beyond_one_core_lands_whole_and_limits_its_scenario(
    tmp_path: Path, groups: dict[str, Group]
) -> None:
    plan = make(20_000.0, measure_s=1.0)
    trial = plan.trials[0]
    async with embedded_server(group=groups["database"], max_connections=20) as server:
        await measure(bench(plan, tmp_path, server, groups), trial, 1)
    with landed(tmp_path, plan) as warehouse:
        gates = gates_of(warehouse, plan, trial.number)
        rows = queries.trial_summary(warehouse, plan.run_id)
        # Whatever else ran on this machine meanwhile: excluded or not, this one is limited.
        scenarios = queries.scenario_summary_all(warehouse, plan.run_id)
    own = rows.row(trial.number - 1, named=True)
    assert own["n"] == own["planned"] == 20_000
    assert gates["send_lag"]["passed"] is False
    assert gates["generator_throttled"]["passed"] is False
    assert gates["backlog"]["passed"] is False
    (summary,) = scenarios.filter(limited=True).iter_rows(named=True)
    assert summary["scenario"] == trial.scenario.slug
    assert "send lag p99" in summary["limited_reasons"]
    assert "stopped by its own limit" in summary["limited_reasons"]


async def test_stolen_time_and_a_suspend_exclude(
    tmp_path: Path, groups: dict[str, Group], server: Server
) -> None:
    """Injected: no test can take a CPU from below, or put the machine to sleep."""
    root = tmp_path / "machine"
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").touch()
    (root / "proc/self/cgroup").touch()
    readings = count()

    def boot_clock_ns() -> int:
        number = next(readings)
        (root / "proc/stat").write_text(f"cpu 0 0 0 0 0 0 0 {100 * number} 0 0\n")
        return 10**15 * number

    boot_clock_ns()
    plan = make(50.0, measure_s=0.5)
    ready = bench(plan, tmp_path / "home", server, groups, Machine(root, boot_clock_ns))
    await measure(ready, plan.trials[0], 1)
    with landed(tmp_path / "home", plan) as warehouse:
        gates = gates_of(warehouse, plan, 1)
        trials = queries.trials(warehouse, plan.run_id)
    assert gates["steal"]["passed"] is False
    assert gates["suspend"]["passed"] is False
    assert "machine below" in trials["excluded_reason"][0]
    assert "suspended" in trials["excluded_reason"][0]


async def test_without_groups_foreign_cpu_is_not_measured(tmp_path: Path, server: Server) -> None:
    plan = make(50.0, measure_s=0.5)
    await measure(bench(plan, tmp_path, server, {}), plan.trials[0], 1)
    with landed(tmp_path, plan) as warehouse:
        gates = gates_of(warehouse, plan, 1)
    for name in ("foreign_cpu", "harness_cpu", "generator_throttled"):
        assert gates[name]["passed"] is None
        assert gates[name]["message"].endswith(": not measured")
    assert gates["steal"]["passed"] is not None
    assert gates["loop_stall"]["observed"] is not None


FROZEN_S = 1.0


@pytest.mark.parametrize("size", [2, 4])
async def test_requests_planned_while_the_server_is_frozen_wait_from_their_planned_time(
    tmp_path: Path, size: int
) -> None:
    plan = make(100.0, measure_s=2.0)
    trial = next(trial for trial in plan.trials if trial.scenario.pool.size == size)

    async def freeze(pid: int) -> None:
        await asyncio.sleep(1.0)
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        for process in family:
            process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(FROZEN_S)
        finally:
            for process in family:
                process.send_signal(signal.SIGCONT)

    async with embedded_server(group=None, max_connections=20) as server:
        assert server.pid is not None
        ready = bench(plan, tmp_path, server, {})
        freezing: list[asyncio.Task[None]] = []

        async def begin() -> None:
            assert server.pid is not None
            freezing.append(asyncio.create_task(freeze(server.pid)))

        await measure(ready, trial, 1, before_origin=begin())
        await freezing[0]
    with landed(tmp_path, plan) as warehouse:
        rows = warehouse.connection.execute(
            "SELECT * FROM all_requests WHERE trial = ? ORDER BY seq", [trial.number]
        ).pl()
    assert rows.height == 220, "every planned request has its row"
    assert (rows["outcome"] == "done").all()
    slow = rows.filter(rows["end_to_end_ms"] > 100 * FROZEN_S)
    # A hundred were planned in that second; those of its last tenth waited less than that.
    assert 70 <= slow.height <= 130
    assert slow["seq"].to_list() == list(range(slow["seq"][0], slow["seq"][0] + slow.height))
    # A ramp: they all end when the server wakes, so each waited about 10 ms less than the last.
    waits_ms = slow["end_to_end_ms"].to_list()
    ends_ms = (slow["scheduled_ns"] / 1e6 + slow["end_to_end_ms"]).to_list()
    assert waits_ms[0] > 700 * FROZEN_S
    assert max(ends_ms) - min(ends_ms) < 300 * FROZEN_S
