"""Calibration against a real server: the cost that was asked for is the cost that is found."""

import json
import os
import stat
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from poolexp.backend_cpu import cpu_clock
from poolexp.calibration import (
    Calibration,
    CalibrationRequest,
    calibrate,
    calibrate_workload,
    request_for,
)
from poolexp.catalogue import load_experiment
from poolexp.databases.server import Server, connected
from poolexp.errors import DatabaseError, HomeError
from poolexp.host import host_key

ROUGH = 0.25
"""Near enough where the cost itself is not what a test is about: one round of measuring."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "calibration.json"


@pytest.fixture
def request_heavy() -> CalibrationRequest:
    return request_for(load_experiment("pool-lab").find_workload("heavy-burst"))


async def cost_ms(server: Server, request: CalibrationRequest, found: Calibration) -> float:
    """Measure again, without any of the code under test but the clock."""
    costs = []
    async with connected(server) as connection:
        statement = await connection.prepare(request.sql)
        clock = cpu_clock(connection.get_server_pid())
        for draw in range(60):
            arguments = request.arguments(found.value, found.overflow_value or 1, 10_000 + draw)
            before_ns = clock.read_ns()
            for _ in range(3):
                await statement.fetch(*arguments)
            costs.append((clock.read_ns() - before_ns) / 3 / 1e6)
    return statistics.median(costs)


async def test_the_heavy_statement_costs_what_was_asked_for(
    server: Server, store: Path, request_heavy: CalibrationRequest
) -> None:
    found = await calibrate(server, request_heavy, store=store)
    assert found.measured_cpu_ms == pytest.approx(6.2, rel=0.1)
    assert await cost_ms(server, request_heavy, found) == pytest.approx(6.2, rel=0.2)
    assert 1 <= found.value <= 20_000
    assert found.found == {"span": found.value, "repeat": found.overflow_value}
    assert (found.server_version, found.host_key) == (server.version, host_key())


async def test_it_is_measured_once_and_then_frozen(server: Server, store: Path) -> None:
    experiment = load_experiment("pool-lab")
    uniform, burst = (experiment.find_workload(f"heavy-{kind}") for kind in ("uniform", "burst"))
    first = await calibrate_workload(server, uniform, store=store)
    frozen = store.read_bytes()
    assert await calibrate_workload(server, burst, store=store) == first, "the same statement"
    assert store.read_bytes() == frozen
    assert stat.S_IMODE(store.stat().st_mode) == 0o600


async def test_another_target_or_statement_is_another_calibration(
    server: Server, store: Path, request_heavy: CalibrationRequest
) -> None:
    small = replace(request_heavy, target_cpu_ms=0.5, tolerance=ROUGH)
    first = await calibrate(server, small, store=store)
    second = await calibrate(server, replace(small, target_cpu_ms=1), store=store)
    third = await calibrate(server, replace(small, sql=small.sql + " AND TRUE"), store=store)
    assert first.value < second.value
    assert third.statement != first.statement
    assert len(json.loads(store.read_text())["calibrations"]) == 3
    assert await calibrate(server, small, store=store) == first


async def test_past_the_rows_of_the_table_the_work_is_repeated(
    server: Server, store: Path, request_heavy: CalibrationRequest
) -> None:
    request = replace(request_heavy, upper=2_000)
    found = await calibrate(server, request, store=store)
    assert found.value <= 2_000
    assert found.overflow_value is not None
    assert found.overflow_value > 1
    assert await cost_ms(server, request, found) == pytest.approx(6.2, rel=0.2)


@pytest.mark.parametrize(("target_cpu_ms", "fact"), [(6.2, "100 costs"), (0.001, "already")])
async def test_a_target_out_of_reach_is_an_error_and_nothing_is_stored(
    server: Server,
    store: Path,
    request_heavy: CalibrationRequest,
    target_cpu_ms: float,
    fact: str,
) -> None:
    request = replace(request_heavy, target_cpu_ms=target_cpu_ms, upper=100, overflow=None)
    with pytest.raises(DatabaseError, match=fact) as refused:
        await calibrate(server, request, store=store)
    assert f"{target_cpu_ms:g} ms" in refused.value.message
    assert not store.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": 99, "calibrations": {}}',
        '{"format": 1}',
        '{"format": 1, "calibrations": {"x": {"value": "many"}}}',
    ],
)
async def test_a_damaged_store_is_named_and_kept(
    server: Server, store: Path, request_heavy: CalibrationRequest, text: str
) -> None:
    store.write_text(text)
    with pytest.raises(HomeError, match=str(store)):
        await calibrate(server, request_heavy, store=store)
    assert store.read_text() == text


async def test_a_store_that_cannot_be_written_is_an_error_of_the_home(
    server: Server, tmp_path: Path, request_heavy: CalibrationRequest
) -> None:
    small = replace(request_heavy, target_cpu_ms=0.5, tolerance=ROUGH)
    with pytest.raises(HomeError, match="cannot be stored"):
        await calibrate(server, small, store=tmp_path / "missing" / "calibration.json")


async def test_the_coarse_clock_agrees_with_the_fine_one(server: Server, tmp_path: Path) -> None:
    """Where the kernel keeps no scheduler statistics, ticks do it, over longer batches."""
    async with connected(server) as connection:
        pid = connection.get_server_pid()
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").symlink_to(f"/proc/{pid}/stat")
        fine, coarse = cpu_clock(pid), cpu_clock(pid, proc=tmp_path)
        assert (fine.grain_ns, coarse.grain_ns) == (1, 10**9 // os.sysconf("SC_CLK_TCK"))
        before = fine.read_ns(), coarse.read_ns()
        await connection.fetchval("SELECT max(md5(i::text)) FROM generate_series(1, 500000) AS i")
        after = fine.read_ns(), coarse.read_ns()
    used_ns = after[0] - before[0]
    assert used_ns > 0
    assert after[1] - before[1] == pytest.approx(used_ns, rel=0.1, abs=3 * coarse.grain_ns)


async def test_a_server_on_another_machine_cannot_be_calibrated(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="does not run on this machine"):
        cpu_clock(1, proc=tmp_path)
