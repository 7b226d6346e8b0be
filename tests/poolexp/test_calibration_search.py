"""The search for a cost, on statements whose cost is a formula, with disturbances added."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from poolexp.calibration_search import TOLERANCE, CalibrationRequest, Costs, find
from poolexp.errors import DatabaseError
from poolexp.workload import Argument

Formula = Callable[[int, int], float]


@dataclass
class Machine:
    """A server process whose executions cost a formula's ms; both its statement and its clock.

    What comes as a request costs `request_ms` more.
    """

    formula: Formula
    grain_ns: int = 1
    request_ms: float = 0.0
    noise: float = 0.0
    used_ns: float = 0.0
    executions: int = 0
    draws: list[int] = field(default_factory=list)
    random: Random = field(default_factory=lambda: Random(1))

    async def as_request(self, arguments: tuple[Argument, ...]) -> None:
        await self.in_a_row(arguments)
        self.used_ns += self.request_ms * 1e6

    async def in_a_row(self, arguments: tuple[Argument, ...]) -> None:
        value, overflow, draw = map(int, arguments)
        disturbance = 1 + abs(self.random.gauss(0, self.noise))
        if self.noise and self.random.random() < 0.05:
            disturbance *= 5  # now and then the host takes its time
        self.used_ns += self.formula(value, overflow) * disturbance * 1e6
        self.executions += 1
        self.draws.append(draw)

    def read_ns(self) -> int:
        return int(self.used_ns) // self.grain_ns * self.grain_ns


REQUEST = CalibrationRequest(
    sql="SELECT",
    parameter="span",
    target_cpu_ms=6.2,
    lower=1,
    upper=20_000,
    arguments=lambda value, overflow, draw: (value, overflow, draw),
    overflow="repeat",
)


def costs(machine: Machine) -> Costs:
    return Costs(machine, machine, REQUEST.arguments)


async def test_what_counts_is_the_cost_of_a_request() -> None:
    setting, cost = await find(costs(Machine(linear, request_ms=0.6)), REQUEST)
    assert linear(setting.value, 1) == pytest.approx(5.6, rel=TOLERANCE)
    assert cost.cpu_ms == pytest.approx(6.2, rel=TOLERANCE)


def linear(value: int, overflow: int) -> float:
    return 0.05 + 0.0006 * value * overflow


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        (linear, 10_250),
        (lambda value, _: value / 1_000, 6_200),
        (lambda value, _: 5 + value / 1_000, 1_200),
        (lambda value, _: (value / 4_000) ** 1.5, 13_501),
    ],
)
async def test_the_value_is_found_to_two_percent(formula: Formula, value: int) -> None:
    setting, cost = await find(costs(Machine(formula)), REQUEST)
    assert formula(setting.value, 1) == pytest.approx(6.2, rel=TOLERANCE)
    assert setting.value == pytest.approx(value, rel=0.05)
    assert setting.overflow == 1
    assert cost.spread == pytest.approx(0, abs=1e-6)
    assert cost.cpu_ms == pytest.approx(6.2, rel=TOLERANCE)


@pytest.mark.parametrize("seed", range(10))
async def test_disturbances_do_not_lead_it_astray(seed: int) -> None:
    machine = Machine(linear, noise=0.02, random=Random(seed))
    setting, cost = await find(costs(machine), REQUEST)
    assert linear(setting.value, 1) == pytest.approx(6.2, rel=0.15)
    assert cost.spread > 0


async def test_a_coarse_clock_needs_more_executions_and_comes_as_close() -> None:
    fine, coarse = Machine(linear), Machine(linear, grain_ns=10_000_000)
    await find(costs(fine), REQUEST)
    setting, _ = await find(costs(coarse), REQUEST)
    assert linear(setting.value, 1) == pytest.approx(6.2, rel=0.05)
    assert coarse.executions > fine.executions


async def test_a_fast_machine_repeats_the_work() -> None:
    def fast(value: int, overflow: int) -> float:
        return linear(value, overflow) / 50

    setting, _ = await find(costs(Machine(fast)), REQUEST)
    assert fast(setting.value, setting.overflow) == pytest.approx(6.2, rel=TOLERANCE)
    assert setting.value <= 20_000
    assert setting.overflow > 1


async def test_a_large_upper_bound_is_not_tried_out() -> None:
    seen: list[int] = []

    def formula(value: int, _: int) -> float:
        seen.append(value)
        return value / 1_000

    await find(costs(Machine(formula)), replace(REQUEST, upper=10**9))
    assert max(seen) < 10 * 6_200, "nobody waits for executions of a billion rows"


@pytest.mark.parametrize(
    ("formula", "request_"),
    [
        (lambda value, _: value * 1e-6, replace(REQUEST, overflow=None)),
        (lambda value, _: value * 1e-9, REQUEST),
        (lambda value, _: 50.0, REQUEST),
        (lambda value, _: value * 4.0, replace(REQUEST, lower=3)),
    ],
)
async def test_what_cannot_be_reached_is_an_error(
    formula: Formula, request_: CalibrationRequest
) -> None:
    with pytest.raises(DatabaseError, match="no span from"):
        await find(costs(Machine(formula)), request_)


async def test_every_execution_has_a_draw_of_its_own() -> None:
    machine = Machine(linear)
    await find(costs(machine), REQUEST)
    assert len(set(machine.draws)) == len(machine.draws)
