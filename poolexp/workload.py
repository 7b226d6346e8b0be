"""A workload: a statement, the parameters of its requests, and when they are sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag, model_validator

from poolexp.tables import Factor, Name, Positive, Table

Argument = int | float | str

_NS_PER_MS = 1_000_000

# What may hold a colon that is no placeholder: strings, quoted names, comments, casts.
_SQL_PIECE = re.compile(
    r"""
    '(?:[^']|'')*' | "(?:[^"]|"")*" | (?P<tag>\$\w*\$).*?(?P=tag) | --[^\n]* | /\*.*?\*/ | ::
    | :(?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)


class Constant(Table):
    """A parameter that is the same in every request."""

    value: Argument


class Uniform(Table):
    """A whole number drawn evenly from `min` to `max`, both included.

    `room_for` names another parameter, a length: the draw then ends early enough for a range of
    that length to end at `max`.
    """

    min: int
    max: int
    room_for: str | None = None

    @model_validator(mode="after")
    def _not_upside_down(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is larger than max {self.max}")
        return self


class Calibrated(Table):
    """A length found by calibration: the one with which a request costs so much CPU time.

    Where `max` is too little work for a fast machine, `overflow` names the constant parameter
    that is raised instead.
    """

    calibrate_cpu_ms: Positive
    min: int = Field(default=1, ge=1)
    max: int = Field(ge=1)
    overflow: str | None = None

    @model_validator(mode="after")
    def _not_upside_down(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is larger than max {self.max}")
        return self


def _kind(value: Any) -> str:  # noqa: ANN401 - it sees whatever a file holds
    if isinstance(value, BaseModel):
        return type(value).__name__.lower()
    if "value" in value:
        return "constant"
    return "calibrated" if "calibrate_cpu_ms" in value else "uniform"


def _as_constant(value: Any) -> Any:  # noqa: ANN401 - it sees whatever a file holds
    return value if isinstance(value, dict | BaseModel) else {"value": value}


Parameter = Annotated[
    Annotated[Constant, Tag("constant")]
    | Annotated[Uniform, Tag("uniform")]
    | Annotated[Calibrated, Tag("calibrated")],
    Discriminator(_kind),
    BeforeValidator(_as_constant),
]
"""A bare number or text is a constant; a table is drawn (`min`, `max`) or calibrated."""


class UniformArrivals(Table):
    """One request after another at equal distances."""

    kind: Literal["uniform"]
    rate_per_s: Positive


class BurstArrivals(Table):
    """`size` requests at the same instant, at the mean rate of `rate_per_s`."""

    kind: Literal["burst"]
    size: int = Field(ge=1, le=100_000)
    rate_per_s: Positive


class PoissonArrivals(Table):
    """Requests that know nothing of each other, at the mean rate of `rate_per_s`.

    Drawn anew for every block; within a block all pools get the same instants.
    """

    kind: Literal["poisson"]
    rate_per_s: Positive


class ReplayedArrivals(Table):
    """The instants of a file: one offset a line, in ms from the trial's origin, rising.

    Equal offsets are a burst. `repeat_every_ms` lets the file begin again after so long. Whoever
    reads the experiment's file fills in what the other file holds: its offsets in whole
    nanoseconds, and `sha256`, by which the experiment's digest knows them.
    """

    kind: Literal["replayed"]
    file: str = Field(min_length=1)
    repeat_every_ms: Positive | None = None
    sha256: str
    offsets_ns: tuple[int, ...] = Field(min_length=1, exclude=True, repr=False)

    @model_validator(mode="after")
    def _repeats_after_its_end(self) -> Self:
        if self.period_ns is not None and self.period_ns <= self.offsets_ns[-1]:
            last_ms = self.offsets_ns[-1] / _NS_PER_MS
            raise ValueError(f"repeat_every_ms must be larger than the last offset, {last_ms:g} ms")
        return self

    @property
    def period_ns(self) -> int | None:
        """After how long the file begins again, or None."""
        return None if self.repeat_every_ms is None else round(self.repeat_every_ms * _NS_PER_MS)

    @property
    def rate_per_s(self) -> float:
        """The mean rate over the file."""
        length_ns = self.period_ns or max(self.offsets_ns[-1], 1)
        return len(self.offsets_ns) / length_ns * 1000 * _NS_PER_MS


Arrivals = Annotated[
    UniformArrivals | BurstArrivals | PoissonArrivals | ReplayedArrivals,
    Field(discriminator="kind"),
]


class ClosedLoop(Table):
    """Workers that send a request, wait for its end, think, and send the next one.

    `think` is what a worker does meanwhile: `sleep`, or burn `cpu` time of the generator. The
    window ends early once `operations` requests have begun in it.
    """

    concurrency: Factor[Annotated[int, Field(ge=1, le=10_000)]]
    think_ms: float = Field(default=0.0, ge=0, le=3_600_000)
    think: Literal["sleep", "cpu"] = "sleep"
    operations: int | None = Field(default=None, ge=1)


class Workload(Table):
    """What is sent to the server, and when: at planned times, or by workers in a closed loop."""

    name: Name
    sql: str = Field(min_length=1)
    parameters: dict[str, Parameter] = {}
    arrivals: Arrivals | None = None
    closed_loop: ClosedLoop | None = None

    @model_validator(mode="after")
    def _one_kind_of_load(self) -> Self:
        if (self.arrivals is None) == (self.closed_loop is None):
            raise ValueError("a workload has either arrivals or a closed_loop")
        return self

    @property
    def concurrencies(self) -> tuple[int | None, ...]:
        """The levels of the closed loop's concurrency; None alone for an open loop."""
        return (None,) if self.closed_loop is None else self.closed_loop.concurrency

    @model_validator(mode="after")
    def _parameters_fit_the_statement(self) -> Self:
        used, given = set(self.statement.names), set(self.parameters)
        if missing := sorted(used - given):
            raise ValueError(f"the statement uses :{missing[0]}, which parameters do not define")
        if idle := sorted(given - used):
            raise ValueError(f"parameter {idle[0]} is not used by the statement")
        for name, parameter in self.parameters.items():
            self._check_references(name, parameter)
        return self

    def _check_references(self, name: str, parameter: Constant | Uniform | Calibrated) -> None:
        target = getattr(parameter, "room_for", None) or getattr(parameter, "overflow", None)
        if target is not None and target not in self.parameters:
            raise ValueError(f"parameter {name} refers to {target}, which does not exist")
        if isinstance(self.parameters.get(target or ""), Uniform):
            raise ValueError(f"parameter {name} must refer to a constant or a calibrated length")
        if isinstance(parameter, Calibrated):
            if self.calibrated != (name, parameter):
                raise ValueError("only one parameter of a workload can be calibrated")
            if target is not None and not isinstance(self.parameters[target], Constant):
                raise ValueError(f"overflow of {name} must name a constant parameter")

    @property
    def statement(self) -> Statement:
        """The statement as the driver takes it."""
        return compile_statement(self.sql)

    @property
    def calibrated(self) -> tuple[str, Calibrated] | None:
        """The parameter that a calibration finds, with its name."""
        for name, parameter in self.parameters.items():
            if isinstance(parameter, Calibrated):
                return name, parameter
        return None


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with `$1`, `$2`, ... and the names of the parameters in that order."""

    sql: str
    names: tuple[str, ...]


def compile_statement(sql: str) -> Statement:
    """Turn `:name` into `$n`; casts, strings, quoted names and comments stay as they are."""
    names: list[str] = []

    def positional(piece: re.Match[str]) -> str:
        name = piece["name"]
        if name is None:
            return piece[0]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return Statement(_SQL_PIECE.sub(positional, sql), tuple(names))


def draw_arguments(
    workload: Workload, found: dict[str, int], seed: int
) -> Iterator[tuple[Argument, ...]]:
    """Arguments of one request after another, in the order of the statement, without end.

    `found` gives the values that a calibration found, by parameter name. The same seed gives the
    same arguments whatever the pool.
    """
    random = Random(seed)  # noqa: S311 - repeatable on purpose
    names = workload.statement.names
    while True:
        yield tuple(_draw(workload, name, found, random) for name in names)


def _draw(workload: Workload, name: str, found: dict[str, int], random: Random) -> Argument:
    parameter = workload.parameters[name]
    if name in found:
        return found[name]
    if isinstance(parameter, Constant):
        return parameter.value
    if isinstance(parameter, Calibrated):
        raise KeyError(f"{name} must be calibrated first")
    room = 1
    if parameter.room_for is not None:
        room = int(_draw(workload, parameter.room_for, found, random))
    return random.randint(parameter.min, max(parameter.min, parameter.max - room + 1))
