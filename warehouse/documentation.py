"""Writes the views' columns down for people: docs/warehouse.md, and the README of an export.

Both are made from the comments in the database, so that they cannot say anything else. After a
change of the views or of dictionary.toml: `.venv/bin/uv run .ci/docs`.
"""

from __future__ import annotations

import duckdb
import polars as pl

from warehouse.migrate import migrate
from warehouse.statements import statement

_UNITS = {
    "_per_s": "1/s",
    "_ms": "ms",
    "_ns": "ns",
    "_us": "us",
    "_s": "s",
    "_mib": "MiB",
    "_bytes": "bytes",
    "_cores": "cores",
    "_share": "share, 0 to 1",
    "_at": "UTC",
}

_HEAD = """# The warehouse's views

<!-- Written by `.ci/docs` from the comments in the database: change those, not this file. -->

What `poolexp sql` can ask. The names are stable. How to recompute each number from `requests`
stands in [recipes.md](recipes.md). A unit stands at the end of a name; instants are whole
nanoseconds from the trial's origin, the start of its warm-up. Where a value was not measured, or a
request did not come that far, there is NULL.
"""

_PARCEL = """# Run {run_id}

Measured with poolexp. `poolexp import` brings it into another home.

| file | holds |
|---|---|
| `run/` | the run's directory as it was measured: plan, facts, outcome, raw rows, manifests |
| `kept/` | what no directory holds: validations, and noise floors measured in this run |
| `requests.parquet` | the requests of the measured windows, with their phases |
| `counters.parquet` | the readings of the control groups |
| `trial_summary.csv` | one row a trial |
| `scenario_summary.csv` | one row a condition, over its repetitions |
| other `.csv` files | the other views of the warehouse, for this run |
| `columns.csv` | every column of all of these: its type, unit and meaning |
| `SHA256SUMS` | checksums: `sha256sum --check SHA256SUMS` |

In CSV, NULL is empty and an empty text is `""`. If the run's raw rows were pruned before it was
exported, `requests.parquet` and `counters.parquet` are empty.
"""


def unit_of(column: str) -> str:
    """The unit of a column, which its name ends with; empty where it has none."""
    base = column.removesuffix("_min").removesuffix("_max")
    return next((unit for ending, unit in _UNITS.items() if base.endswith(ending)), "")


def with_units(columns: pl.DataFrame) -> pl.DataFrame:
    """The dictionary (relation, column, type, comment) with a column `unit` before the comment."""
    units = [unit_of(column) for column in columns["column"]]
    return columns.with_columns(pl.Series("unit", units, dtype=pl.String)).select(
        "relation", "column", "type", "unit", "comment"
    )


def warehouse_page() -> str:
    """The text of docs/warehouse.md."""
    with duckdb.connect() as connection:
        migrate(connection)
        columns = connection.execute(statement("dictionary")).pl()
        comments: dict[str, str] = dict(connection.execute(statement("view_comments")).fetchall())
    contents = "".join(f"- [`{name}`](#{name}): {text}\n" for name, text in comments.items())
    sections = _sections(columns, comments)
    return f"{_HEAD}\n{contents}\n{sections}"


def parcel_readme(run_id: str, columns: pl.DataFrame) -> str:
    """The README of an export: what its files are, and every column of the views in it."""
    names = columns["relation"].unique(maintain_order=True)
    return f"{_PARCEL.format(run_id=run_id)}\n{_sections(columns, dict.fromkeys(names, ''))}"


def _sections(columns: pl.DataFrame, comments: dict[str, str]) -> str:
    described = with_units(columns)
    return "\n".join(
        _section(name, text, described.filter(pl.col("relation") == name))
        for name, text in comments.items()
    )


def _section(name: str, text: str, columns: pl.DataFrame) -> str:
    rows = "".join(
        f"| `{row['column']}` | {row['type']} | {row['unit']} | {_cell(row['comment'])} |\n"
        for row in columns.iter_rows(named=True)
    )
    described = f"{text}\n\n" if text else ""
    return f"## {name}\n\n{described}| column | type | unit | meaning |\n|---|---|---|---|\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
