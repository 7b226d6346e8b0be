"""What a validation found; light enough to be imported without what made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """Whether one expectation held; one that did not has a result for each trial that broke it.

    Attributes:
        expectation: short name, the same in every run.
        statement: what was expected, in words.
        message: what was found, in words: `trial 7 (heavy-burst-pool-5): 479 of 480 ...`.
        trial: number of the trial that broke it; None for the run as a whole.
        details: what Great Expectations reported, or the error that kept it from judging.
    """

    expectation: str
    statement: str
    message: str
    success: bool
    observed: str
    expected: str
    trial: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The judgement on one run: valid when every expectation held, and there was one."""

    validation_id: str
    run_id: str
    validated_at: datetime
    results: tuple[ExpectationResult, ...]

    @property
    def success(self) -> bool:
        """Whether everything held."""
        return bool(self.results) and all(result.success for result in self.results)

    @property
    def failures(self) -> tuple[ExpectationResult, ...]:
        """What did not hold."""
        return tuple(result for result in self.results if not result.success)
