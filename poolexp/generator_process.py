"""The parent's side of a trial's process: start it, speak with it, end it."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from poolexp.cgroups import Group
from poolexp.errors import TrialError
from poolexp.killing import kill_unreaped
from poolexp.pinning import confined
from poolexp.request_log import COLUMNS, INSTANTS, NEVER

Column = npt.NDArray[np.int64]

PROGRAM: Sequence[str] = ("-m", "poolexp.trial")
"""What a generator process runs: arguments of the Python that runs this."""

ENDING_TIMEOUT_S = 5.0
_COMPLAINT_BYTES = 2000
_QUOTED_BYTES = 200
# What a process says of itself; all that there is of every request is in its columns.
_LINE_LIMIT_BYTES = 64 * 1024


class GeneratorProcess:
    """A running `python -m poolexp.trial`."""

    def __init__(
        self, process: asyncio.subprocess.Process, columns: IO[bytes], complaints: IO[bytes]
    ) -> None:
        self._process = process
        self._columns = columns
        self._complaints = complaints

    @property
    def log_descriptor(self) -> int:
        """The open file, shared with the process, that receives the raw columns."""
        return self._columns.fileno()

    async def tell(self, **message: Any) -> None:  # noqa: ANN401 - whatever JSON can say
        """Send one line.

        Raises:
            TrialError: the process is gone.

        """
        assert self._process.stdin is not None  # noqa: S101 - we asked for the pipe
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        try:
            await self._process.stdin.drain()
        except ConnectionError:
            raise TrialError(f"the generator ended early{self._last_words()}") from None

    async def hear(self, event: str, *, within_s: float) -> dict[str, Any]:
        """Wait for the line that reports `event`.

        Raises:
            TrialError: the process reports a failure, ends, stays silent for `within_s`, or says
                what is no such line.

        """
        assert self._process.stdout is not None  # noqa: S101 - we asked for the pipe
        try:
            async with asyncio.timeout(within_s):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise TrialError(f"the generator did not report {event!r} in {within_s:g} s") from None
        except ValueError:
            raise TrialError(
                f"where the generator should report {event!r} it said more than "
                f"{_LINE_LIMIT_BYTES:,} bytes in one line"
            ) from None
        if not line:
            raise TrialError(f"the generator ended before {event!r}{self._last_words()}")
        return _report(line, event)

    def columns(self, origin_ns: int) -> dict[str, Column]:
        """The raw columns that the process has written, by name; instants from the origin."""
        self._columns.seek(0)
        values = np.fromfile(self._columns, dtype=np.int64).reshape(len(COLUMNS), -1)
        columns = dict(zip(COLUMNS, values, strict=True))
        for name in INSTANTS:
            columns[name][columns[name] != NEVER] -= origin_ns
        return columns

    async def end(self) -> None:
        """Let the process end by itself if it can, and see to it that it does."""
        with suppress(TimeoutError, ProcessLookupError):
            async with asyncio.timeout(ENDING_TIMEOUT_S):
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End the process now; nothing happens if it has ended."""
        if self._process.returncode is None:
            kill_unreaped(self._process)
            await self._process.wait()

    def _last_words(self) -> str:
        self._complaints.seek(0)
        words = self._complaints.read().decode(errors="replace").strip()
        return f": {words[-_COMPLAINT_BYTES:]}" if words else ""


def _report(line: bytes, event: str) -> dict[str, Any]:
    try:
        message = json.loads(line)
        told = message["event"]
    except (ValueError, TypeError, KeyError):
        beginning = line[:_QUOTED_BYTES].decode(errors="replace").strip()
        raise TrialError(
            f"where the generator should report {event!r} it said {beginning!r}"
        ) from None
    if told != event:
        raise TrialError(f"the generator failed: {message.get('error', told)}")
    report: dict[str, Any] = message
    return report


@asynccontextmanager
async def generator_process(
    group: Group | None, cpus: Sequence[int] | None = None
) -> AsyncIterator[GeneratorProcess]:
    """Start a trial's process inside the generator's group; it is gone afterwards in any case.

    It runs on `cpus` alone if they are given.
    """
    argv: Sequence[str] = confined([sys.executable, *PROGRAM], cpus)
    if group is not None:
        argv = group.command(argv)
    with tempfile.TemporaryFile() as columns, tempfile.TemporaryFile() as complaints:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=complaints,
            pass_fds=[columns.fileno()],
            limit=_LINE_LIMIT_BYTES,
        )
        generator = GeneratorProcess(process, columns, complaints)
        try:
            yield generator
            await generator.end()
        finally:
            await generator.kill()
