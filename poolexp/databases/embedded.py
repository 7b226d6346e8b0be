"""A PostgreSQL of our own: made for one run, limited by its control group, gone afterwards."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from poolexp import ownership
from poolexp.cgroups import Group
from poolexp.databases.binaries import Binaries, usable_binaries
from poolexp.databases.children import Child, ended_blocking, kill, kill_inside, start, tail
from poolexp.databases.cluster import HOST, SUPERUSER, make_cluster, server_settings
from poolexp.databases.remains import reclaim_shared_memory
from poolexp.databases.server import Secret, Server
from poolexp.errors import DatabaseError
from poolexp.pinning import confined
from poolexp.privileges import User, run_as, server_user

_log = logging.getLogger(__name__)

_PREFIX = "poolexp-pg."
_DATABASE = "postgres"

_READY_WITHIN_S = 60.0
_LOGIN_WITHIN_S = 10.0
_PAUSE_S = 0.02
_PORT_TRIES = 5

# Fast shutdown, then immediate, then none of its own doing: within eight seconds it is gone.
_STOPS = ((signal.SIGINT, 4.0), (signal.SIGQUIT, 2.0))
_BURIED_WITHIN_S = 2.0


@asynccontextmanager
async def embedded_server(
    *,
    group: Group | None,
    max_connections: int,
    settings: Mapping[str, str] | None = None,
    pg_bin: Path | None = None,
    cpus: Sequence[int] | None = None,
) -> AsyncIterator[Server]:
    """Run a server for as long as the context lasts.

    Its postmaster is born in `group`, and confined to `cpus` if they are given. It listens on
    127.0.0.1 and a free port, asks for a random password, and runs as an ordinary user where we
    are root. Programs come from the wheel, or from `pg_bin`. Data and programs lie in a private
    temporary directory that is removed, however the context ends. Raises DatabaseError, with the
    end of the server's log, when it cannot be started.
    """
    user = server_user()
    _sweep(user)
    with _private_directory(user) as place:
        binaries = usable_binaries(user, place, pg_bin)
        chosen = server_settings(max_connections, settings or {}, major=binaries.major)
        data, password = await make_cluster(place, binaries, user, chosen)
        start_it = _Start(place, data, binaries, user, group, password, cpus)
        async with _running(start_it) as server:
            yield server


@contextmanager
def _private_directory(user: User | None) -> Iterator[Path]:
    """Make a directory that is the server's user's alone, and remove it with all in it.

    In the system's temporary directory, because the run's home may be closed to that user.
    """
    place = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{ownership.mark()}."))
    try:
        if user is not None:
            os.chown(place, user.uid, user.gid)
        yield place
    finally:
        _remove(place)


def _sweep(user: User | None) -> None:
    """Remove the servers and directories of runs that were killed.

    The temporary directory is everybody's: only what belongs to us, or to the user that we run
    servers as, is touched.
    """
    trusted = {os.geteuid()} | ({user.uid} if user else set())
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = place.name.removeprefix(_PREFIX).partition(".")[0]
        with suppress(FileNotFoundError):
            if place.lstat().st_uid in trusted and ownership.is_abandoned(owner):
                kill_inside(place / "data", within_s=_BURIED_WITHIN_S)
                reclaim_shared_memory(place / "data", user)
                _remove(place)


def _remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    if place.exists():
        _log.warning("A server's directory could not be removed: %s", place)


@dataclass(frozen=True, slots=True)
class _Start:
    """All it takes to start a server once its data directory is made."""

    place: Path
    data: Path
    binaries: Binaries
    user: User | None
    group: Group | None
    password: Secret
    cpus: Sequence[int] | None

    @property
    def log(self) -> Path:
        return self.place / "server.log"

    def spawn(self, port: int) -> Child:
        program = [self.binaries.program("postgres"), "-D", str(self.data), "-p", str(port)]
        argv = confined(program, self.cpus)
        # Should we be killed, the kernel tells the postmaster to shut down at once.
        if self.group is None:
            command = run_as(argv, self.user, end_with_parent="QUIT")
        else:
            command = self.group.command(argv, user=self.user, end_with_parent="QUIT")
        return start(command, self.log, place=self.place)

    def server(self, port: int, child: Child) -> Server:
        version = self.binaries.version
        return Server(HOST, port, SUPERUSER, self.password, _DATABASE, version, child.pid)


@asynccontextmanager
async def _running(wanted: _Start) -> AsyncIterator[Server]:
    for _ in range(_PORT_TRIES):
        port = _free_port()
        child = wanted.spawn(port)
        try:
            server = wanted.server(port, child)
            if await _is_ready(server, child, wanted):
                yield server
                return
        finally:
            _stop(child, wanted)
    raise DatabaseError(
        f"{_PORT_TRIES} free ports in a row were taken before the server could have them",
        "Try again; if it stays so, look for a program that takes up every port.",
    )


def _free_port() -> int:
    """Ask the system for a port that nobody uses; somebody may still be quicker to take it."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


async def _is_ready(server: Server, child: Child, wanted: _Start) -> bool:
    """Wait until the server that we started lets us in; False when its port was taken.

    Raises DatabaseError when it ends by itself or takes too long.
    """
    deadline = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < deadline:
        if child.poll() is not None:
            if "could not bind" in tail(wanted.log):
                wanted.log.unlink()
                return False
            raise _not_started(wanted, f"ended with status {child.returncode}")
        if await _lets_us_in(server):
            return True
        await asyncio.sleep(_PAUSE_S)
    raise _not_started(wanted, f"was not ready within {_READY_WITHIN_S:.0f} s")


def _not_started(wanted: _Start, what: str) -> DatabaseError:
    return DatabaseError(
        f"the embedded PostgreSQL {wanted.binaries.version} {what}; the end of its log:\n"
        f"{tail(wanted.log)}",
        "The log names the reason; a setting of the experiment may not fit this machine.",
    )


async def _lets_us_in(server: Server) -> bool:
    """Log in and ask whose process it is: another server may answer on the port."""
    try:
        connection = await asyncpg.connect(**server.connect_arguments(), timeout=_LOGIN_WITHIN_S)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    try:
        pid_file = await connection.fetchval("SELECT pg_read_file('postmaster.pid')")
    finally:
        await connection.close(timeout=_LOGIN_WITHIN_S)
    return int(pid_file.split()[0]) == server.pid


def _stop(child: Child, wanted: _Start) -> None:
    """End a server and everything that works for it.

    Blocking on purpose: a cancellation, or the end of the event loop, cannot cut it short.
    """
    try:
        for number, patience_s in _STOPS:
            if child.poll() is None:
                child.send_signal(number)
                ended_blocking(child, within_s=patience_s)
    finally:
        kill(child)
        kill_inside(wanted.data, within_s=_BURIED_WITHIN_S)
        reclaim_shared_memory(wanted.data, wanted.user)
