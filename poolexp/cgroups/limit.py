"""A CPU quota in the kernel's terms: so many microseconds in every period."""

from __future__ import annotations

import math
from dataclasses import dataclass

from poolexp.errors import LimitsError

# The kernel's own bounds: a quota of at least 1 ms, a period of 1 ms to 1 s.
_MIN_QUOTA_US = 1_000
_MIN_PERIOD_MS, _MAX_PERIOD_MS = 1, 1_000
_DEFAULT_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class CpuLimit:
    """At most `cores` CPUs' worth of time in each period of `period_ms`.

    Two limits are equal when the kernel cannot tell them apart: it keeps whole microseconds.
    Raises ValueError for what the kernel would refuse.
    """

    cores: float
    period_ms: float = 10

    def __post_init__(self) -> None:
        if not (math.isfinite(self.cores) and self.cores > 0):
            raise ValueError(f"a CPU limit must be a positive number of cores, not {self.cores}")
        if not _MIN_PERIOD_MS <= self.period_ms <= _MAX_PERIOD_MS:
            raise ValueError(
                f"a period of {self.period_ms} ms is outside the kernel's bounds, "
                f"{_MIN_PERIOD_MS} to {_MAX_PERIOD_MS} ms"
            )
        if self.quota_us < _MIN_QUOTA_US:
            raise ValueError(
                f"{self.cores} cores in periods of {self.period_ms} ms give a quota of "
                f"{self.quota_us} us, below the kernel's least of {_MIN_QUOTA_US} us: "
                "allow more cores or a longer period"
            )

    @property
    def period_us(self) -> int:
        """The period in the kernel's unit."""
        return round(self.period_ms * 1_000)

    @property
    def quota_us(self) -> int:
        """CPU time allowed per period, summed over all CPUs, in the kernel's unit."""
        return round(self.cores * self.period_us)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CpuLimit):
            return NotImplemented
        return (self.quota_us, self.period_us) == (other.quota_us, other.period_us)

    def __hash__(self) -> int:
        return hash((self.quota_us, self.period_us))


def from_microseconds(quota_us: int, period_us: int) -> CpuLimit:
    """Make the limit of a quota and a period as the kernel gives them."""
    return CpuLimit(cores=quota_us / period_us, period_ms=period_us / 1_000)


def parse_cpu_max(text: str, place: str) -> CpuLimit | None:
    """Parse the limit in a `cpu.max` file (version 2): None for "max".

    A period that is left out is the kernel's default of 100 ms. Raises LimitsError, naming
    `place`, for anything else, an empty file too.
    """
    words = text.split()
    if words and words[0] == "max":
        return None
    try:
        quota_us, period_us = [*map(int, words), _DEFAULT_PERIOD_US][:2]
        return from_microseconds(quota_us, period_us)
    except (ValueError, ZeroDivisionError):
        raise LimitsError(
            f"{place} holds {text.strip()!r}, which is no CPU limit",
            "The kernel writes a quota and a period there; look what is mounted at that place.",
        ) from None


def parse_cfs_files(quota: str, period: str, place: str) -> CpuLimit | None:
    """Parse the limit in `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1): None for -1."""
    if quota.strip() == "-1":
        return None
    if not quota.strip():
        quota = "nothing"
    return parse_cpu_max(f"{quota} {period}", place)
