"""Looks at a server from outside: its processes, its shared memory, a server for one test."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil

from poolexp.databases.embedded import embedded_server
from poolexp.databases.server import Server, connected


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


def segments_of(processes: Iterable[psutil.Process]) -> set[str]:
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
