"""Lands trial directories in the warehouse: one directory, one transaction, as often as you like.

The directories are the truth. What is already there with the same digest is left alone; what has
changed is replaced.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from poolexp.errors import WarehouseError
from poolexp.landing import FORMAT, attempt_directories
from warehouse.database import Warehouse
from warehouse.migrate import transaction, utc_now
from warehouse.statements import statement

Value = str | int | datetime | None

_FILES = {"requests.parquet": "insert_requests", "counters.parquet": "insert_counters"}
_RUN_DIGEST = "SELECT digest FROM raw.run WHERE run_id = ?"
_ATTEMPT_DIGEST = "SELECT digest FROM raw.attempt WHERE run_id = ? AND trial = ? AND attempt = ?"
_FORGET_ROWS = (
    "DELETE FROM raw.request WHERE run_id = ? AND trial = ? AND attempt = ?",
    "DELETE FROM raw.counter WHERE run_id = ? AND trial = ? AND attempt = ?",
)


def load_run(warehouse: Warehouse, run_dir: Path) -> None:
    """Land everything that a run has left so far: its documents and all its attempts."""
    load_plan(warehouse, run_dir)
    for attempt in attempt_directories(run_dir):
        load_attempt(warehouse, attempt)


def load_plan(warehouse: Warehouse, run_dir: Path) -> None:
    """Land a run's plan, and its facts and outcome as far as they are written.

    Raises:
        WarehouseError: a document is missing, is no JSON or has a newer format.
    """
    documents = {name: _text(run_dir / f"{name}.json") for name in ("plan", "run", "outcome")}
    for name, text in documents.items():
        if text is not None:
            _parse(run_dir / f"{name}.json", text)
    if documents["plan"] is None:
        raise WarehouseError(
            f"{run_dir} holds no plan.json: it is no run's directory",
            "Name a directory below runs/ of a home.",
        )
    run_id = json.loads(documents["plan"])["run_id"]
    digest = hashlib.sha256(repr(documents).encode()).hexdigest()
    if _known_digest(warehouse, _RUN_DIGEST, run_id) == digest:
        return
    with transaction(warehouse.connection):
        _insert_run(warehouse, run_id, digest, documents)


def _insert_run(
    warehouse: Warehouse, run_id: str, digest: str, documents: dict[str, str | None]
) -> None:
    plan = documents["plan"]
    _run(
        warehouse,
        "upsert_run",
        run_id=run_id,
        digest=digest,
        plan=plan,
        facts=documents["run"],
        outcome=documents["outcome"],
        loaded_at=utc_now(),
    )
    warehouse.connection.execute("DELETE FROM raw.trial WHERE run_id = ?", [run_id])
    _run(warehouse, "insert_trials", run_id=run_id, plan=plan)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt's directory with its manifest, read once so that text and digest agree."""

    directory: Path
    text: str
    manifest: dict[str, Any]

    @property
    def key(self) -> dict[str, Any]:
        return {name: self.manifest[name] for name in ("run_id", "trial", "attempt")}

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def load_attempt(warehouse: Warehouse, attempt_dir: Path) -> int:
    """Land one attempt and return how many requests that brought: none if it is there already.

    Raises:
        WarehouseError: the directory does not hold what its manifest says, its format is newer,
            or its run's plan has not been loaded.
    """
    attempt = _read_attempt(attempt_dir)
    if _known_digest(warehouse, _ATTEMPT_DIGEST, *attempt.key.values()) == attempt.digest:
        return 0
    _require_planned(warehouse, attempt)
    for name in _FILES:
        _check_seal(attempt, name)
    with transaction(warehouse.connection):
        return _insert_attempt(warehouse, attempt)


def _read_attempt(directory: Path) -> _Attempt:
    path = directory / "trial.json"
    text = _text(path)
    if text is None:
        raise WarehouseError(
            f"{directory} holds no trial.json: it is no attempt's directory",
            "Name a directory like runs/<run>/trial-001/attempt-1.",
        )
    attempt = _Attempt(directory, text, _parse(path, text))
    places = directory.parent.parent.name, directory.parent.name, directory.name
    said = (
        attempt.key["run_id"],
        f"trial-{attempt.key['trial']:03d}",
        f"attempt-{attempt.key['attempt']}",
    )
    if places != said:
        raise WarehouseError(
            f"{path} is the manifest of {'/'.join(said)}",
            "Put the directory back to where it was measured.",
        )
    return attempt


def _insert_attempt(warehouse: Warehouse, attempt: _Attempt) -> int:
    for sql in _FORGET_ROWS:
        warehouse.connection.execute(sql, list(attempt.key.values()))
    _run(
        warehouse,
        "insert_attempt",
        **attempt.key,
        digest=attempt.digest,
        manifest=attempt.text,
        loaded_at=utc_now(),
    )
    landed = {}
    for name, insert in _FILES.items():
        landed[name] = _run(warehouse, insert, **attempt.key, file=str(attempt.directory / name))
        _check_rows(attempt, name, landed[name])
    return landed["requests.parquet"]


def _require_planned(warehouse: Warehouse, attempt: _Attempt) -> None:
    run_id, trial, _ = attempt.key.values()
    found = warehouse.connection.execute(
        "SELECT count(*) FROM raw.trial WHERE run_id = ? AND trial = ?", [run_id, trial]
    ).fetchone()
    if found is None or found[0] == 0:
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
        found = "nothing"
    if found != attempt.manifest["files"][name]["sha256"]:
        raise _changed(path, f"its SHA-256 is not the one in trial.json ({found[:12]}...)")


def _check_rows(attempt: _Attempt, name: str, found: int) -> None:
    expected = attempt.manifest["files"][name]["rows"]
    if found != expected:
        raise _changed(attempt.directory / name, f"it has {found} rows, trial.json says {expected}")


def _changed(path: Path, how: str) -> WarehouseError:
    return WarehouseError(
        f"{path} is not the file that was measured: {how}",
        "Bring the directory back from a copy, or delete it and measure the trial again.",
    )


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise WarehouseError(f"{path} cannot be read: {error}", "Look at the file.") from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    """A document of a format that this version knows."""
    try:
        document = json.loads(text)
        version = document["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise WarehouseError(
            f"{path} is damaged: {error}", "Bring the file back from a copy."
        ) from None
    if version > FORMAT:
        raise WarehouseError(
            f"{path} has format {version}; this version of poolexp knows up to {FORMAT}",
            "Use the newer version of poolexp that wrote it.",
        )
    return dict(document)


def _known_digest(warehouse: Warehouse, sql: str, *key: Value) -> str | None:
    row = warehouse.connection.execute(sql, list(key)).fetchone()
    return str(row[0]) if row else None


def _run(warehouse: Warehouse, name: str, **parameters: Value) -> int:
    """Run one of the stored statements and return how many rows it brought."""
    row = warehouse.connection.execute(statement(name), parameters).fetchone()
    return int(row[0]) if row else 0
