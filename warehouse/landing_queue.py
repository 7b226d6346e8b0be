"""Lands what a run under way leaves, later where somebody holds the warehouse.

The directories are the truth: what has not landed yet is only not to be seen yet. So a trial never
waits long for a reader; its landing is left to the next one, and the last one waits.
"""

from __future__ import annotations

from pathlib import Path

from poolexp.errors import BusyError
from warehouse.database import open_warehouse
from warehouse.load import load_attempts, load_plan

PATIENCE_S = 1.0
"""How long one landing waits for the warehouse before it is left to the next one, in seconds."""


class LandingQueue:
    """The attempts of one run that wait for their landing."""

    def __init__(self, home: Path, run_dir: Path) -> None:
        self._home = home
        self._run_dir = run_dir
        self._waiting: list[Path] = []

    @property
    def waiting(self) -> tuple[Path, ...]:
        """The attempts that have not landed yet."""
        return tuple(self._waiting)

    def add(self, attempt_dir: Path) -> None:
        """Let an attempt land with the next landing."""
        self._waiting.append(attempt_dir)

    def land(self, patience_s: float = PATIENCE_S) -> bool:
        """Land the run's documents and all that waits, as far as the warehouse can be had.

        Returns:
            Whether nothing waits any more.
        """
        try:
            self.land_now(patience_s)
        except BusyError:
            return False
        return True

    def land_now(self, patience_s: float = PATIENCE_S) -> None:
        """The same, but say who holds the warehouse.

        Raises:
            BusyError: somebody held it for longer than `patience_s` seconds.
        """
        try:
            self._land(patience_s)
        except BusyError as error:
            raise BusyError(
                error.message,
                f"Nothing that was measured is lost: {self._run_dir} holds it. End that process, "
                "and bring it into the warehouse with `poolexp rebuild`.",
            ) from None

    def _land(self, patience_s: float) -> None:
        with open_warehouse(self._home, patience_s=patience_s) as warehouse:
            load_plan(warehouse, self._run_dir)
            load_attempts(warehouse, self._waiting)
        self._waiting.clear()
