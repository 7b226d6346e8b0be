"""Makes a data directory: private, with a password, reachable on the loopback interface alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from poolexp.databases.binaries import Binaries
from poolexp.databases.children import (
    Child,
    ended,
    ended_blocking,
    kill,
    kill_inside,
    none_inside,
    start,
    tail,
)
from poolexp.databases.server import Secret
from poolexp.databases.settings import may_be_set
from poolexp.errors import DatabaseError
from poolexp.privileges import User, run_as

SUPERUSER = "poolexp"
HOST = "127.0.0.1"

_INITDB_WITHIN_S = 120.0
_GENTLY_S = 3.0

# Nothing else in this file: no socket of the file system, no other address, no `trust`.
_HBA = f"""\
# type  database  user  address       method
host    all       all   {HOST}/32  scram-sha-256
"""


def server_settings(
    max_connections: int, wanted: Mapping[str, str], *, major: int
) -> dict[str, str]:
    """Choose the settings of a server that measures; `wanted` overrides what may be overridden.

    All others stay at PostgreSQL's defaults, the shared buffers, jit, I/O method and process
    titles too, because those are what servers run with; they are recorded, not tuned.
    Raises DatabaseError for a name that is not a person's to set, or is none.
    """
    for name in wanted:
        if not may_be_set(name):
            raise DatabaseError(
                f"the setting {name!r} cannot be changed for an embedded server",
                "Remove it from the experiment's settings.",
            )
    return {
        # A connection's sixth execution may else switch from custom plans to a generic one, which
        # happens sooner in small pools: plan mode would be confounded with pool size.
        "plan_cache_mode": "force_generic_plan",
        # Maintenance must not fall into a measured window; `maintenance` proves that none did.
        "autovacuum": "off",
        "checkpoint_timeout": "1d",
        "max_wal_size": "4GB",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "cluster_name": "poolexp",
        **_login_settings(major),
        **wanted,
        "max_connections": str(max_connections),
        "listen_addresses": HOST,
        "unix_socket_directories": "",
    }


def _login_settings(major: int) -> dict[str, str]:
    # Many iterations slow down guessing a password that a person chose; ours has 256 random bits.
    # With the default of 4096 each of a pool's connections costs the client milliseconds of CPU.
    return {"scram_iterations": "1"} if major >= 16 else {}


async def make_cluster(
    place: Path, binaries: Binaries, user: User | None, settings: Mapping[str, str]
) -> tuple[Path, Secret]:
    """Make a data directory in `place`; returns it with the superuser's password.

    Raises DatabaseError with what initdb said.
    """
    password = Secret(os.urandom(32).hex())
    data, log = place / "data", place / "initdb.log"
    password_file = _private_file(place / "password", password.reveal(), user)
    try:
        await _initdb(data, password_file, log, binaries, user)
    finally:
        password_file.unlink()
    _write_configuration(data, settings)
    return data, password


async def _initdb(
    data: Path, password_file: Path, log: Path, binaries: Binaries, user: User | None
) -> None:
    argv = [
        binaries.program("initdb"),
        f"--pgdata={data}",
        f"--username={SUPERUSER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",  # of a directory that goes when the run ends; the server itself does sync
        *(f"--set={name}={value}" for name, value in _login_settings(binaries.major).items()),
    ]
    child = start(run_as(argv, user, end_with_parent="KILL"), log, place=data.parent)
    try:
        finished = await ended(child, within_s=_INITDB_WITHIN_S)
    finally:
        _end(child, data)
    if not finished or child.returncode != 0:
        raise DatabaseError(
            f"initdb could not make a data directory in {data.parent}:\n{tail(log)}",
            "Look for a full disk or missing rights, or name other programs: --pg-bin DIR.",
        )


def _end(child: Child, data: Path) -> None:
    """End initdb when it was interrupted, and what it started.

    Gently at first: a server process that is killed would leave shared memory behind, while one
    that finds initdb gone cleans up after itself.
    """
    if child.poll() is None:
        child.terminate()
        ended_blocking(child, within_s=_GENTLY_S)
        none_inside(data, within_s=_GENTLY_S)
    kill(child)
    kill_inside(data, within_s=_GENTLY_S)


def _private_file(path: Path, text: str, user: User | None) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        if user is not None:
            os.fchown(descriptor, user.uid, user.gid)
    return path


def _write_configuration(data: Path, settings: Mapping[str, str]) -> None:
    """Append to what initdb wrote: the last line of a setting is the one that counts."""
    (data / "pg_hba.conf").write_text(_HBA)
    lines = [f"{name} = {_quoted(value)}" for name, value in settings.items()]
    with (data / "postgresql.conf").open("a") as file:
        file.write("\n".join(["", *lines, ""]))


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n")
    return f"'{escaped}'"
