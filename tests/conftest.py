"""What tests of several packages share: runs on disk and in a warehouse, made once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from run_series import land_series
from short_runs import write_kept_home
from synthetic_runs import write_run

from warehouse.database import open_warehouse
from warehouse.load import load_run


@pytest.fixture(scope="session")
def landed_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one sound synthetic run of pool-lab-quick in its warehouse; to be read only."""
    home = tmp_path_factory.mktemp("landed") / "home"
    run = write_run(home)
    with open_warehouse(home) as warehouse:
        load_run(warehouse, run)
    return home


@pytest.fixture
def own_home(landed_home: Path, tmp_path: Path) -> Path:
    """A copy of that home, to be changed."""
    return Path(shutil.copytree(landed_home, tmp_path / "home"))


@pytest.fixture(scope="session")
def series_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the runs of `run_series.land_series`; to be read only."""
    home = tmp_path_factory.mktemp("series") / "home"
    land_series(home)
    return home


@pytest.fixture(scope="session")
def kept_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two short runs, one of them validated; to be read only."""
    home = tmp_path_factory.mktemp("kept") / "home"
    write_kept_home(home)
    return home
