import os
import shutil
import subprocess
from pathlib import Path

import pytest

from poolexp.errors import DatabaseError
from poolexp.privileges import User, run_as, server_user


def test_a_server_never_runs_as_root() -> None:
    user = server_user()
    if os.geteuid() == 0:
        assert user is not None
        assert user.uid != 0
        assert user.name in ("postgres", "nobody")
    else:
        assert user is None


def test_without_a_wish_the_program_is_left_as_it_is() -> None:
    assert run_as(["echo", "a b"], None) == ["echo", "a b"]


def test_a_program_run_as_somebody_has_that_ones_rights_and_no_more() -> None:
    user = server_user()
    if user is None:
        pytest.skip("only root can become somebody else")
    argv = run_as(["cat", "/proc/self/status"], user, end_with_parent="QUIT")
    status = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert f"Uid:\t{user.uid}\t{user.uid}\t{user.uid}\t{user.uid}\n" in status
    assert f"Gid:\t{user.gid}\t{user.gid}\t{user.gid}\t{user.gid}\n" in status
    assert "Groups:\t \n" in status
    assert "NoNewPrivs:\t1\n" in status
    assert "CapEff:\t0000000000000000\n" in status


def test_arguments_arrive_untouched() -> None:
    odd = ["--reuid=0", "--", "$HOME", "a b", ""]
    argv = run_as(["printf", "[%s]", *odd], None, end_with_parent="QUIT")
    output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert output == "".join(f"[{each}]" for each in odd)


def test_without_setpriv_nobody_is_impersonated_by_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("setpriv") is None
    assert run_as(["postgres"], None, end_with_parent="QUIT") == ["postgres"]
    with pytest.raises(DatabaseError, match="setpriv is missing") as refused:
        run_as(["postgres"], User("nobody", 65_534, 65_534))
    assert refused.value.remedy
