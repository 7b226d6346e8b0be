"""A run packed to be given away: which files it has, and that they are those that were packed.

    README.md  columns.csv         what every file and column means
    SHA256SUMS                     of every other file, as `sha256sum --check` reads it
    run/                           the run's directory, byte for byte
    kept/*.parquet                 what no directory holds: validations, noise floors
    requests.parquet  counters.parquet  *.csv    the views, for people and other programs

A parcel is a directory, or a zip file with the same names. Only `run/` and `kept/` are read when it
is brought in; nothing outside of the checksums is.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from poolexp.errors import UsageError

SUMS = "SHA256SUMS"
RUN, KEPT_FOLDER = "run", "kept"

_LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>.+)")
_REMEDY = "Export the run again where it comes from."
# What zipfile raises of files that are cut, changed, encrypted or packed in an unknown way.
_SPOILT = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class Source(Protocol):
    """Where a parcel is read from."""

    def names(self) -> list[str]:
        """All files in it."""

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """One of them."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A parcel that is a directory."""

    path: Path

    def names(self) -> list[str]:
        """All files in it; a link counts as one, and is refused when it is opened."""
        found = (path for path in self.path.rglob("*") if path.is_symlink() or path.is_file())
        return sorted(path.relative_to(self.path).as_posix() for path in found)

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open one of them."""
        path = self.path / name
        if not path.resolve().is_relative_to(self.path.resolve()) or path.is_symlink():
            raise UsageError(f"{name!r} in {self.path} is a link", _REMEDY)
        return path.open("rb")


@dataclass(frozen=True, slots=True)
class Zip:
    """A parcel that is a zip file."""

    path: Path
    archive: zipfile.ZipFile

    def names(self) -> list[str]:
        """All files in it."""
        return sorted(info.filename for info in self.archive.infolist() if not info.is_dir())

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open one of them."""
        return self.archive.open(name)


@contextmanager
def open_parcel(path: Path) -> Iterator[Source]:
    """A parcel, to be read.

    Raises:
        UsageError: there is none, or it is damaged.
    """
    if path.is_dir():
        yield Folder(path)
        return
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise UsageError(f"there is no {path}", "Name what `poolexp export` wrote.") from None
    except (*_SPOILT, OSError) as error:
        raise UsageError(f"{path} cannot be read as a zip file: {error}", _REMEDY) from None
    with archive:
        yield Zip(path, archive)


def read_sums(source: Source) -> dict[str, str]:
    """What each file must be: SHA-256 by name.

    Raises:
        UsageError: the checksums are missing, name a place outside of the parcel, or do not name
            exactly the files that are there.
    """
    names = source.names()
    if SUMS not in names:
        raise UsageError(
            f"it holds no {SUMS}: it is no export", "Name what `poolexp export` wrote."
        )
    text = b"".join(_pieces(source, SUMS)).decode(errors="replace")
    sums = dict(_parse(line) for line in text.splitlines())
    for name in [*names, *sums]:
        _require_inside(name)
    unlike = set(names) - {SUMS} ^ set(sums)
    if unlike or len(names) != len(set(names)):
        raise UsageError(f"{SUMS} does not fit the files: {', '.join(sorted(unlike)[:5])}", _REMEDY)
    return sums


def _parse(line: str) -> tuple[str, str]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise UsageError(f"{SUMS} has a line that is no checksum: {line!r}", _REMEDY)
    return found["name"], found["digest"]


def _require_inside(name: str) -> None:
    parts = PurePosixPath(name).parts
    if name.startswith("/") or "\\" in name or "\0" in name or ".." in parts or not parts:
        raise UsageError(f"{name!r} would lie outside of the parcel", "Do not trust this file.")


def copy_checked(source: Source, name: str, digest: str, target: IO[bytes]) -> None:
    """Copy one file.

    Raises:
        UsageError: it is not the one that was packed.
    """
    found = hashlib.sha256()
    for piece in _pieces(source, name):
        found.update(piece)
        target.write(piece)
    if found.hexdigest() != digest:
        raise UsageError(f"{name} is not the file that was packed: its SHA-256 differs", _REMEDY)


def _pieces(source: Source, name: str) -> Iterator[bytes]:
    try:
        with source.open(name) as file:
            while piece := file.read(1 << 20):
                yield piece
    except _SPOILT as error:
        raise UsageError(f"{name} cannot be unpacked: {error}", _REMEDY) from None
