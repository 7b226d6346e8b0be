"""Who gets which CPU, and that a process is confined from its birth."""

import subprocess
import sys

import pytest

from poolexp.errors import LimitsError
from poolexp.pinning import Pinning, confined, make_pinning


def test_the_generator_gets_the_last_cpus_and_the_database_the_others() -> None:
    assert make_pinning(1, [0, 1]) == Pinning(database=(0,), generator=(1,))
    assert make_pinning(2, [5, 4, 7, 6]) == Pinning(database=(4, 5), generator=(6, 7))


@pytest.mark.parametrize(("processes", "available"), [(1, [0]), (2, [0, 1])])
def test_too_few_cpus_are_refused_with_their_number(processes: int, available: list[int]) -> None:
    with pytest.raises(LimitsError, match=f"needs {processes + 1} CPUs.*there are {processes}"):
        make_pinning(processes, available)


def test_a_confined_process_runs_there_alone() -> None:
    pinning = make_pinning(1)
    program = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
    told = subprocess.run(confined(program, pinning.generator), capture_output=True, check=True)
    assert told.stdout.decode().strip() == str(list(pinning.generator))
    assert confined(program, None) == program
