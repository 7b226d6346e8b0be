"""`poolexp run` as a person runs it: a process of its own, a real server, a real Prefect."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

POOLEXP = Path(sys.executable).with_name("poolexp")

SHORT = '''\
name = "short"
question = "Is <everything> there?"

[design]
repetitions = 2
seed = 3
warm_up_s = 0.2
measure_s = 0.5

[database]
limits = { cpu_cores = 0.5, period_ms = 10 }

[generator]
limits = { cpu_cores = 0.5, period_ms = 10 }

[pool]
size = [2, 8]

[[workload]]
name = "light"
sql = "SELECT balance FROM pool_lab WHERE id = :id"
parameters = { id = { min = 1, max = 20000 } }
arrivals = { kind = "uniform", rate_per_s = 100 }

[[workload]]
name = "bursts"
sql = """
SELECT sum(length(md5(payload || id::text)))
FROM pool_lab WHERE id BETWEEN :id AND :id + :span - 1"""
arrivals = { kind = "burst", size = 5, rate_per_s = 50 }
[workload.parameters]
id = { min = 1, max = 20000, room_for = "span" }
span = { calibrate_cpu_ms = 2, max = 20000 }
'''
TRIALS, MEASURED, PLANNED = 8, 4 * 50 + 4 * 25, 4 * 70 + 4 * 35


def poolexp(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(POOLEXP), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, **environment},
    )


def own_processes(home: Path) -> list[psutil.Process]:
    """Processes that a run on this home started: they carry it in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("PREFECT_HOME") == str(home / "prefect"):
                found.append(process)
        except psutil.Error:
            continue
    return found


def left_over(home: Path, pid: int) -> list[str]:
    """Control groups and temporary directories of the runs of a home and of their process."""
    runs = [path.name for path in (home / "runs").iterdir()]
    groups = [path for run in runs for path in Path("/sys/fs/cgroup").rglob(f"poolexp-{run}*")]
    places = Path(tempfile.gettempdir()).glob(f"poolexp-*-{pid}-*")
    return [str(path) for path in (*groups, *places)]


@pytest.fixture(scope="module")
def finished(
    tmp_path_factory: pytest.TempPathFactory, groups_allowed: None
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A home with one finished run of the short experiment, and what the command printed."""
    place = tmp_path_factory.mktemp("run")
    (place / "short.toml").write_text(SHORT, encoding="utf-8")
    home = place / "home"
    command = [str(POOLEXP), "run", str(place / "short.toml"), "--home", str(home)]
    with subprocess.Popen(
        [*command, "--label", "one"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        stdout, stderr = running.communicate(timeout=240)
    assert left_over(home, running.pid) == []
    assert own_processes(home) == []
    return home, subprocess.CompletedProcess(command, running.returncode, stdout, stderr)


def sql(home: Path, statement: str) -> list[dict[str, object]]:
    completed = poolexp("sql", statement, "--home", home, "--format", "json")
    assert completed.returncode == 0, completed.stderr
    rows: list[dict[str, object]] = json.loads(completed.stdout)
    return rows


def expected_code(home: Path) -> int:
    """Of a valid run: 1 where this machine was so busy that every block of a scenario is excluded.

    Whether it was is for the gates to say, not for a test.
    """
    return int(bool(sql(home, "SELECT scenario FROM scenario_summary WHERE usable = 0")))


def test_the_run_ends_well_and_says_what_it_did(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, completed = finished
    assert completed.returncode == expected_code(home), completed.stdout + completed.stderr
    assert completed.stderr == ""
    said = completed.stdout
    assert sum(line.startswith("trial ") for line in said.splitlines()) == TRIALS
    assert "Is <everything> there?" in said
    assert "Validation: passed" in said
    assert "Wall time" in said
    assert "Gates: " in said
    for part in ("start-up", "trials", "landing", "validation", "report"):
        assert part in said
    report = Path(said.rsplit("Report: ", 1)[1].strip())
    assert report.is_relative_to(home)
    page = report.read_text(encoding="utf-8")
    assert "Is &lt;everything&gt; there?" in page


def test_every_planned_request_is_accounted_for(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = finished
    assert sql(home, "SELECT count(*) AS n FROM requests") == [{"n": MEASURED}]
    assert sql(home, "SELECT count(*) AS n FROM all_requests") == [{"n": PLANNED}]
    assert sql(home, "SELECT outcome, count(*) AS n FROM all_requests GROUP BY outcome") == [
        {"outcome": "done", "n": PLANNED}
    ]
    disordered = """
        SELECT count(*) AS n FROM all_requests WHERE NOT (
            scheduled_ns <= requested_ns AND requested_ns <= acquired_ns
            AND acquired_ns <= received_ns AND received_ns <= released_ns
        )"""
    assert sql(home, disordered) == [{"n": 0}]
    unequal = """
        SELECT count(*) AS n FROM requests WHERE
            (requested_ns - scheduled_ns) + (acquired_ns - requested_ns)
            + (received_ns - acquired_ns) + (released_ns - received_ns)
            <> released_ns - scheduled_ns"""
    assert sql(home, unequal) == [{"n": 0}]


def test_all_pools_of_a_workload_met_the_same_instants_and_parameters(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = finished
    hashes = sql(home, "SELECT workload, count(DISTINCT schedule_hash) AS n FROM trials GROUP BY 1")
    assert {str(row["n"]) for row in hashes} == {"1"}


def test_the_limits_were_in_force_and_the_counters_moved(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = finished
    limits = sql(
        home, "SELECT DISTINCT database_limit_in_force d, generator_limit_in_force g FROM trials"
    )
    assert limits == [{"d": True, "g": True}]
    summary = sql(home, "SELECT database_cpu_cores c, database_memory_mib m FROM trial_summary")
    assert len(summary) == TRIALS
    for row in summary:
        assert 0 < float(str(row["c"])) < 0.6
        assert float(str(row["m"])) > 10


def test_files_are_the_owner_s_alone(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = finished
    for path in [home, *home.rglob("*")]:
        if "prefect" not in path.relative_to(home).parts:
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_the_later_steps_can_be_repeated_alone(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = finished
    assert "one" in poolexp("runs", "--home", home).stdout
    assert "bursts-pool-8" in poolexp("show", "one", "--home", home).stdout
    assert poolexp("validate", "latest", "--home", home).returncode == 0
    completed = poolexp("report", "one", "--home", home)
    assert completed.returncode == 0
    assert Path(completed.stdout.strip()).exists()


def test_a_frozen_calibration_is_used_again(
    finished: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, _ = finished
    (run,) = (home / "runs").iterdir()
    (calibration,) = json.loads((run / "run.json").read_text())["calibrations"]
    assert calibration["parameter"] == "span"
    assert 0.5 < calibration["measured_cpu_ms"] / calibration["target_cpu_ms"] < 2
    assert (home / "calibration.json").exists()


@pytest.fixture
def signalled(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A run under way, measuring; nothing of it needs a calibration."""
    light, _, _ = SHORT.rpartition("[[workload]]")
    text = light.replace("measure_s = 0.5", "measure_s = 30")
    (tmp_path / "short.toml").write_text(text, encoding="utf-8")
    home = tmp_path / "home"
    with subprocess.Popen(
        [str(POOLEXP), "run", str(tmp_path / "short.toml"), "--home", str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as running:
        yield home, running
        running.kill()


def test_a_signal_while_prefect_starts_is_heard(
    signalled: tuple[Path, subprocess.Popen[str]],
) -> None:
    home, running = signalled
    deadline = time.monotonic() + 60
    while not own_processes(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    said, _ = running.communicate(timeout=30)
    assert running.returncode == 130, said
    assert "Traceback" not in said, said
    assert own_processes(home) == []
    assert not (home / "runs").exists()


def test_a_prefect_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    completed = poolexp(
        *("run", "pool-lab-quick", "--home", tmp_path), PREFECT_API_URL="http://127.0.0.1:9/api"
    )
    assert completed.returncode == 3
    assert "does not answer" in completed.stderr
    assert "PREFECT_API_URL" in completed.stderr
    assert "Traceback" not in completed.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_cleanly(
    signalled: tuple[Path, subprocess.Popen[str]], number: signal.Signals, groups_allowed: None
) -> None:
    home, running = signalled
    wait_for_trial(home)
    # To the whole process group, as a terminal does for Ctrl-C.
    os.killpg(running.pid, number)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 128 + number, said
    assert "Traceback" not in said, said
    assert own_processes(home) == []
    assert left_over(home, running.pid) == []
    (run,) = (home / "runs").iterdir()
    assert json.loads((run / "outcome.json").read_text())["state"] == "interrupted"
    assert list(run.glob("trial-*/attempt-*")) == [], "nothing half-made bears a final name"


def wait_for_trial(home: Path) -> None:
    """Until the generator's process runs."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        commands = [" ".join(process.cmdline()) for process in own_processes(home)]
        if any("poolexp.trial" in command for command in commands):
            time.sleep(1)
            return
        time.sleep(0.2)
    pytest.fail("no trial began")


def test_required_limits_without_control_groups_stop_before_anything_is_made(
    tmp_path: Path, groups_allowed: None
) -> None:
    home = tmp_path / "home"
    # In a mount namespace of its own, an empty directory hides the control groups.
    hidden = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
    command = [str(POOLEXP), "run", "--home", str(home)]
    called = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hidden, "sh", *command, "--limits", "required"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "unshare failed" in called.stderr:
        pytest.skip("no mount namespaces can be made here")
    assert called.returncode == 3, called.stderr
    assert "error: " in called.stderr
    assert "Traceback" not in called.stderr
    assert not home.exists()


READ_IN_A_LOOP = """
import sys, threading
from pathlib import Path
from warehouse.database import FILE_NAME, open_warehouse
from warehouse.queries import run_sql
home, over, count = Path(sys.argv[1]), threading.Event(), 0
threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
while not over.wait(0.3):
    if (home / FILE_NAME).exists():
        with open_warehouse(home, read_only=True) as warehouse:
            run_sql(warehouse, "SELECT count(*), avg(end_to_end_ms) FROM requests")
        count += 1
print(count)
"""


@contextmanager
def reading_in_a_loop(home: Path) -> Iterator[subprocess.CompletedProcess[str]]:
    """Somebody who asks a question several times a second; what became of that is known after."""
    ended = subprocess.CompletedProcess[str]([], 1, "", "")
    with subprocess.Popen(
        [sys.executable, "-c", READ_IN_A_LOOP, home],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as reader:
        yield ended
        ended.stdout, ended.stderr = reader.communicate(timeout=60)
        ended.returncode = reader.returncode


@pytest.mark.long
def test_pool_lab_quick_is_complete_and_valid(tmp_path: Path, groups_allowed: None) -> None:
    with reading_in_a_loop(tmp_path) as reader:
        completed = poolexp("run", "pool-lab-quick", "--home", tmp_path, "--limits", "required")
    # Reading failed never, and did not keep anything from landing.
    assert reader.returncode == 0, reader.stderr
    assert int(reader.stdout) > 10
    assert completed.returncode == expected_code(tmp_path), completed.stdout + completed.stderr
    assert sql(tmp_path, "SELECT count(*) AS n FROM requests WHERE outcome = 'done'") == [
        {"n": 5_040}
    ]
    counts = sql(
        tmp_path, "SELECT workload, min(n) AS least, max(n) AS most FROM trial_summary GROUP BY 1"
    )
    assert {str(row["workload"]): (row["least"], row["most"]) for row in counts} == {
        "light-uniform": (400, 400),
        "heavy-uniform": (80, 80),
        "heavy-burst": (80, 80),
    }
    # The shape of the published result, as far as trials this short can show it.
    waits = {
        str(row["scenario"]): float(str(row["wait"]))
        for row in sql(
            tmp_path, "SELECT scenario, acquire_wait_mean_ms AS wait FROM scenario_summary_all"
        )
    }
    assert waits["heavy-burst-pool-5"] > 5
    assert waits["heavy-burst-pool-100"] < 1
    shutil.rmtree(tmp_path / "prefect")
    assert poolexp("show", "latest", "--home", tmp_path).returncode == 0
