"""The warehouse with years of runs in it: landing and questions, and what a request takes on disk.

usage:  .venv/bin/uv run python -m benchmarks.warehouse [RUNS] [HOME]

RUNS is 1,000 unless said otherwise: 35 million requests. With a HOME the warehouse is made there
and stays; one that has it already is only measured. Landing a run of 27 trials is compared with
DuckDB's bare insert of the same Parquet files, in as many transactions, into tables of their own
beside the others; both in one connection. Times are without the start of a process.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.synthetic_runs_in_bulk import Drawn, draw_run
from poolexp.landing import attempt_directories
from warehouse import queries
from warehouse.database import FILE_NAME, Warehouse, open_warehouse
from warehouse.load import load_attempts, load_plan, load_run
from warehouse.runs_compared import compare_runs
from warehouse.runs_history import experiment_history

REPEATS = 5
PROBABILITIES = [place / 100 for place in range(1, 100)]

BARE_INSERTS = {
    "requests.parquet": """
    INSERT INTO bare.request BY NAME
    SELECT $1 AS run_id, $2 AS trial, 1 AS attempt, * FROM read_parquet($3)
    """,
    "counters.parquet": """
    INSERT INTO bare.counter BY NAME
    SELECT $1 AS run_id, $2 AS trial, 1 AS attempt, "group" AS control_group, * EXCLUDE ("group")
    FROM read_parquet($3)
    """,
}
# Great Expectations takes seconds a run: what it would say of the drawn runs is written instead.
MARK_VALID = """
INSERT INTO raw.validation BY NAME
SELECT
    'drawn' AS validation_id, run_id, created_at AS validated_at, 1 AS number,
    'drawn' AS expectation, 'drawn' AS statement, '' AS message, TRUE AS success
FROM raw.run
"""
SERIES = """
SELECT run_id, created_at, end_to_end_mean_ms
FROM scenario_summary INNER JOIN runs USING (run_id)
WHERE scenario = ? ORDER BY created_at
"""
QUESTIONS: dict[str, tuple[str, Callable[[Warehouse, str], object]]] = {
    "runs": ("1", lambda warehouse, _: queries.runs(warehouse)),
    "trial_summary of one run": ("1", queries.trial_summary),
    "trial_summary of all runs": (
        "1",
        lambda warehouse, _: warehouse.connection.execute("FROM trial_summary").pl(),
    ),
    "scenario_summary of one run": ("0.3", queries.scenario_summary),
    "gates of one run": ("", queries.gates),
    "quantiles of one run, from requests": (
        "0.3",
        lambda warehouse, run_id: queries.latency_quantiles(warehouse, run_id, PROBABILITIES),
    ),
    "one scenario over all runs": (
        "1",
        lambda warehouse, _: warehouse.connection.execute(SERIES, ["heavy-burst-pool-5"]).pl(),
    ),
    "compare two runs": (
        "1",
        lambda warehouse, run_id: compare_runs(warehouse, [oldest_run(warehouse), run_id]),
    ),
    "history": ("1", lambda warehouse, _: experiment_history(warehouse, None)),
    "scenario_summary of all runs": (
        "",
        lambda warehouse, _: warehouse.connection.execute("FROM scenario_summary").pl(),
    ),
}


def oldest_run(warehouse: Warehouse) -> str:
    """The id of the first run."""
    return str(queries.runs(warehouse)["run_id"][-1])


def main(runs: int, home: Path) -> None:
    """Make the warehouse, measure and print."""
    if not (home / FILE_NAME).exists():
        _fill(home, runs)
    size_bytes = (home / FILE_NAME).stat().st_size
    with open_warehouse(home, read_only=True) as warehouse:
        (count,) = _one(warehouse.connection, "SELECT count(*) FROM raw.request")
        newest = queries.resolve_run(warehouse, "latest")
        print(f"{count:,} requests, {size_bytes / 1e6:,.0f} MB, {size_bytes / count:.1f} B each")
        for name, (goal, ask) in QUESTIONS.items():
            seconds = median(_seconds(ask, warehouse, newest) for _ in range(REPEATS))
            print(f"{name:40} {seconds:8.3f} s" + (f"   goal {goal} s" if goal else ""))
    _compare_landings(home, runs + 1, whole=False)
    _compare_landings(home, runs + 1 + REPEATS, whole=True)


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, ...]:
    return connection.execute(sql).fetchall()[0]


def _seconds(action: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - began


def _fill(home: Path, runs: int) -> None:
    began = time.perf_counter()
    for number in range(runs):
        with _drawn(home, number) as drawn, open_warehouse(home) as warehouse:
            load_run(warehouse, drawn.directory)
        if (number + 1) % 100 == 0:
            print(f"{number + 1} runs in {time.perf_counter() - began:.0f} s", flush=True)
    with open_warehouse(home) as warehouse:
        warehouse.connection.execute(MARK_VALID)


@contextmanager
def _drawn(home: Path, number: int) -> Iterator[Drawn]:
    drawn = draw_run(home, number)
    yield drawn
    shutil.rmtree(drawn.directory)


def _compare_landings(home: Path, first: int, *, whole: bool) -> None:
    ours, peers = [], []
    with open_warehouse(home) as warehouse:
        _make_bare_tables(warehouse.connection)
        for number in range(first, first + REPEATS):
            with _drawn(home, number) as drawn:
                load_plan(warehouse, drawn.directory)
                attempts = attempt_directories(drawn.directory)
                parts = [attempts] if whole else [[each] for each in attempts]
                peers.append(sum(_seconds(_insert, warehouse.connection, part) for part in parts))
                ours.append(sum(_seconds(load_attempts, warehouse, part) for part in parts))
        warehouse.connection.execute("DROP SCHEMA bare CASCADE")
    ratios = [mine / peer for mine, peer in zip(ours, peers, strict=True)]
    print(
        f"landing 27 trials in {1 if whole else 27} transactions: {median(ours):.3f} s, "
        f"bare insert {median(peers):.3f} s, "
        f"ratio {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), goal 2"
    )


def _make_bare_tables(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE SCHEMA IF NOT EXISTS bare")
    for table in ("request", "counter"):
        connection.execute(f"CREATE OR REPLACE TABLE bare.{table} AS FROM raw.{table} LIMIT 0")


def _insert(connection: duckdb.DuckDBPyConnection, attempts: list[Path]) -> None:
    """What DuckDB takes for the same rows: nothing is checked, nothing derived."""
    connection.execute("BEGIN")
    for attempt in attempts:
        run_id, trial, _ = attempt.parts[-3:]
        for file, sql in BARE_INSERTS.items():
            connection.execute(sql, [run_id, int(trial[6:]), str(attempt / file)])
    connection.execute("COMMIT")


if __name__ == "__main__":
    count = int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else 1000
    if len(sys.argv) > 2:
        main(count, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory(prefix="poolexp-warehouse-") as place:
            main(count, Path(place))
