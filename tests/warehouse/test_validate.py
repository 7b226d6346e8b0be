"""The judgement: sound runs hold, each fault is named where it is and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from synthetic_runs import RUN_ID, Spoiling, write_run
from synthetic_server import Row

from poolexp.catalogue import load_experiment
from poolexp.errors import UsageError
from poolexp.experiment import Experiment, Validation
from poolexp.plan import Trial
from warehouse.database import open_warehouse
from warehouse.derive import derive_run
from warehouse.expectations import EXPECTATIONS, Expectation
from warehouse.load import load_run
from warehouse.queries import comparisons, drifts, runs, validations
from warehouse.validate import validate_run
from warehouse.validation_report import ValidationReport

Failure = tuple[str, int | None]


ONE_BLOCK = load_experiment("pool-lab-quick", repetitions=1)


def _judge(home: Path, spoiling: Spoiling, experiment: Experiment = ONE_BLOCK) -> ValidationReport:
    run = write_run(home, experiment=experiment, spoiling=spoiling)
    with open_warehouse(home) as warehouse:
        load_run(warehouse, run)
        return validate_run(warehouse, RUN_ID)


def _failures(report: ValidationReport) -> list[Failure]:
    return [(result.expectation, result.trial) for result in report.failures]


def _change(home: Path, sql: str) -> ValidationReport:
    """Judge a copy of a sound warehouse after one change."""
    with open_warehouse(home) as warehouse:
        warehouse.connection.execute(sql)
        derive_run(warehouse.connection, RUN_ID)
        return validate_run(warehouse, RUN_ID)


def test_a_sound_run_holds_and_the_judgement_is_kept(own_home: Path) -> None:
    with open_warehouse(own_home) as warehouse:
        report = validate_run(warehouse, RUN_ID)
        stored = validations(warehouse, RUN_ID)
        run = runs(warehouse).row(0, named=True)
    assert report.success
    assert [result.expectation for result in report.results] == [e.name for e in EXPECTATIONS]
    assert run["validated"] is True
    assert run["validated_at"] == report.validated_at
    for row, result in zip(stored.iter_rows(named=True), report.results, strict=True):
        for name in ("expectation", "statement", "message", "trial", "success", "observed"):
            assert row[name] == getattr(result, name)
    by_name = {result.expectation: result for result in report.results}
    assert by_name["requests_total"].observed == "5040"
    assert by_name["limits_in_force"].observed == "54 of 54 limits of trials"


def test_one_deleted_request_fails_what_names_its_trial_and_the_total(own_home: Path) -> None:
    one_measured = (
        "DELETE FROM raw.request WHERE rowid = "
        "(SELECT min(rowid) FROM raw.request WHERE trial = 1 AND NOT warm_up)"
    )
    report = _change(own_home, one_measured)
    assert _failures(report) == [("requests_per_trial", 1), ("requests_total", None)]
    of_trial, of_run = report.failures
    assert of_trial.message == (
        "trial 1 (heavy-burst-pool-5): 79 of 80 planned requests in the window, 99 of 100 in all"
    )
    assert of_run.message == "the run: 5039 of 5040 planned requests"
    assert (of_run.observed, of_run.expected) == ("5039", "5040")


def test_one_deleted_warm_up_request_names_its_trial_only(own_home: Path) -> None:
    report = _change(own_home, "DELETE FROM raw.request WHERE trial = 2 AND seq = 0")
    assert _failures(report) == [("requests_per_trial", 2)]
    assert "80 of 80 planned requests in the window, 99 of 100 in all" in report.failures[0].message


def test_a_judgement_again_is_the_one_that_counts(own_home: Path) -> None:
    assert not _change(own_home, "DELETE FROM raw.request WHERE trial = 1 AND seq = 99").success
    with open_warehouse(own_home) as warehouse:
        warehouse.connection.execute("UPDATE raw.attempt SET digest = 'other' WHERE trial = 1")
        load_run(warehouse, own_home / "runs" / RUN_ID)
        assert runs(warehouse)["validated"].to_list() == [False]
        assert validate_run(warehouse, RUN_ID).success
        assert runs(warehouse)["validated"].to_list() == [True]
        assert validations(warehouse, RUN_ID)["success"].all()
        row = warehouse.connection.execute("SELECT count(*) FROM validations").fetchone()
    # Two of the first judgement's results failed, each in one trial: one result each.
    assert row == (2 * len(EXPECTATIONS),)


@pytest.mark.parametrize(
    ("sql", "failures"),
    [
        (
            "INSERT INTO raw.request SELECT * FROM raw.request WHERE trial = 3 AND seq = 400",
            [("requests_per_trial", 3), ("requests_total", None), ("requests_unique", 3)],
        ),
        (
            "UPDATE raw.request SET seq = 401 WHERE trial = 3 AND seq = 400",
            [("requests_unique", 3)],
        ),
        (
            "UPDATE raw.request SET outcome = 'error' WHERE trial = 4 AND seq = 400",
            [("outcomes_allowed", 4)],
        ),
        ("UPDATE raw.request SET outcome = 'error' WHERE trial = 4 AND seq = 0", []),
        (
            "UPDATE raw.request SET requested_ns = scheduled_ns - 1 WHERE trial = 5 AND seq = 50",
            [("requests_not_early", 5)],
        ),
        (
            "UPDATE raw.request SET received_ns = acquired_ns - 1 WHERE trial = 6 AND seq = 50",
            [("instants_ordered", 6)],
        ),
        (
            "UPDATE raw.request SET ended_ns = released_ns - 1 WHERE trial = 6 AND seq = 50",
            [("instants_ordered", 6)],
        ),
        (
            "UPDATE raw.request SET acquired_ns = NULL, released_ns = requested_ns - 1, "
            "outcome = 'error' WHERE trial = 6 AND seq = 50",
            [("instants_ordered", 6)],
        ),
        (
            "UPDATE raw.request SET acquired_ns = NULL WHERE trial = 7 AND seq IN (1, 50)",
            [("phases_sum", 7)],
        ),
        (
            "UPDATE raw.request SET warm_up = TRUE WHERE trial = 8 AND seq = 99",
            [("requests_per_trial", 8), ("requests_total", None), ("requests_in_their_window", 8)],
        ),
        (
            "UPDATE raw.request SET scheduled_ns = 2500000000, requested_ns = 2500000000, "
            "acquired_ns = 2500000000, received_ns = 2500000000, released_ns = 2500000000, "
            "ended_ns = 2500000000 WHERE trial = 8 AND seq = 99",
            [("requests_in_their_window", 8)],
        ),
        (
            "UPDATE raw.counter SET nr_throttled = nr_throttled + 1000 "
            "WHERE trial = 9 AND control_group = 'database' AND moment = 'window_start'",
            [("counters_monotone", 9)],
        ),
        (
            "DELETE FROM raw.counter WHERE trial = 9 AND control_group = 'generator' "
            "AND moment = 'window_end'",
            [("throttling_counted", 9)],
        ),
        (
            "UPDATE raw.counter SET nr_periods = NULL WHERE trial IN (10, 11) "
            "AND control_group = 'database' AND moment = 'window_start'",
            [("throttling_counted", 10), ("throttling_counted", 11)],
        ),
        (
            "UPDATE raw.attempt SET schedule_hash = 'another' WHERE trial = 12",
            [("schedules_equal", None)],
        ),
        (
            "UPDATE raw.attempt SET schedule_hash = NULL WHERE trial = 12",
            [("schedules_equal", None)],
        ),
        (
            "UPDATE raw.attempt SET manifest = replace(manifest, '\"changed\": false', "
            "'\"changed\": true') WHERE trial = 13",
            [("no_maintenance", 13)],
        ),
        (
            "UPDATE raw.attempt SET manifest = replace(manifest, '\"changed\"', '\"other\"') "
            "WHERE trial = 13",
            [("no_maintenance", 13)],
        ),
        (
            "UPDATE raw.attempt SET status = 'failed' WHERE trial = 14",
            [("trials_measured", 14), ("requests_per_trial", 14), ("requests_total", None)],
        ),
        (
            "DELETE FROM raw.attempt WHERE trial = 15; DELETE FROM raw.request WHERE trial = 15; "
            "DELETE FROM raw.counter WHERE trial = 15",
            [("trials_measured", 15), ("requests_per_trial", 15), ("requests_total", None)],
        ),
    ],
)
def test_each_fault_is_named_where_it_is(own_home: Path, sql: str, failures: list[Failure]) -> None:
    assert _failures(_change(own_home, sql)) == failures


def _broken_limits(trial: Trial, document: dict[str, Any]) -> dict[str, Any]:
    if trial.number == 3:
        document["limits"]["database"]["after"] = None
    if trial.number == 4:
        document["limits"]["generator"]["before"] = {"cores": 1.0, "period_ms": 10.0}
    return document


def test_a_limit_that_was_not_in_force_fails(tmp_path: Path) -> None:
    report = _judge(tmp_path, Spoiling(edit_manifest=_broken_limits))
    assert _failures(report) == [("limits_in_force", 3), ("limits_in_force", 4)]
    assert report.failures[0].message == (
        "trial 3 (light-uniform-pool-20), database: 5000 us in each 10000 us before the window "
        "and no limit after it, asked for 5000 us in each 10000 us"
    )
    assert report.failures[1].observed.startswith("10000 us in each 10000 us before")


def test_an_unlimited_run_is_valid_and_says_that_nothing_was_judged(tmp_path: Path) -> None:
    report = _judge(tmp_path, Spoiling(unlimited=True))
    assert report.success
    judged = {result.expectation: result.observed for result in report.results}
    assert judged["limits_in_force"] == "nothing to judge: no CPU limit was to be in force"
    assert judged["counters_monotone"] == "nothing to judge: no control group could be read"


def test_outcomes_that_the_experiment_allows(tmp_path: Path) -> None:
    lenient = ONE_BLOCK.model_copy(
        update={"validation": Validation(allowed_outcomes=("done", "acquire_timeout"))}
    )
    report = _judge(tmp_path, Spoiling(failures={3: 2}), experiment=lenient)
    assert _failures(report) == [("outcomes_allowed", 3)]
    failure = report.failures[0]
    assert failure.message.endswith("requests that ended as query_timeout: 1")
    assert failure.expected == "only done, acquire_timeout"


def test_attempts_that_do_not_count_are_no_fault(tmp_path: Path) -> None:
    assert _judge(tmp_path, Spoiling(retried=[2, 9])).success


def _swap(_: Trial, rows: list[Row]) -> list[Row]:
    return list(reversed(rows))


def test_the_order_of_rows_means_nothing(tmp_path: Path) -> None:
    assert _judge(tmp_path, Spoiling(edit_rows=_swap, edit_counters=_swap)).success


def test_a_run_of_which_nothing_was_measured_is_invalid(tmp_path: Path) -> None:
    report = _judge(tmp_path, Spoiling(leave_out=range(1, 10)))
    failed = {name for name, _ in _failures(report)}
    assert failed == {"trials_measured", "requests_per_trial", "requests_total"}


def test_an_unknown_run(own_home: Path) -> None:
    with open_warehouse(own_home) as warehouse, pytest.raises(UsageError, match="no run 'x'"):
        validate_run(warehouse, "x")


def _raising(**changes: Any) -> Expectation:
    return replace(EXPECTATIONS[0], name="raising", **changes)


@pytest.mark.parametrize(
    "raising",
    [
        _raising(query="no_such_statement"),
        _raising(query="insert_trials"),
        _raising(column="no_such_column"),
        _raising(column="no_such_column", value="{attempts}"),
        _raising(column="attempts", value=99, message="{no_such_column}"),
    ],
)
def test_an_error_while_judging_is_a_failed_judgement(own_home: Path, raising: Expectation) -> None:
    with open_warehouse(own_home) as warehouse:
        report = validate_run(warehouse, RUN_ID, (*EXPECTATIONS, raising))
        stored = validations(warehouse, RUN_ID).row(-1, named=True)
        assert runs(warehouse)["validated"].to_list() == [False]
    assert _failures(report) == [("raising", None)]
    assert stored["expectation"] == "raising"
    assert "could not be judged" in stored["message"]
    assert "Traceback" in stored["details"]


def test_conclusions_that_cannot_be_drawn_are_a_failed_judgement(own_home: Path) -> None:
    with open_warehouse(own_home) as warehouse:
        warehouse.connection.execute("ALTER TABLE raw.drift DROP COLUMN change")
        report = validate_run(warehouse, RUN_ID, EXPECTATIONS[:1])
        assert warehouse.connection.execute("SELECT * FROM raw.comparison").fetchall() == []
    assert _failures(report) == [("conclusions", None)]


def test_judging_again_replaces_the_conclusions(own_home: Path) -> None:
    with open_warehouse(own_home) as warehouse:
        for _ in range(2):
            assert validate_run(warehouse, RUN_ID, EXPECTATIONS[:1]).success
            numbers = comparisons(warehouse, RUN_ID)["number"].to_list()
            assert numbers == list(range(1, len(numbers) + 1))
            assert drifts(warehouse, RUN_ID).height == 1


def test_rows_with_nothing_to_judge_are_a_failed_judgement(own_home: Path) -> None:
    """Great Expectations passes over NULL; here a NULL is a row that was not judged."""
    nothing = replace(EXPECTATIONS[0], name="nothing", query="judged_run", column="trial", value=1)
    with open_warehouse(own_home) as warehouse:
        report = validate_run(warehouse, RUN_ID, (nothing,))
    assert [result.message for result in report.failures] == [
        "nothing could not be judged: 1 rows have nothing to judge"
    ]


def test_nothing_expected_is_no_success(own_home: Path) -> None:
    with open_warehouse(own_home) as warehouse:
        assert not validate_run(warehouse, RUN_ID, ()).success


QUIETLY = """
import socket, sys
from pathlib import Path

def refuse(*arguments):
    raise AssertionError(f"connects to {arguments}")

socket.socket.connect = socket.getaddrinfo = refuse
from warehouse.database import open_warehouse
from warehouse.validate import validate_run
with open_warehouse(Path(sys.argv[1])) as warehouse:
    assert "great_expectations" not in sys.modules
    report = validate_run(warehouse, sys.argv[2])
sys.exit(0 if report.success else 1)
"""


@pytest.mark.parametrize("sound", [True, False])
def test_judging_is_silent_and_leaves_nothing_behind(
    own_home: Path, tmp_path: Path, sound: bool
) -> None:
    if not sound:
        with open_warehouse(own_home) as warehouse:
            warehouse.connection.execute("DELETE FROM raw.request WHERE trial = 1")
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", QUIETLY, own_home, RUN_ID],
        cwd=empty,
        env={"HOME": str(empty), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0 if sound else 1, "", "")
    assert list(empty.iterdir()) == []
