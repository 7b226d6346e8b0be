"""A report written and read back, and small experiments to make reports of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_reader import Page

from poolexp.catalogue import parse_experiment
from poolexp.experiment import Experiment
from reports.reading import RunReading


@dataclass(frozen=True, slots=True)
class Written:
    """A report on disk, read back, with what the warehouse says about the same run."""

    path: Path
    text: str
    page: Page
    reading: RunReading


Write = Callable[..., Written]


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}\u202e\x1b[2J"


def experiment(**changes: Any) -> Experiment:
    """A small experiment with some of its tables replaced."""
    document: dict[str, Any] = {
        "name": "small",
        "design": {"repetitions": 2, "seed": 7, "warm_up_s": 0.5, "measure_s": 1},
        "database": {"limits": {"cpu_cores": 0.5}},
        "pool": {"size": [2, 8]},
        "workload": [
            {
                "name": "burst",
                "sql": "SELECT 1",
                "arrivals": {"kind": "burst", "size": 5, "rate_per_s": 50},
            }
        ],
    }
    return parse_experiment(document | changes, source="test")
