"""The warehouse again from the trial directories: the same numbers, and the old file is kept."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from public_views import assert_same_rows, public_views
from short_runs import FIRST, SECOND

from poolexp.errors import BusyError, UsageError, WarehouseError
from poolexp.home import hold_home
from poolexp.landing import run_directory
from warehouse.database import FILE_NAME, open_warehouse
from warehouse.kept import KEPT
from warehouse.rebuild import BUILDING, rebuild


@pytest.fixture
def home(kept_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept_home, tmp_path / "home"))


def kept_files(home: Path) -> list[Path]:
    return sorted(home.glob(f"{FILE_NAME}.replaced-*"))


def test_a_rebuilt_warehouse_has_the_same_rows_and_the_old_file_is_kept(
    home: Path, kept_home: Path
) -> None:
    old = (home / FILE_NAME).read_bytes()
    told = []
    report = rebuild(home, lambda *step: told.append(step))
    assert report.whole
    assert report.runs == [FIRST, SECOND]
    assert told == [(FIRST, 1, 2), (SECOND, 2, 2)]
    assert report.carried["validation"] > 0
    assert report.kept_as is not None
    assert report.kept_as.read_bytes() == old
    assert_same_rows(kept_home, home)
    assert (home / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert not (home / BUILDING).exists()


JUDGED_AGAIN = ("validation_id", "validated_at", "compared_at", "details")
"""What differs where a run is judged once more."""


def _halved(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    return data[:5000] + bytes([data[5000] ^ 0xFF]) + data[5001:]


@pytest.mark.parametrize("spoil", [_halved, pytest.param(_flipped, marks=pytest.mark.long)])
def test_a_damaged_file_is_kept_and_its_judgements_are_made_again(
    home: Path, kept_home: Path, spoil: Callable[[bytes], bytes]
) -> None:
    path = home / FILE_NAME
    path.write_bytes(spoil(path.read_bytes()))
    damaged = path.read_bytes()
    with pytest.raises(WarehouseError, match="poolexp rebuild --home"), open_warehouse(home):
        pass
    report = rebuild(home)
    assert report.unread
    assert report.validated == [FIRST], "the one that broke off was never validated"
    assert report.kept_as is not None
    assert report.kept_as.read_bytes() == damaged
    assert_same_rows(kept_home, home, without=JUDGED_AGAIN)


def test_a_newer_warehouse_is_not_replaced(home: Path) -> None:
    with duckdb.connect(home / FILE_NAME) as connection:
        connection.execute("INSERT INTO raw.migration VALUES (99, 'later', now())")
    before = (home / FILE_NAME).read_bytes()
    with pytest.raises(WarehouseError, match="schema 99"):
        rebuild(home)
    assert (home / FILE_NAME).read_bytes() == before


@pytest.mark.long
def test_damage_where_the_judgements_lie_is_told(home: Path) -> None:
    path = home / FILE_NAME
    data = bytearray(path.read_bytes())
    for place in range(3 * 262_144, len(data), 4096):
        data[place] ^= 0xFF
    path.write_bytes(data)
    report = rebuild(home)
    assert any("checksum" in reason or "Corrupt" in reason for reason in report.unread)
    assert report.validated == [FIRST]


WRITE_AND_DIE = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("DELETE FROM raw.request")
os._exit(1)
"""


@pytest.mark.parametrize("spoilt", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_log_that_was_left_goes_with_the_old_file(
    home: Path, kept_home: Path, spoilt: bool
) -> None:
    """Rows are deleted in the log alone: replayed into the new file, it would do so again."""
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, home / FILE_NAME], check=False)
    log = home / f"{FILE_NAME}.wal"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF if spoilt else 0
    log.write_bytes(data)
    report = rebuild(home)
    assert report.kept_as is not None
    kept_log = report.kept_as.with_name(f"{report.kept_as.name}.wal")
    assert kept_log.read_bytes() == bytes(data)
    assert not log.exists()
    assert public_views(home)["requests"] == public_views(kept_home)["requests"]


REBUILD_AND_DIE = """
import os, signal, sys
from pathlib import Path
import warehouse.rebuild as module
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
home, point = Path(sys.argv[1]), sys.argv[2]
if point == "second run":
    module.rebuild(home, lambda name, number, total: number == 2 and die())
setattr(module, point, die) if point != "replace" else setattr(Path, "replace", die)
module.rebuild(home)
"""


@pytest.mark.long
@pytest.mark.parametrize("point", ["second run", "_carry_over", "_replace", "replace"])
def test_killed_half_way_and_repeated(home: Path, kept_home: Path, point: str) -> None:
    ended = subprocess.run([sys.executable, "-c", REBUILD_AND_DIE, home, point], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert_same_rows(kept_home, home)
    assert rebuild(home).whole
    assert_same_rows(kept_home, home)
    assert not (home / BUILDING).exists()


def test_what_does_not_fit_is_named_and_the_rest_lands(home: Path) -> None:
    first = run_directory(home, FIRST)
    (first / "trial-001" / "attempt-1" / "requests.parquet").write_bytes(b"spoilt")
    (first / "trial-002" / "attempt-1.copy").mkdir()
    shutil.copytree(run_directory(home, SECOND), home / "runs" / "copy-of-second")
    (home / "runs" / "notes.txt").write_text("mine")
    (home / "runs" / ".importing-x").mkdir()
    report = rebuild(home)
    assert not report.whole
    reasons = {
        str(skipped.directory.relative_to(home)): skipped.reason for skipped in report.skipped
    }
    assert "SHA-256" in reasons[f"runs/{FIRST}/trial-001/attempt-1"]
    assert "not that of an attempt" in reasons[f"runs/{FIRST}/trial-002/attempt-1.copy"]
    assert f"copy of run {SECOND}" in reasons["runs/copy-of-second"]
    assert "no plan.json" in reasons["runs/notes.txt"]
    assert len(reasons) == 4
    landed = {row[:2] for row in public_views(home)["all_requests"]}
    assert (FIRST, 1) not in landed
    assert {(FIRST, 2), (SECOND, 1)} <= landed


def test_a_run_whose_directory_is_gone_is_taken_from_the_old_file(
    home: Path, kept_home: Path
) -> None:
    shutil.rmtree(run_directory(home, FIRST))
    report = rebuild(home)
    assert (report.whole, report.brought, report.runs) == (True, [FIRST], [SECOND])
    assert_same_rows(kept_home, home)


@pytest.mark.long
def test_a_home_with_directories_alone_gets_its_warehouse(home: Path) -> None:
    (home / FILE_NAME).unlink()
    shutil.rmtree(run_directory(home, FIRST))
    report = rebuild(home)
    assert (report.whole, report.kept_as, report.runs) == (True, None, [SECOND])


def test_nothing_to_rebuild_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to rebuild"):
        rebuild(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_goes_on_is_not_disturbed(home: Path) -> None:
    with hold_home(home, "the-other-run"), pytest.raises(BusyError, match="the-other-run"):
        rebuild(home)
    assert kept_files(home) == []


def test_every_table_is_made_from_directories_or_carried_over(home: Path) -> None:
    """A new table must be thought of: one that a rebuild leaves empty loses what it held."""
    with duckdb.connect(home / FILE_NAME, read_only=True) as connection:
        tables = {
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'"
            ).fetchall()
        }
    bookkeeping = {"migration", "view_digest"}
    landed = {"run", "trial", "attempt", "request", "counter"}
    landed |= {"pruned"}  # the rows are back
    assert tables - bookkeeping - landed - set(KEPT) == set()
