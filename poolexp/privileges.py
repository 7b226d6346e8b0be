"""Runs programs as somebody who may do less than we may.

PostgreSQL refuses to run as root, so a run that is root (in containers it usually is) starts the
server as an ordinary user of the machine.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from poolexp.errors import DatabaseError

# `postgres` exists where PostgreSQL was installed; `nobody` exists nearly everywhere.
_UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class User:
    """A user of this machine to run a program as."""

    name: str
    uid: int
    gid: int


def server_user() -> User | None:
    """Choose who is to run the server: None when we are no root and can run it ourselves.

    Raises DatabaseError when nobody fit is known to the machine: initdb wants the user that it
    runs as to have an entry in the password database.
    """
    if os.geteuid() != 0:
        _require_entry(os.geteuid())
        return None
    for name in _UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return User(name, entry.pw_uid, entry.pw_gid)
    raise DatabaseError(
        "PostgreSQL does not run as root, and this machine has neither a user named "
        f"{' nor one named '.join(_UNPRIVILEGED)}",
        "Create one (useradd --system postgres), or run poolexp as an ordinary user.",
    )


def _require_entry(uid: int) -> None:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise DatabaseError(
            f"the user id {uid} that poolexp runs as has no name on this machine, and PostgreSQL's "
            "initdb refuses to run for it",
            f"Add an entry for {uid} to /etc/passwd, or run poolexp as a user that has one.",
        ) from None


def run_as(argv: Sequence[str], user: User | None, *, end_with_parent: str = "") -> list[str]:
    """Wrap `argv` so that it runs as `user`, with no way back to more rights.

    `end_with_parent` names a signal (QUIT) that the kernel sends when the *thread* that started
    the program ends, so that a server does not outlive a run that is killed. Where the system has
    no setpriv and no user is asked for, `argv` comes back as it is.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        if user is None:
            return list(argv)
        raise DatabaseError(
            f"cannot run {argv[0]} as {user.name}: the program setpriv is missing",
            "Install util-linux, or run poolexp as an ordinary user.",
        )
    options = [f"--pdeathsig={end_with_parent}"] if end_with_parent else []
    if user is not None:
        options += [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
        options += ["--no-new-privs"]
    return [setpriv, *options, "--", *argv] if options else list(argv)
