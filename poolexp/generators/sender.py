"""Send one request, whatever the kind of load, and write down what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Any

from asyncpg import PostgresError

from poolexp.generators.failures import Failures
from poolexp.pools import Pool
from poolexp.request_log import (
    ACQUIRE_TIMEOUT,
    DONE,
    ERROR,
    GIVEN_UP,
    QUERY_TIMEOUT,
    RequestLog,
    packed_sqlstate,
)

_ALL = (Exception, asyncio.CancelledError)
"""A driver may raise whatever its protocol, a codec or a socket brings: all of it is a result."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends one request and writes its instants into the log.

    The clock is read next to the driver's calls and nowhere else. A request that fails is a
    result like any other: it keeps the instants it reached, and its connection goes back.
    `origin_ns` is the origin of the planned times on the monotonic clock.
    """

    pool: Pool
    sql: str
    log: RequestLog
    origin_ns: int
    acquire_timeout_s: float | None
    query_timeout_s: float | None
    failures: Failures = field(default_factory=Failures)

    async def send(self, seq: int, arguments: Sequence[Any], key: int) -> None:
        """Acquire, ask, release; every way this can end is an outcome.

        One function on purpose: each coroutine more costs time between two instants.
        """
        log, interrupted = self.log, False
        log.requested_ns[seq] = monotonic_ns()
        try:
            connection = await self.pool.acquire(self.acquire_timeout_s, key)
        except _ALL as error:
            self._note(seq, error, ACQUIRE_TIMEOUT)
            log.ended_ns[seq] = monotonic_ns()
            return
        log.acquired_ns[seq] = monotonic_ns()
        try:
            log.backend_pid[seq] = connection.get_server_pid()
            await connection.fetch(self.sql, *arguments, timeout=self.query_timeout_s)
            log.received_ns[seq] = monotonic_ns()
            log.outcome[seq] = DONE
        except _ALL as error:
            # Only after what the server itself said is it sure that nothing more comes from it.
            interrupted = not isinstance(error, PostgresError)
            self._note(seq, error, QUERY_TIMEOUT)
        try:
            await self.pool.release(connection, interrupted=interrupted)
            log.released_ns[seq] = log.ended_ns[seq] = monotonic_ns()
        except _ALL as error:
            self._note(seq, error, ERROR)
            log.ended_ns[seq] = monotonic_ns()

    def _note(self, seq: int, error: BaseException, timeout: int) -> None:
        """Write down how a request failed: as `timeout` where its time was up."""
        if isinstance(error, asyncio.CancelledError):
            self.log.outcome[seq] = GIVEN_UP
            return
        timed_out = isinstance(error, TimeoutError) and timeout != ERROR
        self.log.outcome[seq] = timeout if timed_out else ERROR
        if not timed_out:
            self.failures.note(error)
        state = getattr(error, "sqlstate", None)
        if isinstance(state, str):
            self.log.sqlstate[seq] = packed_sqlstate(state)


async def drain(tasks: Sequence[asyncio.Task[None]], within_s: float, patience_s: float) -> None:
    """Wait for the tasks, `within_s` at most; what is left then is cancelled and waited for."""
    if not tasks:
        return
    _, pending = await asyncio.wait(tasks, timeout=within_s)
    for task in pending:
        task.cancel()
    if pending:
        await asyncio.wait(pending, timeout=patience_s)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.result()  # an error that no outcome covers is ours, and must not pass unseen
