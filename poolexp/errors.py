"""Everything that poolexp raises on purpose.

    PoolexpError                 says what happened, where, and what to do
    ├── ExperimentError          the experiment file is wrong: every problem with its place
    ├── UsageError               the call is wrong: an unknown name, run or option
    │   └── StatementError       the server does not accept a workload's statement
    ├── RefusedError             the environment refuses
    │   ├── DatabaseError        the server cannot be started, reached or used
    │   ├── LimitsError          a CPU limit was required and cannot be set
    │   ├── HomeError            the home cannot be written, or is full
    │   └── WarehouseError       the warehouse is damaged, newer, or held by somebody
    ├── BusyError                another run holds what this one needs
    └── TrialError               an attempt broke off before its window was complete

Only the command line turns these into exit codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class PoolexpError(Exception):
    """Base of all errors raised on purpose: `message` says what happened, `remedy` what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an experiment file: `place` is a key path or a line."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class ExperimentError(PoolexpError):
    """The experiment file is wrong; `problems` holds all of them at once."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) != 1 else "")
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{source}: {count}\n{lines}")


class UsageError(PoolexpError):
    """The call is wrong: an unknown experiment, run, column or option."""


class StatementError(UsageError):
    """The server does not accept a workload's statement."""


class RefusedError(PoolexpError):
    """The environment refuses what the run needs."""


class DatabaseError(RefusedError):
    """The server cannot be started, reached or used as the experiment asks."""


class LimitsError(RefusedError):
    """A CPU limit was required and cannot be set here."""


class HomeError(RefusedError):
    """The home cannot be created or written, or its disk is full."""


class WarehouseError(RefusedError):
    """The warehouse is damaged, was written by a newer version, or is held by somebody."""


class BusyError(PoolexpError):
    """Another run holds what this one needs."""


class TrialError(PoolexpError):
    """An attempt broke off before its window was complete."""
