"""The search behind a calibration: what do executions cost, and which value hits the target.

A cost is the median over small batches. Where values are compared, their batches are taken in
turns: a disturbance then strikes all of them alike instead of shifting one.

The search executes in a row, which is quick. The verdict does not: there each execution is what
a request is in a trial, one that comes alone after a pause and is followed by the reset of its
connection. With caches gone cold and the reset included it costs about a tenth more here.
"""

from __future__ import annotations

import asyncio
import logging
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

import asyncpg

from poolexp.backend_cpu import Clock, cpu_clock
from poolexp.errors import DatabaseError
from poolexp.workload import Argument

_log = logging.getLogger(__name__)

TOLERANCE = 0.02
"""What a run asks for, as a share of the target."""

_HOPELESS = 0.25
_NS_PER_MS = 1_000_000

_GROWTH = 3
# One step does not overshoot by much, whatever a first measurement says; and past so many
# repetitions a statement does not depend on them at all.
_OVERFLOW_GROWTH = 20
_OVERFLOW_MOST = 10_000
# Around the first guess the relation of value and cost is a line, near enough.
_FIT_FACTORS = (0.7, 0.9, 1.1, 1.3)
_FIT_BATCHES = 5
_VERIFY_BATCHES = 15
_VERIFY_ROUNDS = 6
_PAUSE_S = 0.025
_REQUESTS = 3
_REQUESTS_MOST = 200

# A batch has several executions, lasts a few milliseconds, and many of the clock's steps.
_BATCH = 5
_BATCH_NS = 3 * _NS_PER_MS
_BATCH_GRAINS = 50
_BATCH_MOST = 10_000

BuildArguments = Callable[[int, int, int], tuple[Argument, ...]]
"""(value, overflow value, number of the draw) -> the arguments of one execution."""


@dataclass(frozen=True, slots=True)
class CalibrationRequest:
    """What to find: a whole number from `lower` to `upper` for `parameter`.

    `sql` has `$n` placeholders. Where even `upper` is too little work, the parameter `overflow`
    is raised from its value `overflow_from`; without one the calibration fails. A value is
    accepted when fresh executions cost the target within the share `tolerance` of it.
    """

    sql: str
    parameter: str
    target_cpu_ms: float
    lower: int
    upper: int
    arguments: BuildArguments
    overflow: str | None = None
    overflow_from: int = 1
    tolerance: float = TOLERANCE


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of the calibrated parameter, with one of the parameter that takes its overflow."""

    value: int
    overflow: int


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU time per execution: the median, and the distance of the quartiles over the median."""

    cpu_ms: float
    spread: float


class Execution(Protocol):
    """Executes the statement once, in one of two ways."""

    async def in_a_row(self, arguments: tuple[Argument, ...]) -> None:
        """Execute it at once."""

    async def as_request(self, arguments: tuple[Argument, ...]) -> None:
        """Execute it as a trial's requests are: after a pause, and followed by the reset."""


@dataclass(frozen=True, slots=True)
class OnConnection:
    """Executes a statement on a connection to a server."""

    connection: asyncpg.Connection
    sql: str

    async def in_a_row(self, arguments: tuple[Argument, ...]) -> None:
        """Execute it; the first time it is prepared."""
        await self.connection.fetch(self.sql, *arguments)

    async def as_request(self, arguments: tuple[Argument, ...]) -> None:
        """Execute it after a pause, and reset the connection as asyncpg's pool does."""
        await asyncio.sleep(_PAUSE_S)
        await self.connection.fetch(self.sql, *arguments)
        await self.connection.reset()


class Costs:
    """Measures what executions of one statement cost its server process."""

    def __init__(self, execution: Execution, clock: Clock, arguments: BuildArguments) -> None:
        self._execution = execution
        self._clock = clock
        self._arguments = arguments
        self._draws = count()

    @classmethod
    async def on(cls, connection: asyncpg.Connection, request: CalibrationRequest) -> Costs:
        """Execute the statement on a connection until it is prepared and warm."""
        clock = cpu_clock(connection.get_server_pid())
        costs = cls(OnConnection(connection, request.sql), clock, request.arguments)
        await costs.batch(Setting(request.lower, request.overflow_from), executions=10)
        return costs

    async def batch(
        self, setting: Setting, executions: int = _BATCH, *, as_requests: bool = False
    ) -> float:
        """Execute so often; returns the CPU time of one execution in ms."""
        draws = [next(self._draws) for _ in range(executions)]
        batch = [self._arguments(setting.value, setting.overflow, draw) for draw in draws]
        execute = self._execution.as_request if as_requests else self._execution.in_a_row
        before_ns = self._clock.read_ns()
        for arguments in batch:
            await execute(arguments)
        return (self._clock.read_ns() - before_ns) / executions / _NS_PER_MS

    async def compare(self, settings: Sequence[Setting], batches: int) -> list[Cost]:
        """Measure the costs of several settings in turns, executed in a row."""
        sizes = [await self._batch_size(setting) for setting in settings]
        turns = [
            [await self.batch(*each) for each in zip(settings, sizes, strict=True)]
            for _ in range(batches)
        ]
        return [_cost(column) for column in zip(*turns, strict=True)]

    async def as_requests(self, setting: Setting, batches: int) -> Cost:
        """Measure the cost of a setting as the trials will meet it: paced, and with the reset."""
        # These take long: a few at a time, but for a clock of coarse steps.
        coarse = self._clock.grain_ns > _NS_PER_MS
        size = min(_REQUESTS_MOST, await self._batch_size(setting)) if coarse else _REQUESTS
        return _cost([await self.batch(setting, size, as_requests=True) for _ in range(batches)])

    async def _batch_size(self, setting: Setting) -> int:
        needed_ns = max(_BATCH_NS, _BATCH_GRAINS * self._clock.grain_ns)
        executions = _BATCH
        cpu_ms = await self.batch(setting, executions)
        # A clock of coarse steps may see no time at all in few executions.
        while cpu_ms <= 0 and executions < _BATCH_MOST:
            executions *= 4
            cpu_ms = await self.batch(setting, executions)
        wanted = math.ceil(needed_ns / max(cpu_ms * _NS_PER_MS, 1))
        return min(_BATCH_MOST, max(_BATCH, wanted))


def _cost(batches_ms: Sequence[float]) -> Cost:
    lower, median, upper = statistics.quantiles(batches_ms, n=4)
    return Cost(median, (upper - lower) / median if median else 0.0)


async def find(costs: Costs, request: CalibrationRequest) -> tuple[Setting, Cost]:
    """Find the setting that costs the target, and what fresh executions of it cost.

    Raises DatabaseError when the target is out of the parameter's reach.
    """
    guess = await _guess(costs, request)
    return await _verified(costs, request, await _fitted(costs, request, guess))


async def _guess(costs: Costs, request: CalibrationRequest) -> Setting:
    """Grow the value until it costs more than the target, and take a share of the last one."""
    setting = Setting(request.lower, request.overflow_from)
    cost_ms = await _quick(costs, setting)
    if cost_ms > request.target_cpu_ms * (1 + _HOPELESS):
        raise _out_of_reach(request, f"{request.lower} already costs {cost_ms:.3g} ms")
    while cost_ms < request.target_cpu_ms and setting.value < request.upper:
        setting = replace(setting, value=min(request.upper, setting.value * _GROWTH))
        cost_ms = await _quick(costs, setting)
    while cost_ms < request.target_cpu_ms:
        setting = _overflowed(setting, request, cost_ms)
        cost_ms = await _quick(costs, setting)
    return _scaled(setting, request, request.target_cpu_ms / cost_ms)


async def _quick(costs: Costs, setting: Setting) -> float:
    (cost,) = await costs.compare([setting], 3)
    return cost.cpu_ms


def _overflowed(setting: Setting, request: CalibrationRequest, cost_ms: float) -> Setting:
    if request.overflow is None or setting.overflow >= _OVERFLOW_MOST:
        raise _out_of_reach(request, f"{request.upper} costs {cost_ms:.3g} ms")
    factor = min(_OVERFLOW_GROWTH, request.target_cpu_ms / max(cost_ms, 0.001))
    return replace(
        setting, overflow=max(setting.overflow + 1, math.ceil(setting.overflow * factor))
    )


def _out_of_reach(request: CalibrationRequest, fact: str) -> DatabaseError:
    return DatabaseError(
        f"no {request.parameter} from {request.lower} to {request.upper} makes the statement cost "
        f"{request.target_cpu_ms:g} ms of CPU time: {fact}",
        "Ask for another calibrate_cpu_ms, widen min and max, or name an overflow parameter.",
    )


def _scaled(setting: Setting, request: CalibrationRequest, factor: float) -> Setting:
    value = round(setting.value * factor)
    return replace(setting, value=min(request.upper, max(request.lower, value)))


async def _fitted(costs: Costs, request: CalibrationRequest, guess: Setting) -> Setting:
    """Fit a line to the costs around a guess, and solve it for the target."""
    tried = list(dict.fromkeys(_scaled(guess, request, factor) for factor in _FIT_FACTORS))
    if len(tried) < 2:
        return guess
    found = await costs.compare(tried, _FIT_BATCHES)
    values = [setting.value for setting in tried]
    slope, intercept = statistics.linear_regression(values, [cost.cpu_ms for cost in found])
    if slope <= 0:
        return guess
    value = (request.target_cpu_ms - intercept) / slope
    return _scaled(guess, request, value / guess.value)


async def _verified(
    costs: Costs, request: CalibrationRequest, setting: Setting
) -> tuple[Setting, Cost]:
    """Measure afresh and correct, until the target is hit or nothing better is found."""
    seen: dict[Setting, Cost] = {}

    def miss(each: Setting) -> float:
        return abs(seen[each].cpu_ms / request.target_cpu_ms - 1)

    for _ in range(_VERIFY_ROUNDS):
        seen[setting] = await costs.as_requests(setting, _VERIFY_BATCHES)
        if miss(setting) <= request.tolerance:
            break
        setting = _scaled(setting, request, request.target_cpu_ms / seen[setting].cpu_ms)
        if setting in seen:
            break
    best = min(seen, key=miss)
    _judge(request, best, seen[best], miss(best))
    return best, seen[best]


def _judge(request: CalibrationRequest, best: Setting, cost: Cost, miss: float) -> None:
    if miss > _HOPELESS:
        raise _out_of_reach(request, f"{best.value} costs {cost.cpu_ms:.3g} ms")
    if miss > request.tolerance:
        _log.warning(
            "Calibration of %s: %d costs %.3g ms, %.0f %% from its target of %g ms",
            request.parameter,
            best.value,
            cost.cpu_ms,
            100 * miss,
            request.target_cpu_ms,
        )
