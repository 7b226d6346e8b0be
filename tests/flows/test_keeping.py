"""The commands that keep what was measured, as a person calls them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from short_runs import FIRST, SECOND
from typer.testing import CliRunner, Result

from flows.cli import app
from poolexp.errors import UsageError
from poolexp.landing import run_directory


@pytest.fixture
def home(kept_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept_home, tmp_path / "home"))


def called(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_rebuild_says_what_it_did_and_what_did_not_fit(home: Path) -> None:
    (run_directory(home, SECOND) / "trial-001" / "attempt-1" / "trial.json").unlink()
    result = called("rebuild", "--home", home)
    assert result.exit_code == 1
    assert f"landing run 2/2  {SECOND}" in result.output
    assert "SKIPPED" in result.output
    assert "The old file is kept as" in result.output


def test_a_run_goes_out_and_in(home: Path, tmp_path: Path) -> None:
    shutil.rmtree(run_directory(home, SECOND))
    packed, other = tmp_path / "run.zip", tmp_path / "other"
    assert called("export", FIRST, "--home", home, "--to", packed).output == f"{packed}\n"
    assert "is in" in called("import", packed, "--home", other).output
    assert "was there already" in called("import", packed, "--home", other).output
    default = called("export", "--home", other).output.strip()
    assert (Path(default), Path(default).is_dir()) == (other / "exports" / FIRST, True)


def test_prune_shows_and_asks_before_it_drops(home: Path) -> None:
    everything = ("prune", "--older-than", "0h", "--home", home)
    before = (home / "warehouse.duckdb").read_bytes()
    shown = called(*everything, "--dry-run")
    assert (FIRST in shown.output, shown.exit_code) == (True, 0)
    unasked = called(*everything)
    assert isinstance(unasked.exception, UsageError)
    assert (home / "warehouse.duckdb").read_bytes() == before
    dropped = called(*everything, "--yes")
    assert (dropped.exit_code, "MB smaller" in dropped.output) == (0, True)
    assert "Runs with raw rows to drop: 0" in called(*everything, "--yes").output


@pytest.mark.parametrize("age", ["90", "d", "-1d", "1y", "1.5d", ""])
def test_an_age_that_is_none_is_refused(home: Path, age: str) -> None:
    result = called("prune", f"--older-than={age}", "--home", home)
    assert isinstance(result.exception, UsageError)
