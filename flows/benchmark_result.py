"""What a run came to, as the flow hands it to whoever started it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from poolexp.records import LimitsState
from warehouse.validate import ValidationReport


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that went through every stage; `wall_s` says where the time went, in seconds.

    `landing` overlaps `trials`; all the others follow one another.
    """

    run_id: str
    validation: ValidationReport
    limits: LimitsState
    report: Path
    wall_s: dict[str, float]
    measuring_s: float

    @property
    def trials_s(self) -> float:
        """From the first trial's start to the last landing."""
        return self.wall_s["trials"]

    @property
    def total_s(self) -> float:
        """From the start of the process."""
        return sum(seconds for name, seconds in self.wall_s.items() if name != "landing")
