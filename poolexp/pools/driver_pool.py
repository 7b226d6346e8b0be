"""asyncpg's own pool: the connection that came back last is handed out first.

No connection is ever closed for being idle or recycled for having served many queries, so that
what is measured is the pool that was asked for, from the first request to the last. Under
contention it is not fair: a worker that comes straight back may overtake one that was woken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import asyncpg

from poolexp.pools.census import ConnectionCensus
from poolexp.pools.interface import RELEASING_TIMEOUT_S, PoolOrder, Use, all_of

_NO_RECYCLING = 10**9


async def _keep_as_is(connection: object) -> None:
    """Reset nothing on release."""


class DriverPool:
    """asyncpg's pool behind the interface of all pools."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    @classmethod
    async def open(cls, order: PoolOrder, census: ConnectionCensus) -> DriverPool:
        """Open all connections."""
        keep = {} if order.reset else {"reset": _keep_as_is}
        pool = asyncpg.create_pool(
            **order.connect_arguments,
            min_size=order.size,
            max_size=order.size,
            max_inactive_connection_lifetime=0,
            max_queries=_NO_RECYCLING,
            init=census.on_open,
            **keep,
        )
        await pool
        return cls(pool)

    def acquire(self, timeout_s: float | None, key: int) -> Awaitable[asyncpg.Connection]:
        """Wait for a connection."""
        acquiring: Awaitable[asyncpg.Connection] = self._pool.acquire(timeout=timeout_s)
        return acquiring

    def release(self, connection: asyncpg.Connection, *, interrupted: bool) -> Awaitable[None]:
        """Take a connection back."""
        # Without a time of its own a release would have what `acquire` was given.
        releasing: Awaitable[None] = self._pool.release(connection, timeout=RELEASING_TIMEOUT_S)
        return releasing

    async def use_each(self, use: Use) -> None:
        """Do something with every connection; all are held, or the same few would come again."""
        held = [await self._pool.acquire() for _ in range(self._pool.get_max_size())]
        try:
            await all_of(use(connection) for connection in held)
        finally:
            await asyncio.gather(*(self._pool.release(connection) for connection in held))

    async def close(self) -> None:
        """Close every connection in good order."""
        await self._pool.close()

    def terminate(self) -> None:
        """Close every connection at once."""
        self._pool.terminate()
