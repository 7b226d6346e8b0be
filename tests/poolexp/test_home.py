import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from poolexp.errors import BusyError, HomeError
from poolexp.home import hold_home, new_run_id, prepare_home, refuse_if_busy

HOLDER = """
import sys
from pathlib import Path
from poolexp.home import hold_home
with hold_home(Path(sys.argv[1]), "run-of-the-other"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_run_ids_sort_by_time_and_differ() -> None:
    ids = [new_run_id() for _ in range(50)]
    assert [run_id[:16] for run_id in ids] == sorted(run_id[:16] for run_id in ids)
    assert len(set(ids)) > 45


def test_a_home_is_its_owner_s_only(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "a" / "b")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    with hold_home(home, "run"):
        assert stat.S_IMODE((home / "lock").stat().st_mode) == 0o600


def test_a_home_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeError, match="cannot be written") as caught:
        prepare_home(tmp_path / "file" / "home")
    assert "--home" in caught.value.remedy


def test_a_path_that_databases_misread_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="question mark"):
        prepare_home(tmp_path / "what?")
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_file_system_is_refused() -> None:
    # Even root cannot write below /proc.
    with pytest.raises(HomeError, match="cannot be written"):
        prepare_home(Path("/proc/poolexp"))


def test_a_busy_home_names_the_holder(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BusyError) as caught:
            refuse_if_busy(tmp_path)
        assert f"process {other.pid} (run run-of-the-other, since 2" in caught.value.message
        other.kill()
    # The lock ends with its holder, even one that was killed and left its name behind.
    with hold_home(tmp_path, "mine"):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    refuse_if_busy(tmp_path)
