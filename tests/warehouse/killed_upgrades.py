"""Kills an upgrade with SIGKILL at one step after another; started by the tests as a program.

Steps are calls into the operating system or into DuckDB, seen through the interpreter's profile
hook. Each attempt is a fork, so that nothing has to be imported again; this process itself never
opens a database, because threads do not survive a fork.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb

from warehouse.database import FILE_NAME, open_warehouse
from warehouse.migrate import MIGRATIONS

FILES = {"link", "replace"}
ALL = {*FILES, "lockf", "fsync", "open", "flock", "unlink", "close", "connect", "execute"}
SCHEMA = "SELECT max(version) FROM raw.migration"
STRIDE = {"files": 1, "all": 7}
"""How many steps further the next kill comes: an upgrade has hundreds of statements."""

VIEWS = ("trial_summary", "gates", "pool_use")


def _kill_at(step: int, names: set[str]) -> None:
    seen = 0

    def watch(_: FrameType, event: str, function: Any) -> None:
        nonlocal seen
        # Methods of strings and files belong to no module.
        if event == "c_call" and function.__name__ in names and function.__module__:
            seen += 1
            if seen == step:
                os.write(2, f"{function.__name__}\n".encode())
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


def _forked(action: Any) -> bool:
    """Do this in a fork; whether that was killed."""
    pid = os.fork()
    if pid == 0:
        action()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status):
        raise RuntimeError("a fork ended badly")
    return os.WIFSIGNALED(status)


def _upgrade(home: Path, step: int, names: set[str]) -> None:
    _kill_at(step, names)
    with open_warehouse(home):
        pass
    sys.setprofile(None)


def _look(home: Path, result: Path) -> None:
    with duckdb.connect(home / FILE_NAME) as connection:
        version = (connection.execute(SCHEMA).fetchone() or (None,))[0]
    with open_warehouse(home, read_only=True) as warehouse:
        rows = [
            (warehouse.connection.execute(f"SELECT count(*) FROM {view}").fetchone() or (None,))[0]
            for view in VIEWS
        ]
    left = {1: "old", MIGRATIONS[-1].number: "new"}.get(version, str(version))
    result.write_text(json.dumps({"left": left, "rows": rows}))


def main(fixture: Path, place: Path, kind: str) -> None:
    """Kill at one step after another, until an upgrade ends without having been hit."""
    data = gzip.decompress(fixture.read_bytes())
    names = FILES if kind == "files" else ALL
    step, killed = 1 - STRIDE[kind], True
    while killed:
        step += STRIDE[kind]
        home = place / "last"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        (home / FILE_NAME).write_bytes(data)
        killed = _forked(lambda: _upgrade(home, step, names))  # noqa: B023 - runs at once
        _forked(lambda: _look(home, place / "result"))  # noqa: B023
        found = json.loads((place / "result").read_text())
        found |= {"at": step if killed else "the end", "killed": killed}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
