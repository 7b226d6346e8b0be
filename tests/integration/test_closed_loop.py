"""Closed loops, several generator processes, and a server that stands still: whole trials."""

from __future__ import annotations

import asyncio
import json
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from poolexp.catalogue import parse_experiment
from poolexp.databases.embedded import embedded_server
from poolexp.databases.server import Server
from poolexp.landing import write_json
from poolexp.measuring import Bench, measure
from poolexp.plan import make_plan, schedule_for
from poolexp.records import Source, plan_document
from poolexp.workload import draw_arguments
from reports.run_report import write_run_report
from warehouse.database import open_warehouse
from warehouse.load import load_run
from warehouse.queries import run_sql, scenario_summary, trial_summary
from warehouse.validate import validate_run

Columns = dict[str, Any]


def experiment(load: dict[str, Any], *, sql: str = "SELECT :x::int", **tables: Any) -> Any:
    document = {
        "name": "loads",
        "design": {"repetitions": 1, "warm_up_s": 0.3, "measure_s": 1.0},
        "pool": {"size": 4, "selection": "fifo"},
        "workload": [
            {"name": "only", "sql": sql, "parameters": {"x": {"min": 1, "max": 9}}, **load}
        ],
    }
    return parse_experiment(document | tables, source="test")


async def measured(
    made: Any, server: Server, home: Path, **options: Any
) -> tuple[Columns, dict[str, Any]]:
    """Measure the one trial of an experiment: the columns of its rows, and its manifest."""
    plan = make_plan(made, "run-1")
    bench = Bench(plan.run_id, home, plan.experiment, server, {}, {})
    directory = await measure(bench, plan.trials[0], 1, **options)
    table = pq.read_table(directory / "requests.parquet")
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    return columns, json.loads((directory / "trial.json").read_text())


def phases_sum(rows: Columns) -> bool:
    instants = ("scheduled_ns", "requested_ns", "acquired_ns", "received_ns", "released_ns")
    steps = [rows[b] - rows[a] for a, b in pairwise(instants)]
    whole = rows["released_ns"] - rows["scheduled_ns"]
    return bool((sum(steps) == whole).all() and (np.array(steps) >= 0).all())


def in_flight(rows: Columns, opens_ns: int, closes_ns: int) -> float:
    """Mean number of requests in flight within the window."""
    overlap = np.minimum(rows["ended_ns"], closes_ns) - np.maximum(rows["scheduled_ns"], opens_ns)
    return float(overlap.clip(0).sum() / (closes_ns - opens_ns))


@pytest.mark.parametrize("think_ms", [0, 30])
async def test_little_s_law_holds_and_phases_sum(
    server: Server, tmp_path: Path, think_ms: int
) -> None:
    workers = 8
    load = {"closed_loop": {"concurrency": workers, "think_ms": think_ms}}
    design = {"repetitions": 1, "warm_up_s": 0.3, "measure_s": 3.0}
    made = experiment(load, sql="SELECT pg_sleep(0.01), :x::int", design=design)
    # A machine that stalls at an edge of the window moves the requests there out of it or into it.
    for attempt in range(3):
        rows, manifest = await measured(made, server, tmp_path / str(attempt))
        if (rows["ended_ns"] - rows["scheduled_ns"]).max() < 50_000_000:
            break
    assert set(rows["outcome"]) == {"done"}
    assert phases_sum(rows)
    opens_ns, closes_ns = manifest["warm_up_ns"], manifest["end_ns"]
    window = ~rows["warm_up"].astype(bool)
    per_ns = window.sum() / (closes_ns - opens_ns)
    response_ns = (rows["ended_ns"] - rows["scheduled_ns"])[window].mean()
    flying = in_flight(rows, opens_ns, closes_ns)
    assert flying == pytest.approx(per_ns * response_ns, rel=0.02)
    # With their thinking all workers are accounted for.
    thinking = per_ns * think_ms * 1e6
    assert flying + thinking == pytest.approx(workers, rel=0.05 if think_ms else 0.02)


async def test_rows_are_as_many_as_the_loop_counted_and_in_order(
    server: Server, tmp_path: Path
) -> None:
    rows, manifest = await measured(
        experiment({"closed_loop": {"concurrency": 6}}), server, tmp_path
    )
    assert len(rows["seq"]) == manifest["counted_requests"] > 100
    assert (~rows["warm_up"].astype(bool)).sum() == manifest["counted_measured"]
    assert (manifest["planned_requests"], manifest["schedule_hash"]) == (None, None)
    assert manifest["stopped_by"] == "time"
    assert (np.diff(rows["scheduled_ns"]) >= 0).all()
    assert (rows["scheduled_ns"] < manifest["end_ns"]).all()
    assert len(set(rows["backend_pid"])) <= 4


async def test_a_loop_stops_after_its_operations_and_the_window_closes_there(
    server: Server, tmp_path: Path
) -> None:
    load = {"closed_loop": {"concurrency": 3, "operations": 50}}
    design = {"repetitions": 1, "warm_up_s": 0.1, "measure_s": 60.0}
    rows, manifest = await measured(experiment(load, design=design), server, tmp_path)
    assert manifest["stopped_by"] == "operations"
    assert (~rows["warm_up"].astype(bool)).sum() == manifest["counted_measured"] == 50
    assert rows["scheduled_ns"].max() < manifest["end_ns"] < 60e9


async def test_a_loop_without_room_stops_and_says_so(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("poolexp.orders.MOST_PER_S", 100)
    rows, manifest = await measured(
        experiment({"closed_loop": {"concurrency": 2}}), server, tmp_path
    )
    assert manifest["stopped_by"] == "full"
    assert len(rows["seq"]) == manifest["counted_requests"] == 132
    assert rows["scheduled_ns"].max() < manifest["end_ns"] < 1.3e9


async def test_processor_time_is_burnt_between_requests(server: Server, tmp_path: Path) -> None:
    load = {"closed_loop": {"concurrency": 1, "think_ms": 20, "think": "cpu"}}
    rows, _ = await measured(experiment(load), server, tmp_path)
    pauses_ns = rows["scheduled_ns"][1:] - rows["ended_ns"][:-1]
    assert (pauses_ns >= 20_000_000).all()


async def test_no_thought_is_shorter_than_was_asked_for(server: Server, tmp_path: Path) -> None:
    load = {"closed_loop": {"concurrency": 1, "think_ms": 0.4}}
    rows, manifest = await measured(experiment(load), server, tmp_path)
    pauses_ns = rows["scheduled_ns"][1:] - rows["ended_ns"][:-1]
    assert (pauses_ns >= 400_000).all()
    assert manifest["stopped_by"] == "time"


async def test_whoever_only_thinks_when_the_window_ends_is_not_waited_for(
    server: Server, tmp_path: Path
) -> None:
    load = {"closed_loop": {"concurrency": 4, "think_ms": 3_600_000}}
    design = {"repetitions": 1, "warm_up_s": 0, "measure_s": 0.5, "drain_s": 3600}
    async with asyncio.timeout(60):
        rows, manifest = await measured(experiment(load, design=design), server, tmp_path)
    assert list(rows["outcome"]) == ["done"] * 4
    assert (manifest["stopped_by"], manifest["end_ns"]) == ("time", 500_000_000)
    assert manifest["timings_s"]["measuring"] >= 0.5, "the window is not cut short"


async def test_failures_of_a_closed_loop_are_rows_and_it_goes_on(
    server: Server, tmp_path: Path
) -> None:
    load = {"closed_loop": {"concurrency": 4}}
    pool = {"size": 1, "selection": "fifo", "acquire_timeout_s": 0.05, "query_timeout_s": 0.15}
    sql = "SELECT pg_sleep(CASE WHEN :x::int < 5 THEN 9 ELSE 0 END)"
    made = experiment(load, sql=sql, pool=pool)
    # The first arguments, with which the connection is warmed, must take no time.
    first = next(seed for seed in range(99) if _first_draw(made, seed) >= 5)
    made = made.model_copy(update={"design": made.design.model_copy(update={"seed": first})})
    rows, manifest = await measured(made, server, tmp_path)
    assert {"done", "query_timeout", "acquire_timeout"} == set(rows["outcome"])
    assert manifest["generator"]["connections_opened"] == 1
    assert (rows["ended_ns"] > 0).all()


def _first_draw(made: Any, seed: int) -> int:
    design = made.design.model_copy(update={"seed": seed})
    trial = make_plan(made.model_copy(update={"design": design}), "run").trials[0]
    return int(next(draw_arguments(made.workload[0], {}, trial.seed))[0])


async def test_several_processes_share_the_schedule_and_the_pool(
    server: Server, tmp_path: Path
) -> None:
    load = {"arrivals": {"kind": "burst", "size": 4, "rate_per_s": 200.0}}
    made = experiment(load, generator={"processes": 2}, sql="SELECT 1 / (:x::int - 3)")
    rows, manifest = await measured(made, server, tmp_path)
    trial = make_plan(made, "run").trials[0]
    planned = schedule_for(made, "only", trial.seed)
    assert planned is not None
    assert list(rows["scheduled_ns"]) == list(planned.planned_ns)
    assert list(rows["burst"]) == list(planned.burst)
    assert (rows["requested_ns"] >= rows["scheduled_ns"]).all()
    assert manifest["generator"]["processes"] == 2
    assert manifest["generator"]["connections_opened"] == 4
    by_process = [set(rows["backend_pid"][rows["seq"] % 2 == part]) for part in (0, 1)]
    assert not by_process[0] & by_process[1], "each has connections of its own"
    assert all(len(pids) == 2 for pids in by_process), "half of the pool"
    assert set(rows["burst_position"]) == {0, 1, 2, 3}, "and half of every burst"
    failed = {
        x
        for x, outcome in zip(rows["sqlstate"], rows["outcome"], strict=True)
        if outcome == "error"
    }
    assert failed == {"22012"}


async def test_several_processes_share_the_workers_of_a_closed_loop(
    server: Server, tmp_path: Path
) -> None:
    load = {"closed_loop": {"concurrency": 4}}
    made = experiment(load, generator={"processes": 2})
    rows, manifest = await measured(made, server, tmp_path)
    assert len(rows["seq"]) == manifest["counted_requests"]
    assert list(rows["seq"]) == list(range(len(rows["seq"])))
    assert (np.diff(rows["scheduled_ns"]) >= 0).all()
    assert len(set(rows["backend_pid"])) == 4


async def test_a_key_s_requests_are_all_served_by_one_connection(
    server: Server, tmp_path: Path
) -> None:
    pool = {"size": 4, "selection": "key_hash", "key": "x"}
    load = {"arrivals": {"kind": "poisson", "rate_per_s": 200.0}}
    # The statement fails for one key alone, so its rows can be told apart.
    made = experiment(load, pool=pool, sql="SELECT 1 / (:x::int - 3)")
    rows, _ = await measured(made, server, tmp_path)
    assert len(set(rows["backend_pid"])) > 1
    assert len(set(rows["backend_pid"][rows["outcome"] == "error"])) == 1


async def test_a_server_that_stands_still_for_a_second_makes_a_ramp_of_slow_requests(
    tmp_path: Path,
) -> None:
    load = {"arrivals": {"kind": "uniform", "rate_per_s": 100.0}}
    design = {"repetitions": 1, "warm_up_s": 0.2, "measure_s": 3.0}
    made = experiment(load, design=design)
    freezing: list[asyncio.Task[None]] = []

    async with embedded_server(group=None, max_connections=20) as server:

        async def begin() -> None:
            freezing.append(asyncio.create_task(freeze(server, after_s=1.0, for_s=1.0)))

        rows, manifest = await measured(made, server, tmp_path, before_origin=begin())
        await freezing[0]
    assert len(rows["seq"]) == manifest["planned_requests"] == 320
    assert (~rows["warm_up"].astype(bool)).sum() == manifest["planned_measured"] == 300
    assert set(rows["outcome"]) == {"done"}
    assert phases_sum(rows)
    latency_ms = (rows["released_ns"] - rows["scheduled_ns"]) / 1e6
    slow = latency_ms > 50
    assert 80 <= slow.sum() <= 130, "one every 10 ms, for as long as it stood still"
    assert 900 <= latency_ms.max() <= 1500
    # They were planned 10 ms apart and answered together: each waited about 10 ms less than the
    # one before. A machine that has other work may add a slow one elsewhere.
    answered_ms = rows["released_ns"][slow] / 1e6
    together = np.abs(answered_ms - np.median(answered_ms)) < 100
    assert together.mean() > 0.9
    assert latency_ms[slow][together].min() < 200


async def freeze(server: Server, *, after_s: float, for_s: float) -> None:
    """Stop every process of a server for a while."""
    await asyncio.sleep(after_s)
    assert server.pid is not None
    postmaster = psutil.Process(server.pid)
    everyone = [*postmaster.children(recursive=True), postmaster]
    for process in everyone:
        process.send_signal(signal.SIGSTOP)
    try:
        await asyncio.sleep(for_s)
    finally:
        for process in everyone:
            process.send_signal(signal.SIGCONT)


async def test_closed_and_open_loops_in_one_run_are_landed_judged_and_summed_up(
    server: Server, tmp_path: Path
) -> None:
    light = {"sql": "SELECT :x::int", "parameters": {"x": {"min": 1, "max": 9}}}
    made = parse_experiment(
        {
            "name": "both",
            "design": {"repetitions": 2, "warm_up_s": 0.1, "measure_s": 0.45},
            "pool": {"size": 2},
            "workload": [
                {"name": "closed", **light, "closed_loop": {"concurrency": 4}},
                {"name": "open", **light, "arrivals": {"kind": "poisson", "rate_per_s": 100.0}},
            ],
        },
        source="test",
    )
    plan = make_plan(made, "run-1")
    run = tmp_path / "runs" / "run-1"
    run.mkdir(parents=True)
    write_json(run / "plan.json", plan_document(plan, Source("test", "")))
    bench = Bench("run-1", run, made, server, {}, {})
    for trial in plan.trials:
        await measure(bench, trial, 1)
    with open_warehouse(tmp_path) as warehouse:
        load_run(warehouse, run)
        report = validate_run(warehouse, "run-1")
        assert report.success, [result.message for result in report.failures]
        assert scenario_summary(warehouse, "run-1")["concurrency"].to_list() == [4, None]
        closed = trial_summary(warehouse, "run-1").filter(workload="closed")
        assert (closed["rate_per_s"] > 100).all()
        assert (closed["response_mean_ms"] < closed["end_to_end_mean_ms"]).all()
        assert (closed["pool_busy_share"] > 0.5).all(), "four workers on two connections"
        one = closed["trial"][0]
        warehouse.connection.execute(
            "DELETE FROM raw.request WHERE NOT warm_up AND trial = ? AND seq = "
            "(SELECT max(seq) FROM raw.request WHERE trial = ?)",
            [one, one],
        )
        spoilt = validate_run(warehouse, "run-1")
    assert [(each.expectation, each.trial) for each in spoilt.failures] == [
        ("requests_per_trial", one)
    ]
    assert "counted requests in the window" in spoilt.failures[0].message
    with open_warehouse(tmp_path, read_only=True) as warehouse:
        slices = run_sql(warehouse, "FROM pool_use")
        page = write_run_report(warehouse, "run-1", tmp_path / "reports").read_text()
    assert "closed loop of 4 workers" in page
    assert "A request of a closed loop is scheduled when its worker is ready" in page
    assert (slices["slice"].max(), slices["to_ns"].max()) == (4, 550_000_000)
