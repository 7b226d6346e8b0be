"""How many connections a pool opened and lost."""

from __future__ import annotations

from dataclasses import dataclass, field

import asyncpg


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
