"""What the warehouse holds that no trial directory does: judgements of runs, measurements of hosts.

A rebuild carries it over from the old file, and an export takes a run's part of it along.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa

from warehouse.database import Warehouse

KEPT = {
    "validation": "run_id",
    "noise_floor": "aa_run_id",
    "aa_result": "run_id",
}
"""The tables, each with the column that names the run it stems from."""


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
    return connection.execute(f"{sql} WHERE {KEPT[table]} = ?", [run_id]).to_arrow_table()


def bring_kept(warehouse: Warehouse, table: str, rows: pa.Table) -> int:
    """Insert those rows that are not there yet; return how many that were.

    Only rows of runs that the warehouse knows are taken, and only columns that both have.
    """
    known = _columns(warehouse.connection, table)
    names = [name for name in rows.column_names if name in known]
    if not names or rows.num_rows == 0:
        return 0
    columns = ", ".join(f'"{name}"' for name in names)
    warehouse.connection.register("brought", rows)
    try:
        inserted = warehouse.connection.execute(
            f"INSERT INTO raw.{table} ({columns}) "  # noqa: S608 - names from our own schema
            f"SELECT {columns} FROM brought "
            f"WHERE {KEPT[table]} IN (SELECT run_id FROM raw.run) "
            f"EXCEPT ALL SELECT {columns} FROM raw.{table}"
        ).fetchone()
    finally:
        warehouse.connection.unregister("brought")
    return int(inserted[0]) if inserted else 0


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> frozenset[str]:
    found = connection.execute(
        "SELECT column_name FROM duckdb_columns() WHERE schema_name = 'raw' AND table_name = ?",
        [table],
    ).fetchall()
    return frozenset(name for (name,) in found)
