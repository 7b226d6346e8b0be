"""The home: where runs, the warehouse and reports lie, and who is using it."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from poolexp.errors import BusyError, HomeError

_REMEDY = "Give another one with --home DIR or POOLEXP_HOME."


def new_run_id() -> str:
    """An id that sorts by time and does not collide: `20260601T031500Z-9f3a`."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def prepare_home(home: Path) -> Path:
    """Make the home, readable by its owner only, and see that it can be written.

    Raises:
        HomeError: it cannot.

    """
    if "?" in str(home.resolve()):
        # SQLite and DuckDB take it for the beginning of options, and write somewhere else.
        raise HomeError(f"the home {home} has a question mark in its path", _REMEDY)
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = home / f".probe-{os.getpid()}"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        raise HomeError(f"the home {home} cannot be written: {error.strerror}", _REMEDY) from None
    return home.resolve()


@contextmanager
def hold_home(home: Path, run_id: str) -> Iterator[None]:
    """Keep every other run out of this home for as long as the block lasts.

    The lock ends with the process, however that ends; the file only names the holder.

    Raises:
        BusyError: another run holds it; the message names its process, run and start.

    """
    descriptor = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"the home {home} is in use by {_holder(file.read())}",
                "Wait until that run has ended, or give another home with --home DIR.",
            ) from None
        holder = {
            "pid": os.getpid(),
            "run": run_id,
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        file.truncate(0)
        file.write(json.dumps(holder))
        file.flush()
        yield
        file.truncate(0)


def refuse_if_busy(home: Path) -> None:
    """Raise BusyError at once if another run holds this home; take nothing."""
    with hold_home(home, "none yet"):
        pass


def _holder(text: str) -> str:
    try:
        holder = json.loads(text)
        return f"process {holder['pid']} (run {holder['run']}, since {holder['since']})"
    except (ValueError, KeyError, TypeError):
        return "another process"
