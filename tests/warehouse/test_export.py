"""A run packed, given away and brought into another home: the same bytes, the same numbers."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from public_views import assert_same_rows, public_views
from short_runs import FIRST, SECOND, short_experiment
from synthetic_runs import write_run

from poolexp.errors import PoolexpError, UsageError
from poolexp.landing import run_directory
from warehouse.database import FILE_NAME, open_warehouse
from warehouse.export import export_run
from warehouse.importing import import_run
from warehouse.parcel import SUMS
from warehouse.rebuild import rebuild


@pytest.fixture(scope="module")
def origin(kept_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one validated run, some requests of which failed; to be read only."""
    home = tmp_path_factory.mktemp("origin") / "home"
    shutil.copytree(kept_home, home)
    shutil.rmtree(run_directory(home, SECOND))
    (home / FILE_NAME).unlink()
    rebuild(home)
    (run_directory(home, FIRST) / "trial-003" / "attempt-2.partial").mkdir()
    return home


@pytest.fixture(scope="module")
def parcel(origin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That run as a directory; to be read only."""
    with open_warehouse(origin, read_only=True) as warehouse:
        return export_run(warehouse, FIRST, tmp_path_factory.mktemp("out") / "run")


@pytest.fixture
def own_parcel(parcel: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(parcel, tmp_path / "parcel"))


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def seal(folder: Path) -> None:
    """Write the checksums anew, as somebody who means harm would."""
    sums = {name: data for name, data in files(folder).items() if name != SUMS}
    (folder / SUMS).write_text(
        "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sums.items())
    )


def test_an_export_says_what_it_holds(parcel: Path, origin: Path) -> None:
    names = set(files(parcel))
    assert {
        "README.md",
        "columns.csv",
        "run/plan.json",
        "run/run.json",
        "run/outcome.json",
    } <= names
    assert {"requests.parquet", "counters.parquet", "kept/validation.parquet"} <= names
    assert not any("partial" in name for name in names)
    checked = subprocess.run(
        ["sha256sum", "--check", "--quiet", SUMS], cwd=parcel, check=False, capture_output=True
    )
    assert (checked.returncode, checked.stdout) == (0, b"")
    views = public_views(origin)
    columns = pl.read_csv(parcel / "columns.csv")
    readme = (parcel / "README.md").read_text(encoding="utf-8")
    for path in [*parcel.glob("*.csv"), *parcel.glob("*.parquet")]:
        if path.name == "columns.csv":
            continue
        frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
        assert frame.height == len(views[path.stem]), path.name
        described = columns.filter(pl.col("relation") == path.stem)
        assert described["column"].to_list() == frame.columns
        assert described["comment"].null_count() == 0
        assert all(f"| `{name}` |" in readme for name in frame.columns)
    unit = columns.filter(column="database_memory_mib", relation="trial_summary")["unit"].item()
    assert unit == "MiB"


@pytest.mark.parametrize("name", ["run.zip", pytest.param("run", marks=pytest.mark.long)])
def test_a_round_trip_changes_nothing(origin: Path, tmp_path: Path, name: str) -> None:
    with open_warehouse(origin, read_only=True) as warehouse:
        packed = export_run(warehouse, FIRST, tmp_path / name)
    home = tmp_path / "other"
    imported = import_run(home, packed)
    assert (imported.run_id, imported.known) == (FIRST, False)
    assert files(run_directory(home, FIRST)) == files(run_directory(origin, FIRST))
    for path in home.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert import_run(home, packed).known
    assert_same_rows(origin, home)


@pytest.mark.long
def test_the_same_run_gives_the_same_zip_and_nothing_is_overwritten(
    origin: Path, tmp_path: Path
) -> None:
    with open_warehouse(origin, read_only=True) as warehouse:
        first = export_run(warehouse, FIRST, tmp_path / "a.zip")
        second = export_run(warehouse, FIRST, tmp_path / "b.zip")
        with pytest.raises(UsageError, match="is there already"):
            export_run(warehouse, FIRST, second)
    assert first.read_bytes() == second.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "b.zip"}


def test_another_run_with_the_same_id_is_refused(parcel: Path, tmp_path: Path) -> None:
    own = write_run(tmp_path, run_id=FIRST, experiment=short_experiment(), seed=7)
    before = files(own)
    with pytest.raises(UsageError, match="has another run"):
        import_run(tmp_path, parcel)
    assert files(own) == before
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [FIRST]


def _changed(parcel: Path) -> None:
    path = parcel / "run" / "trial-001" / "attempt-1" / "requests.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"!")


def _missing(parcel: Path) -> None:
    (parcel / "run" / "trial-001" / "attempt-1" / "counters.parquet").unlink()


def _added(parcel: Path) -> None:
    (parcel / "run" / "more.json").write_text("{}")


def _unsealed(parcel: Path) -> None:
    (parcel / SUMS).unlink()


def _escaping_sums(parcel: Path) -> None:
    with (parcel / SUMS).open("a") as file:
        file.write(f"{'0' * 64}  run/../../escaped\n")


def _link(parcel: Path) -> None:
    path = parcel / "run" / "run.json"
    target = path.rename(parcel.parent / "elsewhere.json")
    path.symlink_to(target)


def _escaping_run_id(parcel: Path) -> None:
    path = parcel / "run" / "plan.json"
    path.write_text(path.read_text().replace(FIRST, "../../escaped"))
    seal(parcel)


def _judgements_of_another_run(parcel: Path) -> None:
    path = parcel / "kept" / "validation.parquet"
    pl.read_parquet(path).with_columns(run_id=pl.lit("another")).write_parquet(path)
    seal(parcel)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_changed, "not the file that was packed"),
        (_missing, "does not fit the files"),
        (_added, "does not fit the files"),
        (_unsealed, "no export"),
        (_escaping_sums, "outside of the parcel"),
        (_link, "is a link"),
        (_escaping_run_id, "names its run"),
        (_judgements_of_another_run, "judgements of other runs"),
    ],
)
def test_a_parcel_that_is_not_as_it_was_packed_is_refused(
    own_parcel: Path, tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(own_parcel)
    home = tmp_path / "deep" / "home"
    with pytest.raises(PoolexpError, match=message) as caught:
        import_run(home, own_parcel)
    assert caught.value.remedy
    assert not home.exists() or list((home / "runs").glob("*")) == []
    assert not list(tmp_path.rglob("escaped*"))


@pytest.mark.parametrize("name", ["../escaped", "/tmp/poolexp-escaped", "run/../../escaped"])
def test_a_zip_cannot_write_elsewhere(parcel: Path, tmp_path: Path, name: str) -> None:
    packed = tmp_path / "parcel.zip"
    sums = (parcel / SUMS).read_text() + f"{hashlib.sha256(b'x').hexdigest()}  {name}\n"
    with zipfile.ZipFile(packed, "w") as archive:
        for inside, data in files(parcel).items():
            archive.writestr(inside, sums if inside == SUMS else data)
        archive.writestr(name, b"x")
    with pytest.raises(UsageError, match="outside of the parcel"):
        import_run(tmp_path / "home", packed)
    assert [path.name for path in tmp_path.iterdir()] == ["parcel.zip"]
    assert not Path("/tmp/poolexp-escaped").exists()


@pytest.mark.parametrize("data", [b"", b"no zip", None])
def test_what_is_no_zip_is_refused(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "parcel.zip"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UsageError):
        import_run(tmp_path / "home", path)
    assert not (tmp_path / "home").exists()


DIE = """
import os, signal, sys
from pathlib import Path
import warehouse.importing as module
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
home, parcel, point = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
calls = 0
real = module.copy_checked
def seventh(*arguments):
    global calls
    calls += 1
    return die() if calls == 7 else real(*arguments)
setattr(module, point, seventh if point == "copy_checked" else die)
module.import_run(home, parcel)
"""


@pytest.mark.long
@pytest.mark.parametrize("point", ["copy_checked", "_require_equal", "load_run", "bring_kept"])
def test_killed_half_way_and_repeated(
    origin: Path, parcel: Path, tmp_path: Path, point: str
) -> None:
    home = tmp_path / "home"
    if point == "_require_equal":
        import_run(home, parcel)
    ended = subprocess.run([sys.executable, "-c", DIE, home, parcel, point], check=False)
    assert ended.returncode == -signal.SIGKILL
    for run in (home / "runs").iterdir():
        whole = files(run) == files(run_directory(origin, FIRST))
        assert whole or run.name.startswith(".importing-")
    import_run(home, parcel)
    assert_same_rows(origin, home)
    assert [path.name for path in (home / "runs").iterdir()] == [FIRST]
