"""Raw rows dropped on request: summaries stay, the file shrinks, and nothing passes on nothing."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from public_views import assert_same_rows, public_views
from short_runs import FIRST, SECOND
from synthetic_runs import CREATED_AT

from poolexp.errors import BusyError, UsageError
from poolexp.home import hold_home
from poolexp.landing import run_directory
from reports.run_report import write_run_report
from warehouse.database import FILE_NAME, open_warehouse
from warehouse.load import load_run
from warehouse.prune import COMPACTING, Prunable, prunable, prune
from warehouse.rebuild import rebuild
from warehouse.validate import validate_run

MADE: datetime = CREATED_AT.replace(tzinfo=None)
RAW = ("requests", "all_requests", "counters")


@pytest.fixture
def home(kept_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept_home, tmp_path / "home"))


def old_runs(home: Path, *labels: str) -> tuple[Prunable, ...]:
    with open_warehouse(home, read_only=True) as warehouse:
        return prunable(warehouse, MADE + timedelta(hours=1), labels)


def test_only_old_runs_without_a_kept_label_can_be_pruned(kept_home: Path) -> None:
    (found,) = old_runs(kept_home)
    views = public_views(kept_home)
    assert found.run_id == FIRST
    assert found.requests == sum(row[0] == FIRST for row in views["all_requests"])
    assert found.counters == sum(row[0] == FIRST for row in views["counters"])
    assert 0 < found.about_bytes < (kept_home / FILE_NAME).stat().st_size
    assert old_runs(kept_home, "µ <b>") == ()
    with open_warehouse(kept_home, read_only=True) as warehouse:
        assert prunable(warehouse, MADE) == ()


def test_summaries_stay_and_the_directories_too(home: Path, kept_home: Path) -> None:
    prune(home, old_runs(home))
    before, after = (public_views(place, without=("pruned_at",)) for place in (kept_home, home))
    for name in RAW:
        rows = before.pop(name)
        assert after.pop(name) == [row for row in rows if row[0] != FIRST]
    assert after == before
    assert old_runs(home) == ()
    assert (home / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert not (home / COMPACTING).exists()
    with open_warehouse(home) as warehouse:
        # Landing again what has landed brings nothing back.
        load_run(warehouse, run_directory(home, FIRST))
        with pytest.raises(UsageError, match=r"were pruned.*last validation failed") as caught:
            validate_run(warehouse, FIRST)
        with pytest.raises(UsageError, match="were pruned"):
            write_run_report(warehouse, FIRST, home / "reports")
    assert "rebuild" in caught.value.remedy
    assert not (home / "reports").exists()
    rebuild(home)
    assert_same_rows(kept_home, home)


@pytest.mark.long
def test_a_pruned_run_outlives_its_directory(home: Path, kept_home: Path) -> None:
    prune(home, old_runs(home))
    shutil.rmtree(run_directory(home, FIRST))
    assert rebuild(home).brought == [FIRST]
    before, after = public_views(kept_home), public_views(home)
    assert after["scenario_summary"] == before["scenario_summary"]
    assert after["validations"] == before["validations"]
    with open_warehouse(home) as warehouse, pytest.raises(UsageError, match="were pruned"):
        validate_run(warehouse, FIRST)


def test_a_run_that_goes_on_is_not_disturbed(home: Path) -> None:
    found = old_runs(home)
    with hold_home(home, "the-other-run"), pytest.raises(BusyError, match="the-other-run"):
        prune(home, found)
    assert old_runs(home) == found


DIE = """
import os, signal, sys
from datetime import datetime
from pathlib import Path
import warehouse.prune as module
from warehouse.database import open_warehouse
home, before, point = Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2]), sys.argv[3]
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
with open_warehouse(home, read_only=True) as opened:
    found = module.prunable(opened, before)
setattr(Path if point == "replace" else module, point, die)
module.prune(home, found)
"""


@pytest.mark.long
@pytest.mark.parametrize("point", ["_drop", "_compact", "replace"])
def test_killed_half_way_and_repeated(home: Path, point: str) -> None:
    before = (MADE + timedelta(days=9)).isoformat()
    ended = subprocess.run([sys.executable, "-c", DIE, home, before, point], check=False)
    assert ended.returncode == -signal.SIGKILL
    with open_warehouse(home) as warehouse:
        left = prunable(warehouse, MADE + timedelta(days=9))
    assert [run.run_id for run in left] == ([FIRST, SECOND] if point == "_drop" else [])
    prune(home, left)
    assert public_views(home)["all_requests"] == []
    assert not (home / COMPACTING).exists()
