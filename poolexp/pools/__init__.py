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


async def warm(pool: Pool, sql: str, arguments: tuple[Any, ...]) -> None:
    """Run the statement once on every connection: parse it, plan it, fault its pages in."""

    async def run(connection: asyncpg.Connection) -> None:
        await connection.fetch(sql, *arguments)

    async with asyncio.timeout(OPENING_TIMEOUT_S):
        await pool.use_each(run)
