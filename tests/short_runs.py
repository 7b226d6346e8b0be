"""An experiment of a few short trials, for tests that write many runs."""

from __future__ import annotations

from poolexp.catalogue import parse_experiment
from poolexp.experiment import Experiment


def short_experiment(name: str = "short", *, repetitions: int = 2) -> Experiment:
    """Two workloads and two pools in so many blocks, with windows of 2 s under a CPU limit."""
    limit = {"cpu_cores": 0.5, "period_ms": 10}
    return parse_experiment(
        {
            "name": name,
            "question": "Is it short?",
            "design": {"repetitions": repetitions, "warm_up_s": 0.5, "measure_s": 2},
            "database": {"limits": limit, "dataset": "pool_lab"},
            "generator": {"limits": limit},
            "pool": {"size": [2, 5]},
            "workload": [
                {
                    "name": "even",
                    "sql": "SELECT 1",
                    "arrivals": {"kind": "uniform", "rate_per_s": 50},
                },
                {
                    "name": "burst",
                    "sql": "SELECT 1",
                    "arrivals": {"kind": "burst", "size": 5, "rate_per_s": 50},
                },
            ],
        },
        source="short",
    )
