"""What a server that was killed leaves outside its directory: segments of shared memory.

Only PostgreSQL knows which of the machine's segments were its own. It removes them when it starts
in the same data directory, so it is started once more, for a moment, as a single process.
"""

from __future__ import annotations

import logging
from pathlib import Path

from poolexp.databases.children import ended_blocking, kill, start
from poolexp.privileges import User, run_as

_log = logging.getLogger(__name__)

_WITHIN_S = 30.0


def reclaim_shared_memory(data: Path, user: User | None) -> None:
    """Remove the shared memory of a dead server; nothing where it ended in good order.

    Never raises: it is the last of a clean-up, and what fails is logged.
    """
    if not (data / "postmaster.pid").exists():
        return
    try:
        program = (data / "postmaster.opts").read_text().partition(' "')[0]
        argv = [program, "--single", "-F", "-D", str(data), "template1"]
        child = start(run_as(argv, user, end_with_parent="QUIT"), data / "single.log", place=data)
    except OSError as error:
        _log.warning("The shared memory of the server in %s may be left over: %s", data, error)
        return
    try:
        finished = ended_blocking(child, within_s=_WITHIN_S)
    finally:
        kill(child)
    if not finished or child.returncode != 0:
        _log.warning("The shared memory of the server in %s may be left over", data)
