"""What a person may ask: which run is meant, and SQL that can only read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from synthetic_runs import CREATED_AT, RUN_ID, Spoiling, write_run

from poolexp.errors import UsageError
from poolexp.plan import Trial
from poolexp.records import Document
from warehouse import queries
from warehouse.database import FILE_NAME, Warehouse, open_warehouse
from warehouse.load import load_plan, load_run


@pytest.fixture
def warehouse(landed_home: Path) -> Iterator[Warehouse]:
    with open_warehouse(landed_home, read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """Three runs: the ids sort by time, and the label stands twice."""
    home = tmp_path_factory.mktemp("history")
    with open_warehouse(home) as opened:
        for day, (run_id, label) in enumerate(
            [("20260101T000000Z-aaaa", "night"), ("20260102T000000Z-bbbb", "night"),
             ("20260103T000000Z-cccc", None)]
        ):  # fmt: skip
            created_at = CREATED_AT + timedelta(days=day)
            nothing = Spoiling(leave_out=range(1, 28))
            run = write_run(
                home, run_id=run_id, label=label, created_at=created_at, spoiling=nothing
            )
            load_plan(opened, run)
    with open_warehouse(home, read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def sandbox(landed_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that nothing may change, whatever is tried."""
    return Path(shutil.copytree(landed_home, tmp_path_factory.mktemp("sandbox") / "home"))


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("latest", "20260103T000000Z-cccc"),
        ("20260101T000000Z-aaaa", "20260101T000000Z-aaaa"),
        ("20260102", "20260102T000000Z-bbbb"),
        ("night", "20260102T000000Z-bbbb"),
    ],
)
def test_references_to_runs(history: Warehouse, reference: str, meant: str) -> None:
    assert queries.resolve_run(history, reference) == meant


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("202601", "fits 3 runs; the newest of them: 20260101T000000Z-aaaa"),
        ("yesterday", "there is no run 'yesterday'; the newest are: 20260101T000000Z-aaaa"),
        ("", "'' fits 3 runs"),
        ("%", "there is no run '%'"),
        ("2026010_", "there is no run"),
    ],
)
def test_unclear_references_name_the_candidates(
    history: Warehouse, reference: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        queries.resolve_run(history, reference)
    assert caught.value.remedy


def test_no_runs_yet(tmp_path: Path) -> None:
    with open_warehouse(tmp_path) as empty, pytest.raises(UsageError, match="no runs yet"):
        queries.resolve_run(empty, "latest")


def test_runs_come_newest_first(history: Warehouse) -> None:
    assert queries.runs(history)["run_id"].to_list() == [
        "20260103T000000Z-cccc",
        "20260102T000000Z-bbbb",
        "20260101T000000Z-aaaa",
    ]


def test_scenarios_come_in_the_order_of_the_experiment(warehouse: Warehouse) -> None:
    scenarios = queries.scenario_summary(warehouse, RUN_ID)["scenario"].to_list()
    assert scenarios == [
        f"{workload}-pool-{size}"
        for workload in ("light-uniform", "heavy-uniform", "heavy-burst")
        for size in (5, 20, 100)
    ]


def test_kinds_of_errors_are_counted_over_accepted_attempts(tmp_path: Path) -> None:
    def errors(trial: Trial, document: Document) -> Document:
        entry = {"kind": "ValueError", "message": f"first of {trial.number}", "count": 2}
        told = {1: {"errors": [entry]}, 2: {"errors": [entry, entry | {"kind": "OSError"}]}}
        generator = dict(document["generator"])
        # As before there were any in a manifest.
        del generator["errors"]
        return document | {"generator": generator | told.get(trial.number, {})}

    run = write_run(tmp_path, spoiling=Spoiling(retried=(2,), edit_manifest=errors))
    with open_warehouse(tmp_path) as opened:
        load_run(opened, run)
        assert queries.failure_kinds(opened, RUN_ID).rows() == [
            ("ValueError", "first of 1", 4),
            ("OSError", "first of 2", 2),
        ]


def test_facts_of_an_unknown_run(warehouse: Warehouse) -> None:
    assert queries.run_facts(warehouse, RUN_ID)["plan"]["experiment"]["name"] == "pool-lab-quick"
    with pytest.raises(UsageError, match="there is no run 'x'"):
        queries.run_facts(warehouse, "x")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM requests",
        "  -- how many?\n /* really */ select count(*) from requests ;",
        "WITH mine AS (FROM requests) SELECT count(*) FROM mine",
        "FROM requests LIMIT 1",
        "VALUES (1)",
        "DESCRIBE trials",
        "SUMMARIZE trials",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
        "SELECT 'INSERT; PRAGMA' AS text",
        "SELECT * FROM (PIVOT trials ON block IN (1, 2, 3) USING count(*) GROUP BY workload)",
    ],
)
def test_questions_are_answered(warehouse: Warehouse, sql: str) -> None:
    assert queries.run_sql(warehouse, sql).height >= 1


def test_an_answer_without_rows_keeps_its_columns(warehouse: Warehouse) -> None:
    frame = queries.run_sql(warehouse, "SELECT run_id, n FROM trial_summary WHERE n < 0")
    assert (frame.columns, frame.height) == (["run_id", "n"], 0)


@pytest.mark.parametrize(
    "sql",
    [
        "COPY requests TO '{home}/stolen.csv'",
        "COPY (SELECT 1) TO '{home}/stolen.parquet'",
        "ATTACH '{home}/other.duckdb' AS other",
        "ATTACH ':memory:' AS other",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "SELECT * FROM query_table('/etc/passwd')",
        "SELECT * FROM parquet_scan('{home}/runs/*/*/*/*.parquet')",
        "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
        "SELECT * FROM query('COPY requests TO ''{home}/stolen.csv''')",
        "EXPLAIN ANALYZE COPY requests TO '{home}/stolen.csv'",
        "SELECT getenv('HOME')",
        "SELECT * FROM warehouse",
        "INSERT INTO raw.request SELECT * FROM raw.request",
        "UPDATE raw.request SET outcome = 'done'",
        "DELETE FROM raw.request",
        "EXPLAIN ANALYZE DELETE FROM raw.request",
        "DROP VIEW requests",
        "CREATE TABLE mine AS SELECT 1",
        "CREATE TEMP TABLE mine AS SELECT 1",
        "CREATE OR REPLACE VIEW requests AS SELECT 1",
        "SET enable_external_access = true",
        "SET threads = 1",
        "SET VARIABLE a = 1",
        "RESET threads",
        "PRAGMA database_size",
        "/* hidden */ PRAGMA database_size",
        "PRAGMA enable_profiling",
        "INSTALL httpfs",
        "LOAD json",
        "CALL duckdb_tables()",
        "CHECKPOINT",
        "EXPORT DATABASE '{home}/stolen'",
        "IMPORT DATABASE '{home}/stolen'",
        "USE raw",
        "BEGIN",
        "PREPARE question AS SELECT 1",
        "VACUUM",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP VIEW requests",
        "",
        "   -- nothing",
        "nonsense",
        "SELECT no_such_column FROM requests",
    ],
)
def test_everything_else_is_refused_and_changes_nothing(sandbox: Path, sql: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in sandbox.rglob("*")}
    content = (sandbox / FILE_NAME).read_bytes()
    with open_warehouse(sandbox, read_only=True) as opened:
        with pytest.raises(UsageError) as caught:
            queries.run_sql(opened, sql.replace("{home}", str(sandbox)))
        assert caught.value.remedy
        assert queries.run_sql(opened, "SELECT count(*) FROM requests").item() == 5040
    assert {path: path.stat().st_mtime_ns for path in sandbox.rglob("*")} == before
    assert (sandbox / FILE_NAME).read_bytes() == content


def test_the_refusal_says_what_duckdb_says(warehouse: Warehouse) -> None:
    with pytest.raises(UsageError, match=r'"acquire" not found[\s\S]*acquire_wait_ms') as caught:
        queries.run_sql(warehouse, "SELECT acquire FROM requests")
    assert "\n" not in caught.value.remedy


def test_a_persons_sql_needs_a_warehouse_open_for_reading(own_home: Path) -> None:
    with open_warehouse(own_home) as writable, pytest.raises(ValueError, match="reading only"):
        queries.run_sql(writable, "SELECT 1")
