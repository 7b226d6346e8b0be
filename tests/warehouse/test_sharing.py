"""Readers and a writer at once, each a process of its own: nobody fails, nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from synthetic_runs import RUN_ID, write_run

from poolexp.catalogue import load_experiment
from poolexp.errors import BusyError
from poolexp.landing import attempt_directories, run_directory
from warehouse.database import open_warehouse
from warehouse.landing_queue import LandingQueue
from warehouse.queries import runs, trials

READ_IN_A_LOOP = """
import sys, threading, time
from pathlib import Path
from warehouse.database import open_warehouse
from warehouse.queries import runs
home, hold_s = Path(sys.argv[1]), float(sys.argv[2])
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
count = 0
while not over.is_set():
    with open_warehouse(home, read_only=True) as warehouse:
        assert runs(warehouse).height >= 1
        time.sleep(hold_s)
    count += 1
    if count == 1:
        print("reading", flush=True)
print(count, flush=True)
"""

HOLD = """
import sys
from pathlib import Path
from warehouse.database import open_warehouse
with open_warehouse(Path(sys.argv[1]), read_only=True):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that has begun; it ends with its standard input."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        try:
            assert started.stdout.readline(), started.stderr.read()
            yield started
        finally:
            if started.stdin and not started.stdin.closed:
                started.stdin.close()


def readings(reader: subprocess.Popen[str]) -> int:
    """How often it has read, when it has been told to end; it must not have failed."""
    output, error = reader.communicate(timeout=60)
    assert (reader.returncode, error) == (0, "")
    return int(output)


@pytest.fixture
def fresh(tmp_path: Path) -> tuple[Path, list[Path], LandingQueue]:
    """A home with the plan of a run of nine trials, its attempts, and a queue for them."""
    run = write_run(tmp_path, experiment=load_experiment("pool-lab-quick", repetitions=1))
    queue = LandingQueue(tmp_path, run)
    assert queue.land()
    return tmp_path, attempt_directories(run), queue


Fresh = tuple[Path, list[Path], LandingQueue]


def landed(home: Path) -> int:
    with open_warehouse(home, read_only=True) as warehouse:
        return int(trials(warehouse, RUN_ID)["attempt"].count())


def test_a_reader_in_a_loop_never_fails_while_a_writer_lands(fresh: Fresh) -> None:
    home, attempts, queue = fresh
    with process(READ_IN_A_LOOP, home, 0) as reader:
        for attempt in attempts:
            queue.add(attempt)
            queue.land_now(patience_s=10)
        assert readings(reader) >= 1
    assert landed(home) == 9


def test_readers_that_overlap_without_end_do_not_starve_a_writer(fresh: Fresh) -> None:
    home, attempts, queue = fresh
    with ExitStack() as stack:
        # At any moment some of them hold the file.
        readers = [stack.enter_context(process(READ_IN_A_LOOP, home, 0.15)) for _ in range(3)]
        for attempt in attempts[:4]:
            queue.add(attempt)
            queue.land_now(patience_s=20)
        assert all(readings(reader) >= 1 for reader in readers)
    assert landed(home) == 4


def test_a_reader_that_holds_the_file_delays_no_trial_and_loses_none(fresh: Fresh) -> None:
    home, attempts, queue = fresh
    with process(HOLD, home) as reader:
        for attempt in attempts[:2]:
            queue.add(attempt)
            assert not queue.land(patience_s=0.1)
        with pytest.raises(BusyError, match=f"process {reader.pid} ") as caught:
            queue.land_now(patience_s=0.1)
        assert str(run_directory(home, RUN_ID)) in caught.value.remedy
        assert "poolexp rebuild" in caught.value.remedy
        assert landed(home) == 0
        assert queue.waiting == tuple(attempts[:2])
    queue.add(attempts[2])
    assert queue.land()
    assert (landed(home), queue.waiting) == (3, ())


def test_readers_pass_a_writer_that_waits_for_another_reader(fresh: Fresh) -> None:
    home, attempts, queue = fresh
    queue.add(attempts[0])
    code = (
        "import sys; from pathlib import Path; from warehouse.database import open_warehouse\n"
        "from poolexp.errors import BusyError\n"
        "print('waiting', flush=True)\n"
        "try:\n    open_warehouse(Path(sys.argv[1]), patience_s=3).__enter__()\n"
        "except BusyError: sys.exit(4)"
    )
    with process(HOLD, home), process(code, home) as writer:
        while writer.poll() is None:
            with open_warehouse(home, read_only=True, patience_s=2) as warehouse:
                assert runs(warehouse).height == 1
        assert writer.returncode == 4


def test_a_home_that_can_only_be_read_is_read(own_home: Path) -> None:
    (own_home / "warehouse.duckdb.turnstile").unlink(missing_ok=True)
    (own_home / "warehouse.duckdb.turnstile").mkdir()
    with open_warehouse(own_home, read_only=True) as warehouse:
        assert runs(warehouse).height == 1
