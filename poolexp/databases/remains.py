"""What a server that was killed leaves outside its directory: segments of shared memory.

Only PostgreSQL knows which of the machine's segments were its own. It removes them when it starts
in the same data directory, so it is started once more, for a moment, as a single process.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from poolexp.databases.children import ended_blocking, kill, start, tail
from poolexp.errors import DatabaseError
from poolexp.privileges import User, run_as

_log = logging.getLogger(__name__)

_WITHIN_S = 30.0


# Larger than any process id that Linux gives out.
_NOBODY = 2**31 - 1


def reclaim_shared_memory(data: Path, user: User | None) -> None:
    """Remove the shared memory of a dead server; nothing where it ended in good order.

    The caller has made sure that no process works in `data` any more. Never raises: it is the
    last of a clean-up, and what fails is logged.
    """
    lock, log = data / "postmaster.pid", data / "single.log"
    if not lock.exists():
        return
    try:
        _disown(lock)
        said = "" if _started_once(data, user, log) else tail(log)
    except (OSError, DatabaseError) as error:
        said = str(error)
    if said:
        _log.warning("The shared memory of the server in %s may be left over: %s", data, said)


def _disown(lock: Path) -> None:
    """Take the dead postmaster's id out of the lock file.

    One that nobody has buried yet still answers to its id, and PostgreSQL would not start.
    No link is followed: the directory is the server's user's, and we may be root.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "r+") as file:
        lines = file.read().splitlines(keepends=True)
        file.seek(0)
        file.writelines([f"{_NOBODY}\n", *lines[1:]])
        file.truncate()


def _started_once(data: Path, user: User | None, log: Path) -> bool:
    program = (data / "postmaster.opts").read_text().partition(' "')[0]
    argv = [program, "--single", "-F", "-D", str(data), "template1"]
    child = start(run_as(argv, user, end_with_parent="QUIT"), log, place=data)
    try:
        return ended_blocking(child, within_s=_WITHIN_S) and child.returncode == 0
    finally:
        kill(child)
