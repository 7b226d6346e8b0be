"""Makes the whole warehouse again from the trial directories.

The new one is built beside the old one and takes its place only when it is whole. The old file is
kept, damaged or not: nothing is deleted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from poolexp.errors import UsageError, WarehouseError
from poolexp.home import hold_home
from poolexp.landing import attempt_directories, stray_paths, sync_directory
from warehouse.database import FILE_NAME, Warehouse, open_unchanged, open_warehouse
from warehouse.documents import PlanDocument, parse, read_text
from warehouse.kept import KEPT, bring_kept, bring_run, read_kept
from warehouse.load import load_attempt, load_plan
from warehouse.migrate import is_current, transaction
from warehouse.validate import validate_run

BUILDING = "rebuilding"
"""Folder of the home in which the new file grows; what a killed rebuild left there is removed."""

OnRun = Callable[[str, int, int], None]
"""Told before each run: its name, its number from 1, and how many there are."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A directory that did not land, and why."""

    directory: Path
    reason: str


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild came to.

    Attributes:
        runs, attempts, requests: how many landed.
        skipped: directories that do not fit.
        carried: rows taken over from the old file, by table.
        unread: why the old file, or a table of it, could not be read.
        validated: runs that were judged again, because their judgements could not be read.
        brought: runs that only the old file had, because their directories are gone.
        missing: such runs that could not be brought over.
        kept_as: where the old file lies now; None if there was none.
    """

    runs: list[str] = field(default_factory=list)
    attempts: int = 0
    requests: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    carried: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    validated: list[str] = field(default_factory=list)
    brought: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    kept_as: Path | None = None

    @property
    def whole(self) -> bool:
        """Whether everything that there was is in the new warehouse."""
        return not self.skipped and not self.missing


def rebuild(home: Path, on_run: OnRun = lambda *_: None) -> Rebuilt:
    """Make the warehouse of `home` again from its run directories.

    Raises:
        UsageError: there are neither runs nor a warehouse.
        BusyError: a run is going on, or another process holds the old file.
        HomeError: the disk is full; the old file is as it was.
    """
    place = home.resolve()
    directories = _run_directories(place)
    if not directories and not (place / FILE_NAME).exists():
        raise UsageError(
            f"there is nothing to rebuild: {place} holds neither runs nor a warehouse",
            "Name the home that holds the runs with --home.",
        )
    report = Rebuilt()
    with hold_home(place, "rebuild"), _old_file(place, report) as old:
        building = place / BUILDING
        shutil.rmtree(building, ignore_errors=True)
        with open_warehouse(building) as warehouse:
            _load_all(warehouse, directories, report, on_run)
            _carry_over(old, warehouse, report)
        report.kept_as = _replace(place, building / FILE_NAME)
        shutil.rmtree(building)
    return report


def _run_directories(home: Path) -> list[Path]:
    """All that lies below runs/, but for what begins with a dot: that is being brought in."""
    found = (home / "runs").glob("*")
    return sorted(path for path in found if not path.name.startswith("."))


@contextmanager
def _old_file(home: Path, report: Rebuilt) -> Iterator[duckdb.DuckDBPyConnection | None]:
    """The old file, held so that nobody writes what would be lost; None if it cannot be read."""
    with ExitStack() as stack:
        old = None
        if (home / FILE_NAME).exists():
            try:
                old = stack.enter_context(open_unchanged(home))
            except WarehouseError as error:
                report.unread.append(error.message)
        if old is not None:
            # Raises for a newer schema; what cannot be read is told where it is carried over.
            with suppress(duckdb.Error):
                is_current(old)
        yield old


def _load_all(
    warehouse: Warehouse, directories: list[Path], report: Rebuilt, on_run: OnRun
) -> None:
    for number, directory in enumerate(directories, start=1):
        on_run(directory.name, number, len(directories))
        with _skipping(directory, report):
            _load_run(warehouse, directory, report)


def _load_run(warehouse: Warehouse, directory: Path, report: Rebuilt) -> None:
    _require_own_name(directory)
    load_plan(warehouse, directory)
    report.runs.append(directory.name)
    report.skipped += [
        Skipped(path, "its name is not that of an attempt") for path in stray_paths(directory)
    ]
    for attempt in attempt_directories(directory):
        with _skipping(attempt, report):
            report.requests += load_attempt(warehouse, attempt)
            report.attempts += 1


def _require_own_name(directory: Path) -> None:
    path = directory / "plan.json"
    text = read_text(path)
    run_id = parse(PlanDocument, path, text).run_id if text is not None else directory.name
    if run_id != directory.name:
        raise WarehouseError(f"it is a copy of run {run_id}", "Give it back its own name.")


@contextmanager
def _skipping(directory: Path, report: Rebuilt) -> Iterator[None]:
    """One directory that does not fit must not keep the others out."""
    try:
        yield
    except WarehouseError as error:
        report.skipped.append(Skipped(directory, error.message))


def _carry_over(
    old: duckdb.DuckDBPyConnection | None, warehouse: Warehouse, report: Rebuilt
) -> None:
    """Bring over what no directory holds; judge the runs again where that cannot be read."""
    if old is not None:
        for run_id in _without_directory(old, report):
            _bring_run(old, warehouse, run_id, report)
        for table in KEPT:
            try:
                rows = read_kept(old, table)
            except duckdb.Error as error:
                report.unread.append(f"raw.{table}: {_first_line(error)}")
            else:
                report.carried[table] = bring_kept(warehouse, table, rows)
    if "validation" not in report.carried:
        _validate_again(warehouse, report)


def _bring_run(
    old: duckdb.DuckDBPyConnection, warehouse: Warehouse, run_id: str, report: Rebuilt
) -> None:
    try:
        with transaction(warehouse.connection):
            bring_run(old, warehouse, run_id)
        report.brought.append(run_id)
    except duckdb.Error as error:
        report.unread.append(f"run {run_id}: {_first_line(error)}")
        report.missing.append(run_id)


def _without_directory(old: duckdb.DuckDBPyConnection, report: Rebuilt) -> list[str]:
    try:
        known = old.execute("SELECT run_id FROM raw.run").fetchall()
    except duckdb.Error as error:
        report.unread.append(f"raw.run: {_first_line(error)}")
        return []
    told = {skipped.directory.name for skipped in report.skipped}
    return sorted({run_id for (run_id,) in known} - set(report.runs) - told)


def _first_line(error: duckdb.Error) -> str:
    return str(error).partition("\n")[0]


def _validate_again(warehouse: Warehouse, report: Rebuilt) -> None:
    """A run is validated when it is complete; one that broke off never was."""
    complete = warehouse.connection.execute(
        "SELECT run_id FROM raw.run WHERE outcome ->> '$.state' = 'complete' ORDER BY run_id"
    ).fetchall()
    for (run_id,) in complete:
        validate_run(warehouse, run_id)
        report.validated.append(run_id)


def _replace(home: Path, new: Path) -> Path | None:
    """Let the new file take the old one's place at one stroke; return where the old one lies now.

    Until that stroke the old file bears both names, so that a kill leaves one warehouse or the
    other. A log without its file would be replayed into the new one: it goes first.
    """
    if new.with_name(f"{FILE_NAME}.wal").exists():
        raise WarehouseError(f"{new} could not be closed whole", "Try again.")
    path, log = home / FILE_NAME, home / f"{FILE_NAME}.wal"
    aside = home / f"{FILE_NAME}.replaced-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
    for source, target in ((path, aside), (log, aside.with_name(f"{aside.name}.wal"))):
        if source.exists():
            os.link(source, target)
    kept = aside if path.exists() else None
    sync_directory(home)
    log.unlink(missing_ok=True)
    new.replace(path)
    sync_directory(home)
    return kept
