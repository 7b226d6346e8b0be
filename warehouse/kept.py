"""What the warehouse holds that no trial directory does: judgements of runs, measurements of hosts.

A rebuild carries it over from the old file, and an export takes a run's part of it along.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from warehouse.database import Warehouse

_OF_RUNS = """
SELECT schema_name, table_name
FROM duckdb_columns() SEMI JOIN duckdb_tables() USING (schema_name, table_name)
WHERE schema_name IN ('raw', 'stored') AND column_name = 'run_id'
ORDER BY table_name <> 'run', schema_name, table_name
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """How the rows of one of these tables belong together.

    Attributes:
        run: the column that names the run that they stem from.
        unit: the column whose value all rows made at one time share; such rows come together or,
            if any is there already, not at all.
    """

    run: str = "run_id"
    unit: str = "run_id"


KEPT = {
    "validation": Kept(unit="validation_id"),
    "noise_floor": Kept(run="aa_run_id", unit="aa_run_id"),
    "aa_result": Kept(),
    "comparison": Kept(),
    "drift": Kept(),
}


def read_kept(
    connection: duckdb.DuckDBPyConnection, table: str, run_id: str | None = None
) -> pa.Table:
    """The rows of one of these tables, of one run or of all; no columns if there is no such table.

    Raises:
        duckdb.Error: the file is damaged where they lie.
    """
    if not _columns(connection, table):
        return pa.table({})
    sql = f"SELECT * FROM raw.{table}"  # noqa: S608 - one of ours
    if run_id is None:
        return connection.execute(sql).to_arrow_table()
    return connection.execute(f"{sql} WHERE {KEPT[table].run} = ?", [run_id]).to_arrow_table()


def bring_kept(warehouse: Warehouse, table: str, rows: pa.Table) -> int:
    """Insert what is not there yet; return how many rows that were.

    Only rows of runs that the warehouse knows are taken, and only columns that both have.
    """
    known = _columns(warehouse.connection, table)
    names = [name for name in rows.column_names if name in known]
    if not names or rows.num_rows == 0:
        return 0
    columns = ", ".join(f'"{name}"' for name in names)
    kept = KEPT[table]
    warehouse.connection.register("brought", rows)
    try:
        inserted = warehouse.connection.execute(
            f"INSERT INTO raw.{table} ({columns}) SELECT {columns} FROM brought "  # noqa: S608
            f"WHERE {kept.run} IN (SELECT run_id FROM raw.run) "
            f"AND {kept.unit} NOT IN (SELECT {kept.unit} FROM raw.{table})"
        ).fetchone()
    finally:
        warehouse.connection.unregister("brought")
    return int(inserted[0]) if inserted else 0


def bring_run(old: duckdb.DuckDBPyConnection, warehouse: Warehouse, run_id: str) -> None:
    """Bring over all that another file has of one run, whose directory is gone.

    Raises:
        duckdb.Error: the other file is damaged, or its rows do not fit.
    """
    connection = warehouse.connection
    for schema, table in connection.execute(_OF_RUNS).fetchall():
        known = _columns(connection, table, schema) & _columns(old, table, schema)
        columns = ", ".join(f'"{name}"' for name in sorted(known))
        if not columns or table in KEPT:
            continue
        sql = f"SELECT {columns} FROM {schema}.{table} WHERE run_id = ?"  # noqa: S608 - our names
        connection.register("brought", old.execute(sql, [run_id]).to_arrow_table())
        connection.execute(f"INSERT INTO {schema}.{table} ({columns}) FROM brought")
        connection.unregister("brought")


def _columns(
    connection: duckdb.DuckDBPyConnection, table: str, schema: str = "raw"
) -> frozenset[str]:
    sql = "SELECT column_name FROM duckdb_columns() WHERE schema_name = ? AND table_name = ?"
    found = connection.execute(sql, [schema, table]).fetchall()
    return frozenset(name for (name,) in found)
