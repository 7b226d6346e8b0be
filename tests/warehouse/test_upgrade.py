"""An older warehouse is brought up to date on a copy, whole or not at all, and loses nothing."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from synthetic_runs import RUN_ID

from poolexp.errors import BusyError, HomeError
from warehouse.database import FILE_NAME, open_warehouse
from warehouse.migrate import MIGRATIONS
from warehouse.queries import resolve_run

SCHEMAS = Path(__file__).parent / "schemas"
"""A warehouse of each earlier schema, with what its views said when it was written."""

KEPT = f"{FILE_NAME}.before-{MIGRATIONS[-1].number}"

KEYS = ("run_id", "scenario", "trial", "gate", "burst_position", "slice", "expectation", "message")

SINCE_THEN = {"001": {"gates.number", "backlog", "send_lag"}}
"""What is meant to be said otherwise: gates were added, the backlog is another measure, and the
send lag of a single burst is not judged."""

Row = dict[str, Any]


def old_home(place: Path, schema: str) -> Path:
    """A home whose warehouse has this schema."""
    place.mkdir(parents=True, exist_ok=True)
    (place / FILE_NAME).write_bytes(gzip.decompress((SCHEMAS / f"{schema}.duckdb.gz").read_bytes()))
    return place


def numbers_then(schema: str) -> dict[str, list[Row]]:
    text = gzip.decompress((SCHEMAS / f"{schema}.json.gz").read_bytes())
    return dict(json.loads(text))


def numbers_now(home: Path, views: Iterator[str]) -> dict[str, list[Row]]:
    with open_warehouse(home, read_only=True) as warehouse:
        frames = {view: warehouse.connection.execute(f"FROM {view}").pl() for view in views}
    return {
        view: json.loads(json.dumps(frame.to_dicts(), default=str))
        for view, frame in frames.items()
    }


def differences(schema: str, now: dict[str, list[Row]]) -> Iterator[str]:
    """What is no longer said, or said otherwise; what is new may be there too."""
    for view, rows in numbers_then(schema).items():
        found = {_key(view, row): row for row in now[view]}
        for row in rows:
            new = found.get(_key(view, row), {})
            for name, value in row.items():
                meant = SINCE_THEN[schema] & {f"{view}.{name}", row.get("gate")}
                if not meant and new.get(name, "gone") != _about(value):
                    yield f"{view}.{name}: {value} became {new.get(name, 'gone')}"


def _key(view: str, row: Row) -> str:
    # What a gate says is no key: it is what is compared.
    return str([row.get(key) for key in KEYS if (view, key) != ("gates", "message")])


def _about(value: Any) -> Any:
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value


@pytest.mark.parametrize("schema", ["001"])
@pytest.mark.parametrize("read_only", [True, False])
def test_an_older_warehouse_says_the_same(tmp_path: Path, schema: str, read_only: bool) -> None:
    home = old_home(tmp_path / "home", schema)
    before = (home / FILE_NAME).read_bytes()
    with open_warehouse(home, read_only=read_only) as warehouse:
        assert resolve_run(warehouse, "fixture") == RUN_ID
    now = numbers_now(home, iter(numbers_then(schema)))
    assert list(differences(schema, now)) == []
    assert (home / KEPT).read_bytes() == before
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
    assert not list(home.glob("*.migrating*"))


def test_what_was_kept_before_goes_when_the_next_upgrade_has_succeeded(tmp_path: Path) -> None:
    home = old_home(tmp_path, "001")
    (home / f"{FILE_NAME}.before-1").write_text("an older one")
    (home / f"{FILE_NAME}.migrating").write_text("of an attempt that was killed")
    (home / f"{FILE_NAME}.migrating.wal").write_text("its log")
    with open_warehouse(home):
        pass
    assert sorted(path.name for path in home.glob(f"{FILE_NAME}.*")) == [
        KEPT,
        f"{FILE_NAME}.turnstile",
    ]


WRITE_AND_DIE = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("UPDATE raw.validation SET message = 'written last'")
os._exit(1)
"""


def test_what_is_only_in_the_log_comes_along(tmp_path: Path) -> None:
    home = old_home(tmp_path, "001")
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, home / FILE_NAME], check=False)
    assert (home / f"{FILE_NAME}.wal").exists()
    with open_warehouse(home, read_only=True) as warehouse:
        rows = warehouse.connection.execute("SELECT DISTINCT message FROM validations").fetchall()
    assert rows == [("written last",)]


def test_without_room_for_the_copy_it_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = old_home(tmp_path, "001")
    before = (home / FILE_NAME).read_bytes()
    usage = os.statvfs(home)
    small = type("Usage", (), {"total": usage.f_blocks, "used": 0, "free": len(before) - 1})
    monkeypatch.setattr("shutil.disk_usage", lambda _: small)
    with pytest.raises(HomeError, match=r"full.*takes a copy of 4 MB"), open_warehouse(home):
        pass
    assert (home / FILE_NAME).read_bytes() == before


def test_another_reader_is_not_pulled_along(tmp_path: Path) -> None:
    home = old_home(tmp_path, "001")
    code = "import sys, duckdb; c = duckdb.connect(sys.argv[1], read_only=True); print(flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}; sys.stdin.read()", home / FILE_NAME],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        with (
            pytest.raises(BusyError, match=f"process {reader.pid} "),
            open_warehouse(home, patience_s=0.1),
        ):
            pass
        assert reader.stdin is not None
        reader.stdin.close()
    assert not (home / KEPT).exists()


KILLED = Path(__file__).with_name("killed_upgrades.py")


def _killed(tmp_path: Path, *arguments: str) -> list[dict[str, Any]]:
    """Kill an upgrade at one step after another; what each left, and what the next one made."""
    done = subprocess.run(
        [sys.executable, KILLED, SCHEMAS / "001.duckdb.gz", tmp_path, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_killed_between_its_steps_it_is_the_old_or_the_new_and_goes_on(tmp_path: Path) -> None:
    _check_killed(_killed(tmp_path, "files"), tmp_path)


@pytest.mark.long
def test_killed_at_statements_all_along_too(tmp_path: Path) -> None:
    _check_killed(_killed(tmp_path, "all"), tmp_path)


def _check_killed(found: list[dict[str, Any]], tmp_path: Path) -> None:
    assert len(found) > 2
    assert [each["at"] for each in found if not each["killed"]] == ["the end"]
    now = numbers_now(tmp_path / "last", iter(numbers_then("001")))
    assert list(differences("001", now)) == []
    wanted = [len(now[view]) for view in ("trial_summary", "gates", "pool_use")]
    for each in found:
        assert (each["left"], each["rows"]) in [("old", wanted), ("new", wanted)], each
    assert {each["left"] for each in found} == {"old", "new"}
