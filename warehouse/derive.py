"""Derives from an attempt's raw rows, once, what views ask for again and again, and stores it.

The SQL stands in the folder derivations/, one file for each table of the schema `stored`, and
reads temporary tables: at landing they hold what came out of the attempt's files, so that it takes
the same time however large the warehouse is. When that SQL changes, what was stored is derived
again, run by run, from the raw rows; where these are gone, it stays as it was.
"""

from __future__ import annotations

import hashlib

import duckdb

from warehouse.migrate import read_scripts, transaction, utc_now
from warehouse.statements import statement

DERIVATIONS = read_scripts("derivations")
DIGEST = hashlib.sha256("\n".join(script.sql for script in DERIVATIONS).encode()).hexdigest()[:16]

TABLES = ("attempt", "usage", "pool_slice", "send_lag", "measured")
_OF_RUN = ("fresh_attempts_of_run", "fresh_requests_of_run", "fresh_counters_of_run")
_FORGET = """
DELETE FROM stored.attempt
WHERE (run_id, trial, attempt) IN (SELECT run_id, trial, attempt FROM fresh_attempt)
"""
_KNOWN = "SELECT digest FROM stored.derivation"


def is_derived(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether everything that is stored was derived by this version's SQL, as far as it can be."""
    return connection.execute(_KNOWN).fetchone() == (DIGEST,)


def prepare_fresh(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the temporary tables that derivations read, or empty them."""
    connection.execute(statement("fresh_tables"))


def derive_fresh(connection: duckdb.DuckDBPyConnection) -> None:
    """Store what the attempts in `fresh_attempt` give; nothing must be stored of them yet."""
    for script in DERIVATIONS:
        parameters = {"derivation": DIGEST} if "$derivation" in script.sql else None
        connection.execute(script.sql, parameters)


def forget_derived(connection: duckdb.DuckDBPyConnection) -> None:
    """Delete what is stored of the attempts in `fresh_attempt`."""
    for table in TABLES:
        connection.execute(_FORGET.replace("stored.attempt", f"stored.{table}"))


def derive_run(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Derive a run's attempts again, as far as their raw rows are all still there."""
    with transaction(connection):
        prepare_fresh(connection)
        for name in _OF_RUN:
            connection.execute(statement(name), [run_id])
        forget_derived(connection)
        derive_fresh(connection)


def derive_outdated(connection: duckdb.DuckDBPyConnection) -> None:
    """Derive again what other SQL derived, one run a transaction, so that it can be broken off."""
    for (run_id,) in connection.execute(statement("outdated_runs"), [DIGEST]).fetchall():
        derive_run(connection, run_id)
    with transaction(connection):
        connection.execute("DELETE FROM stored.derivation")
        connection.execute("INSERT INTO stored.derivation VALUES (?, ?)", [DIGEST, utc_now()])
