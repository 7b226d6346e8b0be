"""What a generator needs to know to connect to a server, whoever started it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
            # Said outright, so that no variable of the environment (PGSSLMODE) changes it.
            "ssl": False,
        }
