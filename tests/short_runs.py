"""An experiment of a few short trials, for tests that write many runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from synthetic_runs import CREATED_AT, Spoiling, write_run

from poolexp.catalogue import parse_experiment
from poolexp.experiment import Experiment
from warehouse.database import open_warehouse
from warehouse.load import load_run
from warehouse.validate import validate_run

FIRST, SECOND, THIRD = (f"2026010{day}T000000Z-aaaa" for day in (1, 2, 3))


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


def write_kept_home(home: Path) -> None:
    """A home with a validated run, with failures and a second attempt, and one that broke off."""
    short = short_experiment()
    spoilt = Spoiling(failures={1: 3}, retried=(2,))
    with open_warehouse(home) as warehouse:
        load_run(
            warehouse,
            write_run(home, run_id=FIRST, experiment=short, label="µ <b>", spoiling=spoilt),
        )
        validate_run(warehouse, FIRST)
        later = CREATED_AT + timedelta(days=1)
        nothing = Spoiling(leave_out=(4,))
        run = write_run(
            home,
            run_id=SECOND,
            experiment=short,
            created_at=later,
            state="failed",
            spoiling=nothing,
        )
        load_run(warehouse, run)
