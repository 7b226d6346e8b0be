"""A pool of our own that hands a released connection straight to whoever is next.

It does for a connection what asyncpg's pool does, through the driver's public functions: the same
reset on release, the same replacement of what broke in the background. There are never more
connections than places, for whoever replaces one holds its place meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg

from poolexp.pools.census import ConnectionCensus
from poolexp.pools.choices import CHOICES, Choice
from poolexp.pools.interface import RELEASING_TIMEOUT_S, PoolOrder, Use, all_of

Connect = Callable[[], Awaitable[asyncpg.Connection]]

# As long as the driver's own pool waits after a replacement that failed.
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0


class HandingPool:
    """Connections in numbered places; a choice says which place is next."""

    def __init__(
        self,
        connections: list[asyncpg.Connection],
        choice: Choice,
        connect: Connect,
        *,
        reset: bool,
    ) -> None:
        self._connections = connections
        self._places: dict[asyncpg.Connection, int] = {}
        self._choice = choice
        self._connect = connect
        self._reset = reset
        self._loop = asyncio.get_running_loop()
        self._replacing: dict[int, asyncio.Task[None]] = {}
        self._closing = False
        for place, connection in enumerate(connections):
            self._settle(place, connection)

    @classmethod
    async def open(cls, order: PoolOrder, census: ConnectionCensus) -> HandingPool:
        """Open all connections, or none."""

        async def connect() -> asyncpg.Connection:
            connection = await asyncpg.connect(**order.connect_arguments)
            await census.on_open(connection)
            return connection

        opened = await asyncio.gather(
            *(connect() for _ in range(order.size)), return_exceptions=True
        )
        connections = [each for each in opened if not isinstance(each, BaseException)]
        if len(connections) < order.size:
            for connection in connections:
                connection.terminate()
            raise next(each for each in opened if isinstance(each, BaseException))
        return cls(connections, CHOICES[order.selection](order.size), connect, reset=order.reset)

    async def acquire(self, timeout_s: float | None, key: int) -> asyncpg.Connection:
        """Wait for a connection; one that is free is had without giving way to other tasks."""
        place = self._choice.take(key)
        if place is not None:
            connection = self._connections[place]
            if not connection.is_closed():
                return connection
        if timeout_s is None:
            return await self._wait(place, key)
        async with asyncio.timeout(timeout_s):
            return await self._wait(place, key)

    async def _wait(self, place: int | None, key: int) -> asyncpg.Connection:
        if place is None:
            place = await self._turn(key)
        if self._connections[place].is_closed():
            await self._replace(place)
        return self._connections[place]

    async def _turn(self, key: int) -> int:
        waiter: asyncio.Future[int] = self._loop.create_future()
        self._choice.line(key).append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                # The place came in the same moment in which the waiting was given up.
                self._hand_over(waiter.result())
            raise

    async def _replace(self, place: int) -> None:
        """Open a connection for a place whose own is lost; the place is the caller's meanwhile."""
        try:
            connection = await self._connect()
        except BaseException:
            self._hand_over(place)
            raise
        self._settle(place, connection)

    def _settle(self, place: int, connection: asyncpg.Connection) -> None:
        self._places.pop(self._connections[place], None)
        self._connections[place] = connection
        self._places[connection] = place
        connection.add_termination_listener(self._lost)

    def _lost(self, connection: asyncpg.Connection) -> None:
        """Replace a connection that ends while nobody uses it; else its release will."""
        place = self._places.get(connection)
        if place is not None and not self._closing and self._choice.seize(place):
            self._hand_over(place)

    async def _replace_in_background(self, place: int) -> None:
        """Replace, then hand the place over; should that fail, whoever gets it tries as well."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                self._settle(place, await self._connect())
            except Exception:
                self._pass_on(place)
            else:
                del self._replacing[place]
                self._pass_on(place)
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            if not self._connections[place].is_closed() or not self._choice.seize(place):
                del self._replacing[place]
                return

    async def release(self, connection: asyncpg.Connection, *, interrupted: bool) -> None:
        """Reset a connection if that is asked for, and hand it over."""
        try:
            if self._reset or interrupted:
                await self._clean(connection)
        finally:
            self._hand_over(self._places[connection])

    async def _clean(self, connection: asyncpg.Connection) -> None:
        if connection.is_closed():
            return
        try:
            if self._reset:
                await connection.reset(timeout=RELEASING_TIMEOUT_S)
            else:
                # Wait for the end of what was given up: the next request shall not pay for it.
                await connection.execute("SELECT 1", timeout=RELEASING_TIMEOUT_S)
        except BaseException:
            connection.terminate()
            raise

    def _hand_over(self, place: int) -> None:
        """Give up a place: to the next, or first to the background where its connection is lost."""
        lost = self._connections[place].is_closed()
        if lost and place not in self._replacing and not self._closing:
            task = self._loop.create_task(self._replace_in_background(place))
            self._replacing[place] = task
        else:
            self._pass_on(place)

    def _pass_on(self, place: int) -> None:
        line = self._choice.line(place)
        while line:
            waiter = line.popleft()
            if not waiter.done():
                waiter.set_result(place)
                return
        self._choice.give(place)

    async def use_each(self, use: Use) -> None:
        """Do something with every connection; nobody else may use the pool meanwhile."""

        async def used(connection: asyncpg.Connection) -> None:
            await use(connection)
            if self._reset:
                await connection.reset(timeout=RELEASING_TIMEOUT_S)

        await all_of(used(connection) for connection in self._connections)

    async def close(self) -> None:
        """Close every connection in good order."""
        replacing = self._end_replacing()
        await asyncio.gather(*replacing, return_exceptions=True)
        await asyncio.gather(*(connection.close() for connection in self._connections))

    def terminate(self) -> None:
        """Close every connection at once."""
        self._end_replacing()
        for connection in self._connections:
            connection.terminate()

    def _end_replacing(self) -> list[asyncio.Task[None]]:
        self._closing = True
        replacing = list(self._replacing.values())
        for task in replacing:
            task.cancel()
        return replacing
