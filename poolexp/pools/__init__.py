"""The pool under test, held at a fixed size, and how it chooses a connection."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from poolexp.pools.census import ConnectionCensus
from poolexp.pools.driver_pool import DriverPool
from poolexp.pools.handing_pool import HandingPool
from poolexp.pools.interface import OPENING_TIMEOUT_S, Pool, PoolOrder

__all__ = ["OPENING_TIMEOUT_S", "ConnectionCensus", "Pool", "PoolOrder", "open_pool", "warm"]


async def open_pool(order: PoolOrder, census: ConnectionCensus) -> Pool:
    """Open all connections.

    Raises:
        OSError, asyncpg.PostgresError: the server refuses.
        TimeoutError: opening took longer than its budget.

    """
    kind = DriverPool if order.selection == "lifo" else HandingPool
    async with asyncio.timeout(OPENING_TIMEOUT_S):
        return await kind.open(order, census)


async def warm(pool: Pool, sql: str, arguments: tuple[Any, ...]) -> int:
    """Run the statement once on every connection: parse it, plan it, fault its pages in.

    Returns on how many connections it failed: these arguments may be ones that the statement
    fails with, which is a result like any other. A lost connection raises what lost it.
    """
    failed = 0

    async def run(connection: asyncpg.Connection) -> None:
        nonlocal failed
        try:
            await connection.fetch(sql, *arguments)
        except Exception:
            if connection.is_closed():
                raise
            failed += 1

    async with asyncio.timeout(OPENING_TIMEOUT_S):
        await pool.use_each(run)
    return failed
