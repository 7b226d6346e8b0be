"""The schema: numbered migrations, views by their text, a comment for everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from poolexp.errors import WarehouseError
from warehouse.database import FILE_NAME, open_warehouse
from warehouse.dictionary import meaning
from warehouse.migrate import MIGRATIONS, VIEWS, Script, is_current, migrate
from warehouse.queries import dictionary, runs

NEXT = MIGRATIONS[-1].number + 1


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def _tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    rows = connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal")
    return {name for (name,) in rows.fetchall()}


def test_migrating_twice_changes_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    assert not is_current(connection)
    migrate(connection)
    assert is_current(connection)
    before = connection.execute("SELECT * FROM raw.migration").fetchall()
    migrate(connection)
    assert connection.execute("SELECT * FROM raw.migration").fetchall() == before
    assert [version for version, *_ in before] == [script.number for script in MIGRATIONS]


def test_only_what_is_missing_is_applied(connection: duckdb.DuckDBPyConnection) -> None:
    migrate(connection)
    connection.execute("DROP TABLE raw.counter")
    later = Script(NEXT, "later.sql", "ALTER TABLE raw.run ADD COLUMN digest_2 VARCHAR")
    migrate(connection, (*MIGRATIONS, later))
    assert "counter" not in _tables(connection)
    assert connection.execute("SELECT count(digest_2) FROM raw.run").fetchall() == [(0,)]


def test_a_migration_that_breaks_off_leaves_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    migrate(connection)
    broken = Script(NEXT, "broken.sql", "CREATE TABLE raw.half (a INTEGER); SELECT nonsense")
    with pytest.raises(duckdb.BinderException):
        migrate(connection, (*MIGRATIONS, broken))
    assert "half" not in _tables(connection)
    assert is_current(connection)


def test_a_newer_schema_is_refused_and_left_alone(own_home: Path) -> None:
    with open_warehouse(own_home) as warehouse:
        warehouse.connection.execute(
            "INSERT INTO raw.migration VALUES (?, 'future.sql', now()::TIMESTAMP)", [NEXT]
        )
    before = (own_home / FILE_NAME).read_bytes()
    for read_only in (True, False):
        with (
            pytest.raises(WarehouseError, match=f"has schema {NEXT}"),
            open_warehouse(own_home, read_only=read_only),
        ):
            pass
    assert (own_home / FILE_NAME).read_bytes() == before


def test_a_reader_of_older_views_brings_them_up_to_date(own_home: Path) -> None:
    with duckdb.connect(own_home / FILE_NAME) as connection:
        connection.execute("UPDATE raw.view_digest SET digest = 'older'")
        connection.execute("DROP VIEW scenario_summary")
        connection.execute("CREATE VIEW forgotten AS SELECT 1 AS one")
    with open_warehouse(own_home, read_only=True) as warehouse:
        relations = set(dictionary(warehouse)["relation"])
        assert runs(warehouse).height == 1
    assert "scenario_summary" in relations
    assert "forgotten" not in relations


def test_one_relation_a_file_named_like_it() -> None:
    for script in VIEWS:
        relation = script.name[4:].removesuffix(".sql").replace("staging_", "staging.", 1)
        assert f"CREATE VIEW {relation} AS\n" in script.sql
        assert script.sql.count("CREATE ") == 1
    numbers = [script.number for script in VIEWS]
    assert len(set(numbers)) == len(numbers)


def test_every_relation_and_column_has_a_comment(connection: duckdb.DuckDBPyConnection) -> None:
    migrate(connection)
    for query in (
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND comment IS NULL",
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL",
        "SELECT schema_name, table_name, column_name FROM duckdb_columns() "
        "WHERE NOT internal AND comment IS NULL",
    ):
        assert connection.execute(query).fetchall() == []


def test_comments_that_are_put_together() -> None:
    assert meaning("main.trial_summary", "round_trip_p99_ms") == (
        "99th percentile of the round trip (received - acquired), in ms."
    )
    assert meaning("main.scenario_summary", "database_cpu_cores_max") == (
        "Greatest over the usable trials of: CPU time used within the window over its length, "
        "in cores (database)."
    )
    assert "infinitely slow" in meaning("main.scenario_summary", "end_to_end_mean_ms_min")
    with pytest.raises(KeyError, match="does not say"):
        meaning("main.trials", "nonsense")


def test_the_dictionary_lists_the_views_for_people(landed_home: Path) -> None:
    with open_warehouse(landed_home, read_only=True) as warehouse:
        listed = dictionary(warehouse)
    assert listed.columns == ["relation", "column", "type", "comment"]
    assert set(listed["relation"]) == {
        "runs",
        "run_comparison",
        "trials",
        "requests",
        "all_requests",
        "counters",
        "trial_summary",
        "scenario_summary",
        "scenario_summary_all",
        "gates",
        "gate_limits",
        "send_lag_by_position",
        "pool_use",
        "comparisons",
        "aa_results",
        "drifts",
        "noise_floors",
        "validations",
    }
    assert listed["comment"].null_count() == 0
