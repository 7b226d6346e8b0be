"""Open loop: every request is sent at its planned time, whatever became of those before it."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any

import asyncpg

from poolexp.pacing import Pacer
from poolexp.request_log import ACQUIRE_TIMEOUT, DONE, ERROR, QUERY_TIMEOUT, RequestLog

FAILURES = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""What a server or a connection can do to a request; anything else is our own mistake."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends one request and writes its instants into the log.

    The clock is read next to the driver's calls and nowhere else. A request that fails is a
    result like any other: it keeps the instants it reached, and its connection goes back.
    """

    pool: asyncpg.Pool
    sql: str
    arguments: Sequence[Sequence[Any]]
    log: RequestLog
    origin_ns: int
    acquire_timeout_s: float | None
    query_timeout_s: float | None

    async def send(self, seq: int) -> None:
        """Acquire, ask, release; every way this can end is an outcome."""
        log, origin_ns = self.log, self.origin_ns
        log.outcome[seq] = ERROR
        log.requested_ns[seq] = monotonic_ns() - origin_ns
        try:
            connection = await self.pool.acquire(timeout=self.acquire_timeout_s)
        except (TimeoutError, asyncio.CancelledError):
            log.outcome[seq] = ACQUIRE_TIMEOUT
        except FAILURES as error:
            _note_sqlstate(log, seq, error)
        else:
            log.acquired_ns[seq] = monotonic_ns() - origin_ns
            log.backend_pid[seq] = connection.get_server_pid()
            await self._ask(seq, connection)
        log.ended_ns[seq] = monotonic_ns() - origin_ns

    async def _ask(self, seq: int, connection: asyncpg.Connection) -> None:
        log = self.log
        try:
            await connection.fetch(self.sql, *self.arguments[seq], timeout=self.query_timeout_s)
            log.received_ns[seq] = monotonic_ns() - self.origin_ns
            log.outcome[seq] = DONE
        except (TimeoutError, asyncio.CancelledError):
            log.outcome[seq] = QUERY_TIMEOUT
        except FAILURES as error:
            _note_sqlstate(log, seq, error)
        try:
            await self.pool.release(connection)
            log.released_ns[seq] = monotonic_ns() - self.origin_ns
        except (*FAILURES, TimeoutError) as error:
            log.outcome[seq] = ERROR
            _note_sqlstate(log, seq, error)


def _note_sqlstate(log: RequestLog, seq: int, error: BaseException) -> None:
    state = getattr(error, "sqlstate", None)
    if state is not None:
        log.sqlstate[seq] = str(state)


async def run(sender: Sender, planned_ns: array[int], pacer: Pacer, *, drain_s: float) -> None:
    """Send every request at its time, then wait for the last ones, `drain_s` at most."""
    loop = asyncio.get_running_loop()
    # The loop itself keeps only weak references to its tasks.
    tasks: list[asyncio.Task[None]] = []
    due_ns = -1
    for seq, at_ns in enumerate(planned_ns):
        if at_ns != due_ns:
            await pacer.until(sender.origin_ns + at_ns)
            due_ns = at_ns
        tasks.append(loop.create_task(sender.send(seq)))
    await _drain(tasks, drain_s)


async def _drain(tasks: list[asyncio.Task[None]], drain_s: float) -> None:
    _, pending = await asyncio.wait(tasks, timeout=drain_s)
    for task in pending:
        task.cancel()
    if pending:
        await asyncio.wait(pending, timeout=drain_s)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.result()  # an error that no outcome covers is ours, and must not pass unseen
