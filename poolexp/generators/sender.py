"""Send one request, whatever the kind of load, and write down what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any

import asyncpg

from poolexp.pools import Pool
from poolexp.request_log import (
    ACQUIRE_TIMEOUT,
    DONE,
    ERROR,
    QUERY_TIMEOUT,
    RequestLog,
    packed_sqlstate,
)

FAILURES = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""What a server or a connection can do to a request; anything else is our own mistake."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends one request and writes its instants into the log.

    The clock is read next to the driver's calls and nowhere else. A request that fails is a
    result like any other: it keeps the instants it reached, and its connection goes back.
    """

    pool: Pool
    sql: str
    log: RequestLog
    origin_ns: int
    acquire_timeout_s: float | None
    query_timeout_s: float | None

    async def send(self, seq: int, arguments: Sequence[Any], key: int) -> None:
        """Acquire, ask, release; every way this can end is an outcome.

        One function on purpose: each coroutine more costs time between two instants.
        """
        log, origin_ns, interrupted = self.log, self.origin_ns, False
        log.outcome[seq] = ERROR
        log.requested_ns[seq] = monotonic_ns() - origin_ns
        try:
            connection = await self.pool.acquire(self.acquire_timeout_s, key)
        except (*FAILURES, TimeoutError, asyncio.CancelledError) as error:
            _note(log, seq, error, ACQUIRE_TIMEOUT)
            log.ended_ns[seq] = monotonic_ns() - origin_ns
            return
        log.acquired_ns[seq] = monotonic_ns() - origin_ns
        log.backend_pid[seq] = connection.get_server_pid()
        try:
            await connection.fetch(self.sql, *arguments, timeout=self.query_timeout_s)
            log.received_ns[seq] = monotonic_ns() - origin_ns
            log.outcome[seq] = DONE
        except (*FAILURES, TimeoutError, asyncio.CancelledError) as error:
            interrupted = _note(log, seq, error, QUERY_TIMEOUT)
        try:
            await self.pool.release(connection, interrupted=interrupted)
            log.released_ns[seq] = monotonic_ns() - origin_ns
        except (*FAILURES, TimeoutError, asyncio.CancelledError) as error:
            _note(log, seq, error, ERROR)
        log.ended_ns[seq] = monotonic_ns() - origin_ns


def _note(log: RequestLog, seq: int, error: BaseException, timeout: int) -> bool:
    """Write down how a request failed, as `timeout` if it was given up: whether it was."""
    given_up = isinstance(error, TimeoutError | asyncio.CancelledError)
    log.outcome[seq] = timeout if given_up else ERROR
    state = getattr(error, "sqlstate", None)
    if state is not None:
        log.sqlstate[seq] = packed_sqlstate(state)
    return given_up


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
