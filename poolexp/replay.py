"""A file of arrivals that are to be replayed: one offset a line, in ms from the trial's origin.

    # recorded on a Monday; blank lines and what follows a # are passed over
    0
    12.5
    12.5

Offsets are decimal numbers that never fall; equal ones are a burst.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from poolexp.contradictions import MAXIMUM_REQUESTS_PER_TRIAL

_NS_PER_MS = 1_000_000
_MOST_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Replay:
    """What a file says: offsets in whole ns, and the SHA-256 of its bytes."""

    offsets_ns: tuple[int, ...]
    sha256: str


def read_replay(path: Path) -> Replay:
    """Read a file of arrivals.

    Raises:
        ValueError: it cannot be read or is no such file; says where and why.

    """
    try:
        content = path.read_bytes()
        offsets = tuple(_offsets_ns(content.decode()))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text") from None
    if not offsets:
        raise ValueError(f"{path} holds no offset")
    if len(offsets) > MAXIMUM_REQUESTS_PER_TRIAL:
        raise ValueError(
            f"{path} holds {len(offsets):,} offsets; "
            f"at most {MAXIMUM_REQUESTS_PER_TRIAL:,} are accepted"
        )
    return Replay(offsets, hashlib.sha256(content).hexdigest())


def _offsets_ns(text: str) -> Iterator[int]:
    before_ns = 0
    for number, line in enumerate(text.splitlines(), start=1):
        told = line.partition("#")[0].strip()
        if not told:
            continue
        at_ns = _offset_ns(told, number)
        if at_ns < before_ns:
            raise ValueError(f"line {number}: {told} is less than the offset before it")
        yield at_ns
        before_ns = at_ns


def _offset_ns(told: str, number: int) -> int:
    try:
        # Decimal, not float: an offset is to be the same nanosecond everywhere.
        offset_ms = Decimal(told)
    except InvalidOperation:
        offset_ms = Decimal("nan")
    if not offset_ms.is_finite() or not 0 <= offset_ms < _MOST_MS:
        raise ValueError(f"line {number}: {told!r} is no offset in ms from 0 to {_MOST_MS:,}")
    return round(offset_ms * _NS_PER_MS)
