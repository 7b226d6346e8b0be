"""The trial directory: what one attempt leaves on disk, whole or not at all.

    runs/<run>/plan.json                        stored before anything runs
    runs/<run>/run.json                         facts: host, server, calibration, limits
    runs/<run>/outcome.json                     how the run ended, and where its time went
    runs/<run>/trial-007/attempt-1/
        requests.parquet  counters.parquet      raw columns, warm-up included
        trial.json                              manifest: status, limits, digests

An attempt is written beside its place, synced, and renamed: a directory that bears its final name
is complete. Reports can be made again from these files with no server and no Prefect.

Format history
    1   first
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FORMAT = 1

JSON = Mapping[str, Any]

_ATTEMPT = re.compile(r"trial-\d{3,}/attempt-\d+")

REQUESTS = pa.schema(
    [
        pa.field("seq", pa.int32(), nullable=False),
        pa.field("burst", pa.int32(), nullable=False),
        pa.field("burst_position", pa.int32(), nullable=False),
        pa.field("warm_up", pa.bool_(), nullable=False),
        pa.field("scheduled_ns", pa.int64(), nullable=False),
        pa.field("requested_ns", pa.int64()),
        pa.field("acquired_ns", pa.int64()),
        pa.field("received_ns", pa.int64()),
        pa.field("released_ns", pa.int64()),
        pa.field("ended_ns", pa.int64()),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("sqlstate", pa.string()),
        pa.field("backend_pid", pa.int32()),
    ]
)
"""One row a planned request; instants in ns from the trial's origin, NULL where none happened."""

COUNTERS = pa.schema(
    [
        pa.field("group", pa.string(), nullable=False),
        pa.field("moment", pa.string(), nullable=False),
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("cpu_usage_ns", pa.int64()),
        pa.field("nr_periods", pa.int64()),
        pa.field("nr_throttled", pa.int64()),
        pa.field("throttled_ns", pa.int64()),
        pa.field("memory_bytes", pa.int64()),
        pa.field("memory_anon_bytes", pa.int64()),
        pa.field("memory_shmem_bytes", pa.int64()),
        pa.field("memory_file_bytes", pa.int64()),
        pa.field("pressure_us", pa.int64()),
    ]
)
"""One row a reading of one control group; `moment` is window_start, sample or window_end."""


def run_directory(home: Path, run_id: str) -> Path:
    """Where everything that one run measures lies."""
    return home / "runs" / run_id


def attempt_directory(run: Path, trial: int, attempt: int) -> Path:
    """Where one attempt of one trial lies once it is complete."""
    return run / f"trial-{trial:03d}" / f"attempt-{attempt}"


def attempt_directories(run: Path) -> list[Path]:
    """All complete attempts of a run, in the order of their trials and attempts."""
    return sorted(
        (path for path in run.glob("trial-*/attempt-*") if _is_attempt(path)),
        key=lambda path: (int(path.parent.name[6:]), int(path.name[8:])),
    )


def stray_paths(run: Path) -> list[Path]:
    """What lies where attempts do but cannot be one; an attempt that broke off is none of these."""
    found = [*run.glob("trial-*/*"), *(path for path in run.glob("trial-*") if path.is_file())]
    return sorted(path for path in found if not _is_attempt(path) and path.suffix != ".partial")


def _is_attempt(path: Path) -> bool:
    return _ATTEMPT.fullmatch(f"{path.parent.name}/{path.name}") is not None


def write_attempt(directory: Path, requests: pa.Table, counters: pa.Table, manifest: JSON) -> None:
    """Write one attempt so that its directory appears complete or not at all.

    Raises:
        OSError: the disk is full or not writable; nothing bears the final name then.

    """
    partial = directory.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, mode=0o700)
    files = {}
    for name, table in (("requests.parquet", requests), ("counters.parquet", counters)):
        pq.write_table(table, partial / name, compression="zstd")
        files[name] = {"rows": table.num_rows, "sha256": _seal(partial / name)}
    write_json(partial / "trial.json", {"format": FORMAT, **manifest, "files": files})
    sync_directory(partial)
    partial.rename(directory)
    sync_directory(directory.parent)


def _seal(path: Path) -> str:
    path.chmod(0o600)
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, document: JSON) -> None:
    """Write a JSON file atomically, readable by its owner only; NaN is refused."""
    text = json.dumps(document, indent=1, allow_nan=False)
    beside = path.with_name(path.name + ".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path) -> dict[str, Any]:
    """Read one of the JSON files above."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document
