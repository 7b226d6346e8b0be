"""Opening: creation, locks, damage, rights, other versions."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from synthetic_runs import RUN_ID

from poolexp.errors import BusyError, HomeError, PoolexpError, UsageError, WarehouseError
from poolexp.landing import run_directory
from warehouse.database import FILE_NAME, open_warehouse
from warehouse.load import load_attempt, load_plan
from warehouse.queries import runs, trial_summary

HOLDER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reader")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_by_another_process(path: Path, role: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path, role],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_creates_a_file_for_its_owner_only_under_any_umask(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    before = os.umask(0)
    try:
        with open_warehouse(home) as warehouse:
            assert runs(warehouse).is_empty()
    finally:
        os.umask(before)
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_nothing_to_read_says_so_and_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no runs yet"), open_warehouse(tmp_path, read_only=True):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("role", "read_only"), [("writer", False), ("writer", True), ("reader", False)]
)
def test_a_held_warehouse_names_its_holder(own_home: Path, role: str, read_only: bool) -> None:
    with (
        held_by_another_process(own_home / FILE_NAME, role) as holder,
        pytest.raises(BusyError, match=rf"process {holder.pid} ") as caught,
        open_warehouse(own_home, read_only=read_only, patience_s=0.2),
    ):
        pass
    assert "Wait until that process has ended" in caught.value.remedy


def test_the_lock_is_seen_through_another_path_to_the_home(own_home: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(own_home)
    with (
        held_by_another_process(own_home / FILE_NAME, "writer") as holder,
        pytest.raises(BusyError, match=rf"process {holder.pid} "),
        open_warehouse(alias, patience_s=0),
    ):
        pass


def test_waits_for_a_holder_that_lets_go(own_home: Path) -> None:
    with held_by_another_process(own_home / FILE_NAME, "writer") as holder:
        assert holder.stdin is not None
        let_go = threading.Timer(0.3, holder.stdin.close)
        let_go.start()
        with open_warehouse(own_home, patience_s=30) as warehouse:
            assert runs(warehouse).height == 1
        let_go.join()


def test_two_readers_at_once(own_home: Path) -> None:
    with (
        held_by_another_process(own_home / FILE_NAME, "reader"),
        open_warehouse(own_home, read_only=True, patience_s=0) as warehouse,
    ):
        assert runs(warehouse).height == 1


def test_a_writer_and_a_reader_in_one_process_are_told_apart(own_home: Path) -> None:
    with (
        open_warehouse(own_home),
        pytest.raises(BusyError, match="this process itself"),
        open_warehouse(own_home, read_only=True, patience_s=0),
    ):
        pass


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    return data[:5000] + bytes([data[5000] ^ 0xFF]) + data[5001:]


@pytest.mark.parametrize(
    "spoil",
    [
        _half,
        _flipped,
        lambda data: data[:5000],
        lambda _: b"",
        lambda _: b"not a database\n" * 1000,
        lambda data: bytes(4096) + data[4096:],
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_a_damaged_file_is_named_and_left_alone(
    own_home: Path, spoil: Callable[[bytes], bytes], read_only: bool
) -> None:
    path = own_home / FILE_NAME
    spoilt = spoil(path.read_bytes())
    path.write_bytes(spoilt)
    with (
        pytest.raises(WarehouseError, match="damaged") as caught,
        open_warehouse(own_home, read_only=read_only),
    ):
        pass
    assert str(own_home / "runs") in caught.value.remedy
    assert path.read_bytes() == spoilt


def test_damage_that_only_a_query_meets_is_named_too(own_home: Path) -> None:
    path = own_home / FILE_NAME
    data = bytearray(path.read_bytes())
    # The first blocks hold what opening reads; behind them lie the rows.
    for place in range(3 * 262_144, len(data), 4096):
        data[place] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(WarehouseError, match="damaged"):  # noqa: SIM117 - the query raises
        with open_warehouse(own_home, read_only=True) as warehouse:
            trial_summary(warehouse, RUN_ID)


def test_other_errors_pass_through_unchanged(own_home: Path) -> None:
    with pytest.raises(duckdb.CatalogException), open_warehouse(own_home) as warehouse:
        warehouse.connection.execute("SELECT * FROM nothing")
    with pytest.raises(PoolexpError, match="mine"), open_warehouse(own_home):
        raise PoolexpError("mine")


WRITE_AND_DIE = """
import os, sys
from pathlib import Path
from warehouse.database import open_warehouse
from warehouse.derive import TABLES
from warehouse.load import load_attempt
home, *attempts = map(Path, sys.argv[1:])
with open_warehouse(home) as warehouse:
    for table in ("raw.request", "raw.attempt", *(f"stored.{name}" for name in TABLES)):
        warehouse.connection.execute(f"DELETE FROM {table}")
    for attempt in attempts:
        load_attempt(warehouse, attempt)
    warehouse.connection.execute("BEGIN")
    warehouse.connection.execute("DELETE FROM raw.request")
    os._exit(1)
"""


def _die_after_loading(home: Path, trials: tuple[int, ...]) -> Path:
    """Commit these trials, then die within a transaction; what is committed is in the log only."""
    run = run_directory(home, RUN_ID)
    attempts = [run / f"trial-{trial:03d}" / "attempt-1" for trial in trials]
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, home, *attempts], check=False)
    return home / f"{FILE_NAME}.wal"


@pytest.mark.parametrize("read_only", [True, False])
def test_what_was_committed_survives_the_death_of_the_writer(
    own_home: Path, read_only: bool
) -> None:
    assert _die_after_loading(own_home, (1, 2)).exists()
    with open_warehouse(own_home, read_only=read_only) as warehouse:
        landed = trial_summary(warehouse, RUN_ID).drop_nulls("attempt")
    assert landed["trial"].to_list() == [1, 2]
    assert (landed["n"] == landed["planned"]).all()


def test_a_log_cut_within_its_last_record_loses_only_that(own_home: Path) -> None:
    log = _die_after_loading(own_home, (1, 2))
    log.write_bytes(log.read_bytes()[:-10])
    with open_warehouse(own_home) as warehouse:
        landed = trial_summary(warehouse, RUN_ID).drop_nulls("attempt")
        assert landed["trial"].to_list() == [1]
        attempt = run_directory(own_home, RUN_ID) / "trial-002" / "attempt-1"
        assert load_attempt(warehouse, attempt) > 0


def test_a_log_with_a_wrong_byte_is_kept(own_home: Path) -> None:
    log = _die_after_loading(own_home, (1, 2))
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    with pytest.raises(WarehouseError, match="damaged"), open_warehouse(own_home):
        pass
    assert log.read_bytes() == bytes(data)


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(HomeError, match="cannot be created"), open_warehouse(tmp_path / "home"):
        pass


def test_a_path_that_duckdb_misreads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="question mark"), open_warehouse(tmp_path / "what?"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a [b]* c", "it's", "µ", "x" * 120, "%d#;--"])
def test_any_other_path_works(tmp_path: Path, landed_home: Path, name: str) -> None:
    home = tmp_path / name
    run = run_directory(home, RUN_ID)
    run.parent.mkdir(parents=True)
    run.symlink_to(run_directory(landed_home, RUN_ID))
    with open_warehouse(home) as warehouse:
        load_plan(warehouse, run)
        load_attempt(warehouse, run / "trial-001" / "attempt-1")
        assert runs(warehouse)["landed_trials"].to_list() == [1]
