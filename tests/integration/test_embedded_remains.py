"""Nothing of a server stays, however it ends: no process, directory or shared memory."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
import psutil
import pytest
from server_processes import family, segments_of, servers_in, shared_memory, small_server

from poolexp.databases.server import connected


def traces() -> set[Path]:
    """Directories of servers in the temporary directory, whoever's they are."""
    return set(Path(tempfile.gettempdir()).glob("poolexp-pg.*"))


async def test_nothing_is_left_after_the_end(private_tmp: Path) -> None:
    async with small_server() as server:
        assert len(traces()) == 1
        pids = [process.pid for process in await family(server)]
    assert list(private_tmp.iterdir()) == []
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


async def test_nothing_is_left_after_an_exception(private_tmp: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with small_server():
            raise ZeroDivisionError
    assert list(private_tmp.iterdir()) == []
    assert servers_in(private_tmp) == []


async def test_nothing_is_left_after_a_cancellation_in_the_midst_of_work(
    private_tmp: Path,
) -> None:
    started = asyncio.Event()

    async def work() -> None:
        async with small_server() as server, connected(server) as connection:
            started.set()
            await connection.execute("SELECT pg_sleep(600)")

    task = asyncio.create_task(work())
    await started.wait()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(private_tmp.iterdir()) == []
    assert servers_in(private_tmp) == []


@pytest.mark.parametrize("after_s", [0, 0.05, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0])
async def test_nothing_is_left_after_a_cancellation_of_the_start(
    private_tmp: Path, after_s: float
) -> None:
    async def work() -> None:
        async with small_server():
            await asyncio.sleep(600)

    task = asyncio.create_task(work())
    await asyncio.sleep(after_s)
    segments = segments_of(servers_in(private_tmp))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(private_tmp.iterdir()) == []
    assert servers_in(private_tmp) == []
    assert not segments & shared_memory()


async def test_a_busy_server_is_stopped_too(private_tmp: Path) -> None:
    """A backend that computes, and outlives a postmaster that was killed, is found as well."""
    async with small_server() as server:
        connection = await asyncpg.connect(**server.connect_arguments())
        busy = asyncio.create_task(
            connection.execute("SELECT max(md5(i::text)) FROM generate_series(1, 10^9::int) AS i")
        )
        await asyncio.sleep(0.2)
        segments = segments_of(await family(server))
        assert segments, "this test looks at nothing"
        assert segments <= shared_memory()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        await asyncio.sleep(0.2)
        assert psutil.pid_exists(connection.get_server_pid())
    with pytest.raises((asyncpg.PostgresError, OSError)):
        await busy
    connection.terminate()
    assert not segments & shared_memory()
    assert servers_in(private_tmp) == []
    assert list(private_tmp.iterdir()) == []


KILLED_RUN = """
import asyncio
from poolexp.databases.embedded import embedded_server

async def main():
    async with embedded_server(group=None, max_connections=20) as server:
        print(server.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("with_its_server", [False, True])
async def test_a_killed_run_takes_its_server_along_and_the_next_sweeps_up(
    private_tmp: Path, with_its_server: bool
) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", KILLED_RUN],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(private_tmp)},
    )
    assert run.stdout is not None
    with run.stdout:
        pid = int(run.stdout.readline())
    segments = segments_of(servers_in(private_tmp))
    assert segments
    if with_its_server:
        os.kill(pid, signal.SIGKILL)
    run.kill()
    run.wait()
    deadline = time.monotonic() + 20
    while servers_in(private_tmp):
        assert time.monotonic() < deadline, "the server outlives the run"
        await asyncio.sleep(0.05)
    (left,) = traces()
    async with small_server():
        assert not left.exists()
        assert len(traces()) == 1
    assert not segments & shared_memory()


async def test_what_is_not_marked_as_ours_is_not_swept(private_tmp: Path) -> None:
    strangers = [private_tmp / "poolexp-pg.notes", private_tmp / "poolexp-pg.1-2-3.x"]
    for stranger in strangers:
        stranger.mkdir()
    async with small_server():
        assert all(stranger.exists() for stranger in strangers)
