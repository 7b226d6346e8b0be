"""What every pool under test can do, and what is asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import asyncpg

OPENING_TIMEOUT_S = 120.0
"""Opening has a budget of its own: a hundred connections at a tenth of a core take a while."""

RELEASING_TIMEOUT_S = 60.0
"""So long a connection may take to be reset before it is given up for lost."""

Use = Callable[[asyncpg.Connection], Awaitable[object]]


async def all_of(works: Iterable[Awaitable[object]]) -> None:
    """Wait for all of them, then raise what the first of them that failed raised.

    While one is still under way its connection can be neither released nor closed, and the error
    of trying to would hide the one that matters.
    """
    for result in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


@dataclass(frozen=True, slots=True)
class PoolOrder:
    """The pool that is asked for.

    Attributes:
        connect: keyword arguments for `asyncpg.connect`.
        selection: `lifo`, `fifo`, `round_robin` or `key_hash`: how a connection is chosen.
        reset: whether a released connection is reset by asyncpg's standard query.
        statement_cache: whether a connection keeps prepared statements.

    """

    connect: Mapping[str, Any]
    size: int
    selection: str = "lifo"
    reset: bool = True
    statement_cache: bool = True

    @property
    def connect_arguments(self) -> dict[str, Any]:
        """Keyword arguments for one connection, its statement cache included."""
        return {**self.connect, **(_KEEPING if self.statement_cache else _NOT_KEEPING)}


_NOT_KEEPING = {"statement_cache_size": 0}
# As the driver has it, what is longer than 15 KiB, or five minutes old, is not kept.
_KEEPING = {"max_cacheable_statement_size": 0, "max_cached_statement_lifetime": 0}


class Pool(Protocol):
    """A fixed number of connections, handed out and taken back."""

    def acquire(self, timeout_s: float | None, key: int) -> Awaitable[asyncpg.Connection]:
        """Wait for a connection, `timeout_s` at most; `key` matters to `key_hash` alone.

        Raises:
            TimeoutError: none came in time.
            OSError, asyncpg.PostgresError: a broken connection could not be replaced.

        """

    def release(self, connection: asyncpg.Connection, *, interrupted: bool) -> Awaitable[None]:
        """Take a connection back; `interrupted` says that its statement was given up.

        Raises:
            OSError, asyncpg.PostgresError, asyncpg.InterfaceError: its reset failed; the
                connection is replaced when its place is next used.

        """

    async def use_each(self, use: Use) -> None:
        """Do something once with every connection, at the same time."""

    async def close(self) -> None:
        """Close every connection in good order."""

    def terminate(self) -> None:
        """Close every connection at once."""
