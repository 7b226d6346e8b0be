"""Every way to choose a connection, against a real server: order, failures, what is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import psutil
import pytest

from poolexp.databases.server import Server, connected
from poolexp.pools import ConnectionCensus, Pool, PoolOrder, open_pool, warm
from poolexp.pools.choices import CHOICES
from poolexp.pools.handing_pool import HandingPool

SELECTIONS = ["lifo", "fifo", "round_robin", "key_hash"]
OWN = SELECTIONS[1:]
every_selection = pytest.mark.parametrize("selection", SELECTIONS)
NAME = "pool-under-test"


@asynccontextmanager
async def opened(
    server: Server, size: int, census: ConnectionCensus | None = None, **changes: Any
) -> AsyncIterator[Pool]:
    named = {"server_settings": {"application_name": NAME}}
    order = PoolOrder(connect=server.connect_arguments() | named, size=size, **changes)
    pool = await open_pool(order, census or ConnectionCensus())
    try:
        yield pool
    finally:
        async with asyncio.timeout(5):
            await pool.close()
        assert await backends(server) == 0, "none is left afterwards"


async def backends(server: Server) -> int:
    """Backends of the pool that the server still has, once those that are going have gone."""
    async with connected(server) as connection:
        for _ in range(50):
            count = await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", NAME
            )
            if not count:
                break
            await asyncio.sleep(0.02)
        return int(count)


async def count_now(server: Server) -> int:
    async with connected(server) as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1"
        return int(await connection.fetchval(sql, NAME))


async def pids_of(connection: asyncpg.Connection) -> list[int]:
    sql = "SELECT pid FROM pg_stat_activity WHERE application_name = $1"
    return [row["pid"] for row in await connection.fetch(sql, NAME)]


async def eventually(
    connection: asyncpg.Connection, is_so: Callable[[list[int]], bool]
) -> list[int]:
    """The backends of the pool, once they are as they should be."""
    async with asyncio.timeout(20):
        while not is_so(found := await pids_of(connection)):
            await asyncio.sleep(0.02)
    return found


async def give_back(pool: Pool, connection: asyncpg.Connection) -> None:
    await pool.release(connection, interrupted=False)


@pytest.mark.parametrize("selection", OWN)
async def test_who_has_waited_longest_is_next_and_nobody_overtakes(
    server: Server, selection: str
) -> None:
    served: list[int] = []

    async def ask(pool: Pool, number: int) -> None:
        connection = await pool.acquire(None, 0)
        served.append(number)
        await connection.fetch("SELECT 1")
        await give_back(pool, connection)

    async with opened(server, 1, selection=selection) as pool:
        held = await pool.acquire(None, 0)
        waiting = [asyncio.create_task(ask(pool, number)) for number in range(4)]
        await asyncio.sleep(0)
        releasing = asyncio.create_task(give_back(pool, held))
        await releasing
        # This one comes while the connection is already promised to the first who waited.
        await asyncio.gather(*waiting, ask(pool, 4))
    assert served == [0, 1, 2, 3, 4]


@every_selection
async def test_an_acquire_that_times_out_leaks_nothing(server: Server, selection: str) -> None:
    census = ConnectionCensus()
    async with opened(server, 2, census, selection=selection) as pool:
        # The keys 0 and 1 have a connection each.
        held = [await pool.acquire(None, key) for key in (0, 1)]
        with pytest.raises(TimeoutError):
            await pool.acquire(0.02, 0)
        waiting = [asyncio.ensure_future(pool.acquire(5, key)) for key in (0, 1)]
        for connection in held:
            await give_back(pool, connection)
        again = await asyncio.gather(*waiting)
        assert len({each.get_server_pid() for each in again}) == 2
        assert await count_now(server) == 2
        for connection in again:
            await give_back(pool, connection)
    assert (census.opened, census.lost) == (2, 2)


@pytest.mark.parametrize("selection", OWN)
async def test_a_place_that_comes_in_the_moment_of_giving_up_goes_to_the_next(
    server: Server, selection: str
) -> None:
    async with opened(server, 1, selection=selection, reset=False) as pool:
        held = await pool.acquire(None, 0)
        first, second = (asyncio.ensure_future(pool.acquire(None, 0)) for _ in range(2))
        await asyncio.sleep(0)
        await give_back(pool, held)  # the place is now promised to the first
        first.cancel()
        async with asyncio.timeout(5):
            connection = await second
        assert first.cancelled()
        await give_back(pool, connection)


@every_selection
async def test_a_connection_that_broke_is_replaced_and_there_are_never_more(
    server: Server, selection: str
) -> None:
    census = ConnectionCensus()
    async with opened(server, 2, census, selection=selection) as pool:
        connection = await pool.acquire(None, 0)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await connection.fetch("SELECT pg_terminate_backend(pg_backend_pid())")
        await give_back(pool, connection)
        held = [await pool.acquire(None, key) for key in (0, 1)]
        assert [await each.fetchval("SELECT 1") for each in held] == [1, 1]
        assert await count_now(server) == 2
        for each in held:
            await give_back(pool, each)
        assert (census.opened, census.lost) == (3, 1)


@every_selection
async def test_a_connection_lost_while_nobody_uses_it_is_replaced_without_being_asked_for(
    server: Server, selection: str
) -> None:
    census = ConnectionCensus()
    async with opened(server, 2, census, selection=selection) as pool:
        async with connected(server) as other:
            pids = await pids_of(other)
            await other.execute(f"SELECT pg_terminate_backend({pids[0]})")
            again = await eventually(other, lambda now: len(now) == 2 and pids[0] not in now)
        assert pids[1] in again
        assert (census.opened, census.lost) == (3, 1)
        connections = [await pool.acquire(5, key) for key in (0, 1)]
        assert {each.get_server_pid() for each in connections} == set(again)
        for each in connections:
            await give_back(pool, each)


@every_selection
async def test_replacing_goes_on_when_every_acquire_is_shorter(
    server: Server, selection: str
) -> None:
    async with opened(server, 1, selection=selection) as pool:
        connection = await pool.acquire(None, 0)
        lost = connection.get_server_pid()
        connection.terminate()
        await give_back(pool, connection)
        async with asyncio.timeout(20):
            while True:
                try:
                    connection = await pool.acquire(0.0001, 0)
                except TimeoutError:
                    await asyncio.sleep(0.01)
                else:
                    break
        assert connection.get_server_pid() != lost
        await give_back(pool, connection)


@pytest.mark.parametrize("selection", OWN)
async def test_a_place_that_cannot_be_replaced_is_the_next_request_s_to_try(
    server: Server, selection: str
) -> None:
    async def refused() -> asyncpg.Connection:
        raise ConnectionRefusedError

    connection = await asyncpg.connect(**server.connect_arguments())
    pool = HandingPool([connection], CHOICES[selection](1), refused, reset=True)
    held = await pool.acquire(None, 0)
    waiting = [asyncio.ensure_future(pool.acquire(10, 0)) for _ in range(3)]
    await asyncio.sleep(0)
    held.terminate()
    await give_back(pool, held)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in results] == [ConnectionRefusedError] * 3
    await pool.close()


@every_selection
@pytest.mark.parametrize("reset", [True, False])
async def test_warming_leaves_no_setting_behind_where_releases_do_not(
    server: Server, selection: str, reset: bool
) -> None:
    async with opened(server, 2, selection=selection, reset=reset) as pool:
        sql = "SELECT set_config('work_mem', '12345kB', FALSE)"
        assert await warm(pool, sql, ()) == 0
        connection = await pool.acquire(None, 0)
        assert (await connection.fetchval("SHOW work_mem") == "12345kB") != reset
        await give_back(pool, connection)


@every_selection
async def test_replacing_that_is_given_up_leaks_no_backend(server: Server, selection: str) -> None:
    async with opened(server, 1, selection=selection) as pool:
        connection = await pool.acquire(None, 0)
        connection.terminate()
        await give_back(pool, connection)
        given_up = 0
        for attempt in range(30):
            try:
                connection = await pool.acquire(0.0005 * (attempt % 10), 0)
            except TimeoutError:
                given_up += 1
            else:
                connection.terminate()
                await give_back(pool, connection)
        assert given_up > 0
        connection = await pool.acquire(None, 0)
        for _ in range(50):
            if await count_now(server) == 1:
                break
            await asyncio.sleep(0.02)
        assert await count_now(server) == 1
        await give_back(pool, connection)


@every_selection
async def test_a_statement_that_was_given_up_is_over_before_the_next_one(
    server: Server, selection: str
) -> None:
    async with opened(server, 1, selection=selection, reset=False) as pool:
        connection = await pool.acquire(None, 0)
        with pytest.raises(TimeoutError):
            await connection.fetch("SELECT pg_sleep(60)", timeout=0.05)
        await pool.release(connection, interrupted=True)
        again = await pool.acquire(1, 0)
        assert await again.fetchval("SELECT 7") == 7
        await give_back(pool, again)
        assert await count_now(server) == 1


@every_selection
async def test_a_release_has_more_time_than_the_acquire_before_it(
    server: Server, selection: str
) -> None:
    census = ConnectionCensus()
    async with opened(server, 1, census, selection=selection) as pool:
        connection = await pool.acquire(0.05, 0)
        backend = psutil.Process(connection.get_server_pid())
        backend.suspend()
        releasing = asyncio.ensure_future(give_back(pool, connection))
        await asyncio.sleep(0.2)
        backend.resume()
        await releasing
        again = await pool.acquire(None, 0)
        assert await again.fetchval("SELECT 7") == 7
        await give_back(pool, again)
        assert (census.opened, census.lost) == (1, 0)


@every_selection
async def test_reset_undoes_settings_and_can_be_left_out(server: Server, selection: str) -> None:
    found = {}
    for reset in (True, False):
        async with opened(server, 1, selection=selection, reset=reset) as pool:
            connection = await pool.acquire(None, 0)
            await connection.execute("SET work_mem = '12345kB'")
            await give_back(pool, connection)
            connection = await pool.acquire(None, 0)
            found[reset] = await connection.fetchval("SHOW work_mem")
            await give_back(pool, connection)
    assert found[False] == "12345kB"
    assert found[True] != "12345kB"


@every_selection
async def test_the_statement_cache_can_be_left_out(server: Server, selection: str) -> None:
    kept = {}
    for cache in (True, False):
        async with opened(server, 1, selection=selection, statement_cache=cache) as pool:
            connection = await pool.acquire(None, 0)
            for _ in range(2):
                kept[cache] = await connection.fetchval(
                    "SELECT count(*) FROM pg_prepared_statements"
                )
            await give_back(pool, connection)
    assert kept[False] == 0
    assert kept[True] > 0


@every_selection
async def test_a_long_statement_is_kept_like_any_other(server: Server, selection: str) -> None:
    long = f"SELECT count(*) FROM pg_prepared_statements /* {'long ' * 4000} */"
    async with opened(server, 1, selection=selection) as pool:
        connection = await pool.acquire(None, 0)
        assert [await connection.fetchval(long) for _ in range(2)] == [1, 1]
        await give_back(pool, connection)


async def test_when_opening_fails_nothing_is_left(server: Server) -> None:
    wrong = server.connect_arguments() | {"database": "no_such_database"}
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await open_pool(PoolOrder(connect=wrong, size=3, selection="fifo"), ConnectionCensus())
    assert await backends(server) == 0
