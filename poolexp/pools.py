"""The pool under test: asyncpg's own, held at a fixed size.

No connection is ever closed for being idle or recycled for having served many queries, so that
what is measured is the pool that was asked for, from the first request to the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import asyncpg

OPENING_TIMEOUT_S = 120.0
"""Opening has a budget of its own: a hundred connections at a tenth of a core take a while."""

_NO_RECYCLING = 10**9


@dataclass(slots=True)
class ConnectionCensus:
    """How many connections the pool opened, and how many it lost before it was closed."""

    opened: int = 0
    lost: int = 0
    closing: bool = field(default=False, repr=False)

    async def on_open(self, connection: asyncpg.Connection) -> None:
        """Count a connection that has just been opened."""
        self.opened += 1
        connection.add_termination_listener(self._on_end)

    def _on_end(self, connection: object) -> None:
        if not self.closing:
            self.lost += 1


async def _keep_as_is(connection: object) -> None:
    """Reset nothing on release."""


async def open_pool(
    connect_arguments: Mapping[str, Any], *, size: int, reset: bool, census: ConnectionCensus
) -> asyncpg.Pool:
    """Open all `size` connections.

    Raises:
        OSError, asyncpg.PostgresError: the server refuses.
        TimeoutError: opening took longer than its budget.

    """
    keep = {} if reset else {"reset": _keep_as_is}
    pool = asyncpg.create_pool(
        **connect_arguments,
        min_size=size,
        max_size=size,
        max_inactive_connection_lifetime=0,
        max_queries=_NO_RECYCLING,
        init=census.on_open,
        **keep,
    )
    async with asyncio.timeout(OPENING_TIMEOUT_S):
        await pool
    return pool


async def warm(pool: asyncpg.Pool, sql: str, arguments: tuple[Any, ...]) -> None:
    """Run the statement once on every connection: parse it, plan it, fault its pages in.

    All connections are held at the same time, for the pool would hand out the same few again.
    """
    held = [await pool.acquire() for _ in range(pool.get_max_size())]
    try:
        async with asyncio.timeout(OPENING_TIMEOUT_S):
            await asyncio.gather(*(connection.fetch(sql, *arguments) for connection in held))
    finally:
        await asyncio.gather(*(pool.release(connection) for connection in held))
