"""Brings an exported run into a home: checked, whole or not at all, byte for byte."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from poolexp.errors import HomeError, UsageError
from poolexp.home import prepare_home
from poolexp.landing import run_directory, sync_directory
from warehouse.complaints import is_about_the_file
from warehouse.database import Warehouse, open_warehouse
from warehouse.documents import PlanDocument, parse
from warehouse.kept import KEPT, bring_kept
from warehouse.load import load_run
from warehouse.migrate import transaction
from warehouse.parcel import KEPT_FOLDER, RUN, Source, copy_checked, open_parcel, read_sums

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True)
class Imported:
    """The run that was brought in; `known` if the home had the same one already."""

    run_id: str
    known: bool


def import_run(home: Path, parcel: Path) -> Imported:
    """Bring a parcel's run into `home`: its directory first, then the warehouse from it.

    Raises:
        UsageError: it is no parcel, is damaged, would write elsewhere, or the home has another
            run with the same id.
        HomeError, BusyError, WarehouseError: see `open_warehouse` and `load_run`.
    """
    with open_parcel(parcel) as source:
        sums = read_sums(source)
        run_id = _run_id(source, sums, parcel)
        kept = {table: _read_kept(source, sums, table) for table in KEPT}
        for table, rows in kept.items():
            _require_of_run(rows, KEPT[table].run, run_id, parcel)
        place = prepare_home(home)
        known = _bring_directory(source, sums, place, run_id)
    with open_warehouse(place) as warehouse:
        load_run(warehouse, run_directory(place, run_id))
        _bring_all_kept(warehouse, kept, parcel)
    return Imported(run_id, known)


def _read(source: Source, sums: Mapping[str, str], name: str) -> bytes:
    buffer = BytesIO()
    copy_checked(source, name, sums[name], buffer)
    return buffer.getvalue()


def _run_id(source: Source, sums: Mapping[str, str], parcel: Path) -> str:
    name = f"{RUN}/plan.json"
    if name not in sums:
        raise UsageError(f"{parcel} holds no {name}: it is no export", "Export the run again.")
    text = _read(source, sums, name).decode(errors="replace")
    run_id = parse(PlanDocument, parcel / name, text).run_id
    if _RUN_ID.fullmatch(run_id) is None:
        raise UsageError(f"{parcel} names its run {run_id!r}", "Do not trust this file.")
    return run_id


def _read_kept(source: Source, sums: Mapping[str, str], table: str) -> pa.Table:
    name = f"{KEPT_FOLDER}/{table}.parquet"
    if name not in sums:
        return pa.table({})
    try:
        return pq.read_table(BytesIO(_read(source, sums, name)))
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{name} cannot be read: {error}", "Export the run again.") from None


def _bring_directory(source: Source, sums: Mapping[str, str], home: Path, run_id: str) -> bool:
    """Unpack the run's directory and give it its name at one stroke; whether it was there."""
    run = run_directory(home, run_id)
    beside = run.with_name(f".importing-{run_id}")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        _unpack(source, sums, beside)
        known = run.exists()
        if known:
            _require_equal(beside, run)
        else:
            beside.rename(run)
            sync_directory(run.parent)
    except OSError as error:
        raise HomeError(
            f"the run cannot be written to {run.parent}: {error.strerror}",
            "Free some space, or name another home.",
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return known


def _unpack(source: Source, sums: Mapping[str, str], folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700)
    for name, digest in sums.items():
        top, *inside = PurePosixPath(name).parts
        if top == RUN:
            _make_folders(folder, inside[:-1])
            _write(source, name, digest, folder.joinpath(*inside))
    for directory in {path.parent for path in folder.rglob("*")}:
        sync_directory(directory)


def _make_folders(folder: Path, names: Sequence[str]) -> None:
    """One after the other: the mode of a parent that is made on the way cannot be told."""
    for name in names:
        folder = folder / name
        folder.mkdir(mode=0o700, exist_ok=True)


def _write(source: Source, name: str, digest: str, path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        copy_checked(source, name, digest, file)
        file.flush()
        os.fsync(file.fileno())


def _require_equal(brought: Path, run: Path) -> None:
    """What the parcel has must be there and the same; the home may have more of the run."""
    for path in sorted(path for path in brought.rglob("*") if path.is_file()):
        own = run / path.relative_to(brought)
        if not own.is_file() or own.read_bytes() != path.read_bytes():
            raise UsageError(
                f"the home has another run {run.name}: {own} differs",
                "Keep one of them: the other must go into a home of its own.",
            )


def _bring_all_kept(warehouse: Warehouse, kept: Mapping[str, pa.Table], parcel: Path) -> None:
    try:
        with transaction(warehouse.connection):
            for table, rows in kept.items():
                bring_kept(warehouse, table, rows)
    except duckdb.Error as error:
        if is_about_the_file(error):
            raise
        raise UsageError(
            f"the judgements in {parcel} do not fit: {str(error).partition(chr(10))[0]}",
            "The run itself is there; `poolexp validate` judges it again.",
        ) from None


def _require_of_run(rows: pa.Table, column: str, run_id: str, parcel: Path) -> None:
    if rows.num_rows and set(rows[column].to_pylist()) != {run_id}:
        raise UsageError(f"{parcel} holds judgements of other runs", "Do not trust this file.")
