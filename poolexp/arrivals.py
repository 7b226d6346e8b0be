"""When requests are to be sent: whole nanoseconds from the trial's origin, decided beforehand.

The origin is the start of the warm-up. Arrivals run on through the boundary between warm-up and
window; a request belongs where its planned time lies. Pure: the same seed gives the same instants
for every pool.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, groupby, repeat, takewhile
from random import Random

from poolexp.workload import Arrivals, BurstArrivals, PoissonArrivals, ReplayedArrivals

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ArrivalSchedule:
    """Planned send times of one trial, in order.

    Attributes:
        planned_ns: when each request is to be sent, from the origin.
        burst: which burst each request belongs to, from 0; a lone request is a burst of its own.
        position: its place within the burst, from 0.
        warm_up_ns: the window opens here, and
        end_ns: closes here; nothing is planned at or after it.

    """

    planned_ns: array[int]
    burst: array[int]
    position: array[int]
    warm_up_ns: int
    end_ns: int

    def __len__(self) -> int:
        return len(self.planned_ns)

    @property
    def measured(self) -> int:
        """Number of requests planned within the window."""
        return sum(1 for planned in self.planned_ns if planned >= self.warm_up_ns)

    @property
    def digest(self) -> str:
        """SHA-256 of the planned times and of the window, equal exactly when they are equal."""
        window = array("q", [self.warm_up_ns, self.end_ns])
        return hashlib.sha256(window.tobytes() + self.planned_ns.tobytes()).hexdigest()


def schedule(
    arrivals: Arrivals, *, warm_up_s: float, measure_s: float, seed: int = 0
) -> ArrivalSchedule:
    """Planned send times for one trial; `seed` matters to those that are drawn."""
    warm_up_ns, end_ns = round(warm_up_s * NS_PER_S), round((warm_up_s + measure_s) * NS_PER_S)
    planned = array("q", takewhile(lambda at_ns: at_ns < end_ns, _instants(arrivals, seed)))
    burst, position = array("q"), array("q")
    for number, (_, members) in enumerate(_bursts(arrivals, planned)):
        size = sum(1 for _ in members)
        burst.extend([number] * size)
        position.extend(range(size))
    return ArrivalSchedule(planned, burst, position, warm_up_ns, end_ns)


def wakes_per_s(arrivals: Arrivals) -> float:
    """How often the generator must wake: the mean rate of instants, not of requests."""
    if isinstance(arrivals, BurstArrivals):
        return arrivals.rate_per_s / arrivals.size
    if isinstance(arrivals, ReplayedArrivals):
        return arrivals.rate_per_s * len(set(arrivals.offsets_ns)) / len(arrivals.offsets_ns)
    return arrivals.rate_per_s


def is_drawn(arrivals: Arrivals) -> bool:
    """Whether the planned times depend on the seed."""
    return isinstance(arrivals, PoissonArrivals)


def _instants(arrivals: Arrivals, seed: int) -> Iterator[int]:
    """Planned times in order, without end where the kind of arrivals has none."""
    match arrivals:
        case ReplayedArrivals():
            return _replayed(arrivals)
        case PoissonArrivals():
            return _poisson(arrivals.rate_per_s, seed)
        case _:
            return _even(arrivals.rate_per_s, getattr(arrivals, "size", 1))


def _even(rate_per_s: float, size: int) -> Iterator[int]:
    # Each instant from its number, not from the one before: no rounding error adds up.
    for number in count():
        yield from repeat(round(number * size * NS_PER_S / rate_per_s), size)


def _poisson(rate_per_s: float, seed: int) -> Iterator[int]:
    random = Random(f"arrivals/{seed}")  # noqa: S311 - repeatable on purpose
    at_s = 0.0
    while True:
        at_s += random.expovariate(rate_per_s)
        yield round(at_s * NS_PER_S)


def _replayed(arrivals: ReplayedArrivals) -> Iterator[int]:
    rounds = count() if arrivals.period_ns else (0,)
    for number in rounds:
        start_ns = number * (arrivals.period_ns or 0)
        yield from (start_ns + offset_ns for offset_ns in arrivals.offsets_ns)


def _bursts(arrivals: Arrivals, planned: array[int]) -> Iterator[tuple[int, Iterator[int]]]:
    """Planned times that belong together: a burst's by number, otherwise those that are equal."""
    if isinstance(arrivals, BurstArrivals):
        size = arrivals.size
        return groupby(range(len(planned)), key=lambda seq: seq // size)
    return groupby(planned)
