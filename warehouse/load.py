"""Lands trial directories in the warehouse: whole or not at all, as often as you like.

The directories are the truth. What is already there with the same digest is left alone; what has
changed is replaced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

import duckdb

from poolexp.errors import WarehouseError
from poolexp.landing import attempt_directories
from warehouse.complaints import is_about_the_file
from warehouse.database import Warehouse
from warehouse.derive import derive_fresh, forget_derived, prepare_fresh
from warehouse.documents import Document, Manifest, PlanDocument, damaged, parse, read_text
from warehouse.migrate import transaction, utc_now
from warehouse.statements import statement

Value = str | int | datetime | None

_READ = {"requests.parquet": "fresh_requests", "counters.parquet": "fresh_counters"}
_COUNTS = {
    "requests.parquet": "SELECT run_id, trial, attempt, count(*) FROM fresh_request GROUP BY ALL",
    "counters.parquet": "SELECT run_id, trial, attempt, count(*) FROM fresh_counter GROUP BY ALL",
}
_KEEP_ROWS = (
    "INSERT INTO raw.request FROM fresh_request",
    "INSERT INTO raw.counter FROM fresh_counter",
)
_RUN_DIGEST = "SELECT digest FROM raw.run WHERE run_id = ?"
_ATTEMPT_DIGEST = "SELECT digest FROM raw.attempt WHERE run_id = ? AND trial = ? AND attempt = ?"
_FRESH_ATTEMPT = "INSERT INTO fresh_attempt VALUES (?, ?, ?, ?, ?)"
_FORGET_ROWS = (
    "DELETE FROM raw.attempt WHERE run_id = ? AND trial = ? AND attempt = ?",
    "DELETE FROM raw.request WHERE run_id = ? AND trial = ? AND attempt = ?",
    "DELETE FROM raw.counter WHERE run_id = ? AND trial = ? AND attempt = ?",
)


def load_run(warehouse: Warehouse, run_dir: Path) -> None:
    """Land everything that a run has left so far: its documents and all its attempts."""
    load_plan(warehouse, run_dir)
    directories = attempt_directories(run_dir)
    try:
        load_attempts(warehouse, directories)
    except WarehouseError:
        # One of them is spoilt: those before it land, and it is named.
        for directory in directories:
            load_attempt(warehouse, directory)


def load_plan(warehouse: Warehouse, run_dir: Path) -> None:
    """Land a run's plan, and its facts and outcome as far as they are written.

    Raises:
        WarehouseError: the plan is missing, or a document is damaged or has a newer format.
    """
    path = run_dir / "plan.json"
    plan = read_text(path)
    if plan is None:
        raise WarehouseError(
            f"{run_dir} holds no plan.json: it is no run's directory",
            "Name a directory below runs/ of a home.",
        )
    run_id = parse(PlanDocument, path, plan).run_id
    texts = [plan, *(_checked(run_dir / name) for name in ("run.json", "outcome.json"))]
    digest = _sha256(repr(texts))
    if _known_digest(warehouse, _RUN_DIGEST, run_id) != digest:
        with _refusing(path), transaction(warehouse.connection):
            _insert_run(warehouse, run_id, digest, *texts)


def _checked(path: Path) -> str | None:
    text = read_text(path)
    if text is not None:
        parse(Document, path, text)
    return text


def _insert_run(
    warehouse: Warehouse,
    run_id: str,
    digest: str,
    plan: str | None,
    facts: str | None,
    outcome: str | None,
) -> None:
    documents = {"plan": plan, "facts": facts, "outcome": outcome}
    _run(warehouse, "upsert_run", run_id=run_id, digest=digest, loaded_at=utc_now(), **documents)
    warehouse.connection.execute("DELETE FROM raw.trial WHERE run_id = ?", [run_id])
    _run(warehouse, "insert_trials", run_id=run_id, plan=plan)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt's directory with its manifest, read once so that text and digest agree."""

    directory: Path
    text: str
    manifest: Manifest
    known: bool = False

    @property
    def digest(self) -> str:
        return _sha256(self.text)

    @property
    def key(self) -> tuple[str, int, int]:
        return self.manifest.run_id, self.manifest.trial, self.manifest.attempt

    @property
    def parameters(self) -> dict[str, str | int]:
        return dict(zip(("run_id", "trial", "attempt"), self.key, strict=True))


def load_attempt(warehouse: Warehouse, attempt_dir: Path) -> int:
    """Land one attempt and return how many requests that brought: none if it is there already.

    Raises:
        WarehouseError: the directory does not hold what its manifest says, its format is newer,
            or its run's plan has not been loaded.
    """
    return load_attempts(warehouse, [attempt_dir])


def load_attempts(warehouse: Warehouse, attempt_dirs: Sequence[Path]) -> int:
    """Land several attempts in one transaction, which is quicker than one after another.

    Raises:
        WarehouseError: as for one; none of them has landed then.
    """
    new = [each for each in map(partial(_news, warehouse), attempt_dirs) if each is not None]
    if not new:
        return 0
    where = new[0].directory if len(new) == 1 else new[0].directory.parents[1]
    with _refusing(where), transaction(warehouse.connection):
        prepare_fresh(warehouse.connection)
        requests = _read_rows(warehouse, new)
        _forget(warehouse, [attempt for attempt in new if attempt.known])
        _store_manifests(warehouse, new)
        _keep(warehouse)
    return requests


def _news(warehouse: Warehouse, attempt_dir: Path) -> _Attempt | None:
    """An attempt that is not there yet, or otherwise, and is as it was measured."""
    attempt = _read_attempt(attempt_dir)
    known = _known_digest(warehouse, _ATTEMPT_DIGEST, *attempt.key)
    if known == attempt.digest:
        return None
    _require_planned(warehouse, attempt)
    for name in _READ:
        _check_seal(attempt, name)
    return replace(attempt, known=known is not None)


def _read_attempt(directory: Path) -> _Attempt:
    path = directory / "trial.json"
    text = read_text(path)
    if text is None:
        raise WarehouseError(
            f"{directory} holds no trial.json: it is no attempt's directory",
            "Name a directory like runs/<run>/trial-001/attempt-1.",
        )
    attempt = _Attempt(directory, text, parse(Manifest, path, text))
    run_id, trial, number = attempt.key
    said = Path(run_id, f"trial-{trial:03d}", f"attempt-{number}")
    if directory.absolute().parts[-3:] != said.parts:
        raise WarehouseError(
            f"{path} is the manifest of {said}",
            "Put the directory back to where it was measured.",
        )
    return attempt


def _read_rows(warehouse: Warehouse, attempts: Sequence[_Attempt]) -> int:
    """Read the rows of all files aside, check their numbers, and return how many requests."""
    for attempt in attempts:
        files = [str(attempt.directory / name) for name in _READ]
        warehouse.connection.execute(_FRESH_ATTEMPT, [*attempt.key, *files])
    for name, count in _COUNTS.items():
        paths = [str(attempt.directory / name) for attempt in attempts]
        warehouse.connection.execute(statement(_READ[name]), {"files": paths})
        counted = warehouse.connection.execute(count).fetchall()
        found = {(run_id, trial, number): rows for run_id, trial, number, rows in counted}
        for attempt in attempts:
            _check_rows(attempt, name, found.get(attempt.key, 0))
    return sum(attempt.manifest.files["requests.parquet"].rows for attempt in attempts)


def _store_manifests(warehouse: Warehouse, attempts: Sequence[_Attempt]) -> None:
    for attempt in attempts:
        _run(
            warehouse,
            "insert_attempt",
            **attempt.parameters,
            digest=attempt.digest,
            manifest=attempt.text,
            loaded_at=utc_now(),
        )


def _forget(warehouse: Warehouse, replaced: Sequence[_Attempt]) -> None:
    for attempt in replaced:
        for sql in _FORGET_ROWS:
            warehouse.connection.execute(sql, list(attempt.key))
    if replaced:
        forget_derived(warehouse.connection)


def _keep(warehouse: Warehouse) -> None:
    """Put what was read aside in its place, and derive from it."""
    for sql in _KEEP_ROWS:
        warehouse.connection.execute(sql)
    derive_fresh(warehouse.connection)


def _require_planned(warehouse: Warehouse, attempt: _Attempt) -> None:
    run_id, trial, _ = attempt.key
    found = warehouse.connection.execute(
        "SELECT count(*) FROM raw.trial WHERE run_id = ? AND trial = ?", [run_id, trial]
    ).fetchone()
    if found == (0,):
        raise WarehouseError(
            f"{attempt.directory} is trial {trial} of run {run_id}, which no loaded plan holds",
            "Load the run's plan first; if it is loaded, the directory belongs to another run.",
        )


def _check_seal(attempt: _Attempt, name: str) -> None:
    path = attempt.directory / name
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise _changed(path, "it is missing") from None
    if name not in attempt.manifest.files or found != attempt.manifest.files[name].sha256:
        raise _changed(path, "its SHA-256 is not the one in trial.json")


def _check_rows(attempt: _Attempt, name: str, found: int) -> None:
    expected = attempt.manifest.files[name].rows
    if found != expected:
        raise _changed(attempt.directory / name, f"it has {found} rows, trial.json says {expected}")


def _changed(path: Path, how: str) -> WarehouseError:
    return WarehouseError(
        f"{path} is not the file that was measured: {how}",
        "Bring the directory back from a copy, or delete it and measure the trial again.",
    )


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say which file it was that does not fit into the tables."""
    try:
        yield
    except duckdb.Error as error:
        if is_about_the_file(error):
            raise
        raise damaged(path, str(error).partition("\n")[0]) from error


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _known_digest(warehouse: Warehouse, sql: str, *key: Value) -> str | None:
    row = warehouse.connection.execute(sql, list(key)).fetchone()
    return str(row[0]) if row else None


def _run(warehouse: Warehouse, name: str, **parameters: Value) -> int:
    """Run one of the stored statements and return how many rows it brought."""
    row = warehouse.connection.execute(statement(name), parameters).fetchone()
    return int(row[0]) if row else 0
