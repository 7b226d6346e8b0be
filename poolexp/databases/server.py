"""A server as its users see it, whoever started it: how to connect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg

from poolexp.errors import DatabaseError

_CONNECT_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A text that shows itself only when asked: logs and tracebacks get stars."""

    _text: str

    def reveal(self) -> str:
        """Give the text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret('***')"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class Server:
    """A server that accepts connections; `pid` is its postmaster's where that is a local process.

    `version` is the server's own text, for instance "18.6".
    """

    host: str
    port: int
    user: str
    password: Secret
    database: str
    version: str
    pid: int | None

    def connect_arguments(self) -> dict[str, Any]:
        """Give the keyword arguments for `asyncpg.connect` and `asyncpg.create_pool`."""
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password.reveal(),
            "database": self.database,
            # Said outright, so that no variable of the environment (PGSSLMODE and
            # PGTARGETSESSIONATTRS) changes them.
            "ssl": False,
            "target_session_attrs": "any",
        }


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[asyncpg.Connection]:
    """Hold one connection for a few questions of our own, outside anything that is measured.

    Raises DatabaseError when the server cannot be reached, or refuses one of the questions.
    """
    try:
        connection = await asyncpg.connect(**server.connect_arguments(), timeout=_CONNECT_WITHIN_S)
        try:
            yield connection
        finally:
            await connection.close(timeout=_CONNECT_WITHIN_S)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        # A timeout has an empty text.
        reason = str(error) or type(error).__name__
        raise DatabaseError(
            f"PostgreSQL {server.version} at {server.host}:{server.port} did not do what was "
            f"asked: {reason}",
            "Look whether the server still runs, and into its log.",
        ) from error
