import os
import subprocess
import sys

import pytest

from poolexp import ownership


def test_a_living_process_owns_what_it_marked() -> None:
    assert not ownership.is_abandoned(ownership.mark())


def test_a_mark_outlives_its_process_and_shows_it() -> None:
    script = "from poolexp import ownership; print(ownership.mark())"
    theirs = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert ownership.is_abandoned(theirs)


def test_a_process_id_that_was_given_out_again_is_not_its_first_owner() -> None:
    namespace, pid, start = ownership.mark().split("-")
    assert int(pid) == os.getpid()
    assert ownership.is_abandoned(f"{namespace}-{pid}-{int(start) - 1}")


def test_a_mark_of_another_namespace_is_left_alone() -> None:
    namespace, pid, start = ownership.mark().split("-")
    assert not ownership.is_abandoned(f"{int(namespace) + 1}-{pid}-{int(start) - 1}")


@pytest.mark.parametrize("text", ["", "1-2", "a-b-c", "1-2-3-4", "1--3", "../etc"])
def test_what_is_no_mark_is_never_abandoned(text: str) -> None:
    assert not ownership.is_abandoned(text)


def test_a_zombie_has_ended() -> None:
    script = "from poolexp import ownership; print(ownership.mark())"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child.stdout:
        theirs = child.stdout.read().strip()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert ownership.is_abandoned(theirs)
    finally:
        child.wait()
