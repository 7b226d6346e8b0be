"""Packs one run, for another home and for people with other tools; `parcel` says what is in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from poolexp.errors import HomeError, UsageError, WarehouseError
from poolexp.landing import run_directory, sync_directory
from warehouse.database import Warehouse
from warehouse.documentation import parcel_readme, with_units
from warehouse.kept import KEPT, read_kept
from warehouse.parcel import KEPT_FOLDER, RUN, SUMS
from warehouse.queries import dictionary

AS_PARQUET = ("requests", "counters")
"""Views with many rows."""

_LEFT_OUT = ("all_requests",)
_BATCH_ROWS = 100_000
_WITH_RUN = """
SELECT table_name FROM duckdb_columns()
WHERE schema_name = 'main' AND NOT internal AND column_name = 'run_id' ORDER BY table_name
"""


def export_run(warehouse: Warehouse, run_id: str, target: Path) -> Path:
    """Write one run to a new directory, or to a zip file if `target` ends so; return its path.

    Raises:
        UsageError: there is something already.
        WarehouseError: the run's directory is gone.
        HomeError: it cannot be written there.
    """
    if target.exists():
        raise UsageError(f"{target} is there already", "Delete it, or name another with --to.")
    run = run_directory(warehouse.path.parent, run_id)
    if not run.is_dir():
        raise WarehouseError(f"{run} is gone", "An export needs the run's directory.")
    partial = target.with_name(f".{target.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True, mode=0o700)
        _fill(partial, warehouse, run_id, run)
        _finish(partial, target)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise HomeError(
            f"{target} cannot be written: {error.strerror}", "Name another place with --to."
        ) from None
    return target


def _fill(folder: Path, warehouse: Warehouse, run_id: str, run: Path) -> None:
    _copy_run(run, folder / RUN)
    _write_kept(folder / KEPT_FOLDER, warehouse.connection, run_id)
    views = _views(warehouse.connection)
    for view in views:
        _write_view(folder, warehouse.connection, view, run_id)
    columns = dictionary(warehouse).filter(pl.col("relation").is_in(views))
    with_units(columns).write_csv(folder / "columns.csv")
    (folder / "README.md").write_text(parcel_readme(run_id, columns), encoding="utf-8")
    sums = "".join(f"{digest}  {name}\n" for name, digest in _digests(folder))
    (folder / SUMS).write_text(sums, encoding="utf-8")


def _copy_run(run: Path, folder: Path) -> None:
    """All that is complete; neither what was being written nor where a link points to."""
    for path in sorted(run.rglob("*")):
        inside = path.relative_to(run)
        half_made = any(part.endswith((".partial", ".new")) for part in inside.parts)
        if path.is_file() and not path.is_symlink() and not half_made:
            (folder / inside).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copyfile(path, folder / inside)


def _write_kept(folder: Path, connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    folder.mkdir(mode=0o700)
    for table in KEPT:
        rows = read_kept(connection, table, run_id)
        if rows.num_rows:
            pq.write_table(rows, folder / f"{table}.parquet", compression="zstd")


def _views(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Every view for people that tells of single runs."""
    found = connection.execute(_WITH_RUN).fetchall()
    return [name for (name,) in found if name not in _LEFT_OUT]


def _write_view(
    folder: Path, connection: duckdb.DuckDBPyConnection, view: str, run_id: str
) -> None:
    sql = f"SELECT * FROM {view} WHERE run_id = ? ORDER BY ALL"  # noqa: S608 - one of ours
    answer = connection.execute(sql, [run_id])
    if view in AS_PARQUET:
        _write_parquet(folder / f"{view}.parquet", answer.to_arrow_reader(_BATCH_ROWS))
    else:
        answer.pl().write_csv(folder / f"{view}.csv")


def _write_parquet(path: Path, rows: pa.RecordBatchReader) -> None:
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as writer:
        for batch in rows:
            writer.write_batch(batch)


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        yield path.relative_to(folder).as_posix(), digest


def _finish(partial: Path, target: Path) -> None:
    """Give the directory, or a zip file of it, its final name."""
    if target.suffix != ".zip":
        partial.rename(target)
    else:
        packed = partial.with_suffix(".zip")
        _zip(partial, packed)
        packed.replace(target)
        shutil.rmtree(partial)
    sync_directory(target.parent)


def _zip(folder: Path, packed: Path) -> None:
    """The same run gives the same bytes: names in order, and no times."""
    descriptor = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                info = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                info.external_attr = 0o600 << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as entry:
                    shutil.copyfileobj(source, entry, 1 << 20)
        file.flush()
        os.fsync(file.fileno())
