"""What a server tells about itself: settings, plans, maintenance, room for connections."""

import asyncio
import re
import signal
from collections.abc import Callable
from contextlib import suppress

import asyncpg
import psutil
import pytest
from server_processes import small_server

from poolexp.databases.facts import free_connections, query_plan, server_facts
from poolexp.databases.maintenance import Maintenance, maintenance, maintenance_between
from poolexp.databases.server import Server, connected
from poolexp.errors import DatabaseError, StatementError


async def test_the_settings_that_matter_are_in_force_and_recorded(server: Server) -> None:
    facts = await server_facts(server)
    for name, value in {
        "plan_cache_mode": "force_generic_plan",
        "autovacuum": "off",
        "checkpoint_timeout": "1d",
        "max_connections": "110",
        "fsync": "on",
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "TimeZone": "UTC",
    }.items():
        assert facts["settings"][name] == value
    assert facts["version"] == server.version
    assert re.fullmatch(r"1[4-9]\.\d+|[2-9]\d\.\d+", server.version)
    assert (facts["socket"], facts["tls"]) == ("tcp", False)
    assert {"jit", "io_method", "huge_pages", "shared_buffers"} <= set(facts["settings"])
    assert "port" not in facts["settings"], "what names a place differs from run to run"


async def test_free_connections_leave_the_reserved_ones_out(server: Server) -> None:
    free = await free_connections(server)
    assert free == 110 - 3
    async with connected(server):
        assert await free_connections(server) == free - 1


async def test_maintenance_is_seen_when_it_happens_and_only_then() -> None:
    async with small_server() as server:
        before = await maintenance(server)
        async with connected(server) as connection:
            await connection.execute("CREATE TABLE t AS SELECT 1 AS a")
            await connection.fetch("SELECT * FROM t")
        assert await maintenance(server) == before
        async with connected(server) as connection:
            await connection.execute("VACUUM ANALYZE t")
            await connection.execute("CHECKPOINT")
        after = await maintenance(server)
    assert after.checkpoints_requested == before.checkpoints_requested + 1
    assert after.vacuums == before.vacuums + 1
    assert after.analyzes == before.analyzes + 1
    seen = maintenance_between(before, after)
    assert (seen.changed, seen.recovered) == (True, False)


@pytest.mark.parametrize(
    ("work", "is_under_way"),
    [
        ("SELECT pg_backup_start('spread over hours')", lambda now: now.checkpoints_running),
        ("VACUUM t", lambda now: now.vacuums_running),
    ],
    ids=["checkpoint", "vacuum"],
)
async def test_maintenance_that_lasts_from_before_until_after_is_seen(
    work: str, is_under_way: Callable[[Maintenance], int]
) -> None:
    async with small_server() as server:
        other = await asyncpg.connect(**server.connect_arguments())
        await other.execute(
            "CREATE TABLE t AS SELECT g, repeat('x', 200) AS x FROM generate_series(1, 20000) AS g;"
            "SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1"
        )
        lasting = asyncio.ensure_future(other.execute(work))
        async with asyncio.timeout(20):
            while not is_under_way(before := await maintenance(server)):
                await asyncio.sleep(0.02)
        seen = maintenance_between(before, await maintenance(server))
        assert not lasting.done()
        other.terminate()
        await asyncio.gather(lasting, return_exceptions=True)
    assert (seen.changed, seen.recovered) == (True, False)


async def test_recovery_after_a_crash_is_told_apart_from_maintenance() -> None:
    async with small_server() as server:
        before = await maintenance(server)
        victim = await asyncpg.connect(**server.connect_arguments())
        psutil.Process(victim.get_server_pid()).send_signal(signal.SIGKILL)
        async with asyncio.timeout(20):
            while not victim.is_closed():
                await asyncio.sleep(0.02)
            after = before
            while after == before:
                with suppress(DatabaseError):
                    after = await maintenance(server)
                await asyncio.sleep(0.02)
    seen = maintenance_between(before, after)
    assert (seen.changed, seen.recovered) == (False, True)


async def test_the_generic_plan_of_a_statement_is_told(server: Server) -> None:
    assert await query_plan(server, "SELECT balance FROM pool_lab WHERE id = $1") == [
        "Index Scan using pool_lab_pkey on pool_lab",
        "  Index Cond: (id = $1)",
    ]
    assert await query_plan(server, "SELECT 1") == ["Result"]
    assert await query_plan(server, "CHECKPOINT") == [], "a statement without a plan"
    with pytest.raises(StatementError, match='column "nonsense" does not exist'):
        await query_plan(server, "SELECT nonsense FROM pool_lab")


async def test_a_server_that_is_gone_is_reported_with_its_place() -> None:
    async with small_server() as server:
        pass
    with pytest.raises(DatabaseError, match=f"127.0.0.1:{server.port}") as refused:
        await maintenance(server)
    assert server.password.reveal() not in str(refused.value)
