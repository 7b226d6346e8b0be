"""When requests are to be sent: whole nanoseconds from the trial's origin, decided beforehand.

The origin is the start of the warm-up. Arrivals run on through the boundary between warm-up and
window; a request belongs where its planned time lies. Pure: the same experiment gives the same
instants for every pool.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from poolexp.workload import BurstArrivals, UniformArrivals

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
    arrivals: UniformArrivals | BurstArrivals, *, warm_up_s: float, measure_s: float
) -> ArrivalSchedule:
    """Planned send times for one trial."""
    warm_up_ns, end_ns = round(warm_up_s * NS_PER_S), round((warm_up_s + measure_s) * NS_PER_S)
    size = arrivals.size if isinstance(arrivals, BurstArrivals) else 1
    planned, burst, position = array("q"), array("q"), array("q")
    for number, at_ns in enumerate(_burst_times(arrivals.rate_per_s / size, end_ns)):
        planned.extend([at_ns] * size)
        burst.extend([number] * size)
        position.extend(range(size))
    return ArrivalSchedule(planned, burst, position, warm_up_ns, end_ns)


def _burst_times(bursts_per_s: float, end_ns: int) -> Iterator[int]:
    # Each instant from its number, not from the one before: no rounding error adds up.
    number = 0
    while (at_ns := round(number * NS_PER_S / bursts_per_s)) < end_ns:
        yield at_ns
        number += 1
