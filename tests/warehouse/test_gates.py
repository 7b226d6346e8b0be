"""Each gate tripped alone: what it says, and how far its effect reaches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from synthetic_runs import RUN_ID, Spoiling, fail, write_run
from synthetic_server import Row

from poolexp.experiment import Experiment
from poolexp.plan import Trial
from poolexp.records import Document
from warehouse import queries
from warehouse.database import Warehouse, open_warehouse
from warehouse.load import load_run

SPOILT = 3
"""The trial in which something is wrong: the first of the second block."""

SMALL = Experiment.model_validate(
    {
        "name": "small",
        "design": {"repetitions": 3, "warm_up_s": 0.5, "measure_s": 2.0},
        "generator": {"limits": {"cpu_cores": 0.5}},
        "pool": {"size": 5},
        "workload": [
            {
                "name": name,
                "sql": "SELECT 1",
                "arrivals": {"kind": "burst", "size": 4, "rate_per_s": 100.0},
            }
            for name in ("one", "other")
        ],
    }
)


def manifest_with(*path: str, value: object) -> Callable[[Document], None]:
    """Change one entry of a manifest."""

    def edit(document: Document) -> None:
        inner: Any = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return edit


def shifted(row: Row, delay_ns: int, *, whole: bool) -> None:
    """Make a request wait: all of it, or only before it is sent."""
    for name in ("requested_ns", "acquired_ns", "received_ns", "released_ns", "ended_ns"):
        row[name] += delay_ns if whole or name == "requested_ns" else max(delay_ns, 0)


def late_first_requests(rows: list[Row]) -> None:
    for row in [row for row in rows if row["burst_position"] == 0][-3:]:
        shifted(row, 2_000_000, whole=True)


def late_later_requests(rows: list[Row]) -> None:
    for row in rows:
        if row["burst_position"] > 0:
            shifted(row, 10_000_000, whole=True)


def growing_backlog(rows: list[Row], share: int = 10) -> None:
    for row in rows:
        delay_ns = row["scheduled_ns"] // share
        for name in ("acquired_ns", "received_ns", "released_ns", "ended_ns"):
            row[name] += delay_ns


def growing_queue_of_one_in_four(rows: list[Row]) -> None:
    """As with one overloaded connection among idle ones: most requests are as quick as ever."""
    growing_backlog([row for row in rows if row["burst_position"] == 3], share=3)


def stall_that_is_worked_off(rows: list[Row]) -> None:
    """What comes within 0.4 s of the last third waits for its end, and then it is over."""
    begin_ns, end_ns = 1_900_000_000, 2_300_000_000
    for row in rows:
        if begin_ns <= row["scheduled_ns"] < end_ns:
            for name in ("acquired_ns", "received_ns", "released_ns", "ended_ns"):
                row[name] += end_ns - row["scheduled_ns"]


def one_failure_in_a_hundred(rows: list[Row]) -> None:
    for row in rows[-2:]:
        fail(row, "error")


def several_failures(rows: list[Row]) -> None:
    for row in rows[-3:]:
        fail(row, "acquire_timeout")


def not_sent_at_all(rows: list[Row]) -> None:
    for row in rows[-8:]:
        fail(row, "not_sent")


def harness_of(cores: float) -> Callable[[list[Row]], None]:
    def edit(rows: list[Row]) -> None:
        for row in rows:
            if row["group"] == "harness":
                row["cpu_usage_ns"] = round(row["at_ns"] * cores)

    return edit


def busy_generator(rows: list[Row]) -> None:
    for row in rows:
        if row["group"] == "generator":
            row["cpu_usage_ns"] = round(row["at_ns"] * 0.95)


def throttled_generator(rows: list[Row]) -> None:
    for row in rows:
        if row["group"] == "generator":
            row["nr_throttled"] = round(row["nr_periods"] * 0.4)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one trial, and what the gate that sees it shows."""

    gate: str
    observed: float | None
    says: str
    manifest: Callable[[Document], None] = lambda _: None
    rows: Callable[[list[Row]], None] = lambda _: None
    counters: Callable[[list[Row]], None] = lambda _: None


WINDOW_NS = 2_000_000_000
EXCLUDING = (
    Fault(
        "foreign_cpu",
        0.5,
        "CPU time of other processes: 0.5 cores, at most 0.03 cores",
        manifest_with("meters", "machine", "foreign_cpu_ns", value=WINDOW_NS // 2),
    ),
    Fault("harness_cpu", 0.2, "0.2 cores, at most 0.1 cores", counters=harness_of(0.2)),
    Fault(
        "steal",
        0.05,
        "5 %, at most 1 %",
        manifest_with("meters", "machine", "steal_ns", value=WINDOW_NS // 10),
    ),
    Fault(
        "hiccup_max",
        21,
        "21 ms, at most 20 ms",
        manifest_with("meters", "hiccups", "max_ns", value=21_000_000),
    ),
    Fault(
        "hiccup_total",
        0.01,
        "1 %, at most 0.5 %",
        manifest_with("meters", "hiccups", "late_total_ns", value=WINDOW_NS // 50),
    ),
    Fault(
        "suspend",
        4_000,
        "4000 ms, none allowed",
        manifest_with("meters", "suspended_ns", value=4_000_000_000),
    ),
    Fault("maintenance", 1, "1, none allowed", manifest_with("maintenance", "changed", value=True)),
)
LIMITING = (
    Fault("send_lag", None, "ms, at most 1 ms", rows=late_first_requests),
    Fault("generator_throttled", None, "at most 5 %", counters=throttled_generator),
    Fault(
        "loop_stall",
        14.6,
        "14.6 ms, at most 10 ms",
        manifest_with("meters", "loop", "max_ns", value=15_000_000),
    ),
    Fault(
        "connections",
        2,
        "connections lost or opened again: 2, none allowed",
        manifest_with("generator", "connections_lost", value=2),
    ),
    Fault(
        "connections",
        1,
        "1, none allowed",
        manifest_with("generator", "connections_opened", value=6),
    ),
    Fault("backlog", None, "ms, at most 50 ms", rows=growing_backlog),
    Fault("backlog", None, "ms, at most 50 ms", rows=growing_queue_of_one_in_four),
    Fault("generator_busy", 0.95, "95 %, at most 90 %", counters=busy_generator),
    Fault(
        "collections", 1, "1, none allowed", manifest_with("generator", "gc_collections", value=1)
    ),
    Fault("unfinished", 0.015, "1.5 %, at most 1 %", rows=several_failures),
)


@contextmanager
def landed(
    home: Path, fault: Fault, *, trial_numbers: tuple[int, ...] = (SPOILT,)
) -> Iterator[Any]:
    def manifest(trial: Trial, document: Document) -> Document:
        if trial.number in trial_numbers:
            fault.manifest(document)
        return document

    def rows(trial: Trial, found: list[Row]) -> list[Row]:
        if trial.number in trial_numbers:
            fault.rows(found)
        return found

    def counters(trial: Trial, found: list[Row]) -> list[Row]:
        if trial.number in trial_numbers:
            fault.counters(found)
        return found

    spoiling = Spoiling(edit_manifest=manifest, edit_rows=rows, edit_counters=counters)
    run = write_run(home, experiment=SMALL, spoiling=spoiling)
    with open_warehouse(home) as warehouse:
        load_run(warehouse, run)
    with open_warehouse(home, read_only=True) as warehouse:
        yield warehouse


def tripped(warehouse: Warehouse) -> pl.DataFrame:
    return queries.gates(warehouse, RUN_ID).filter(~pl.col("passed"))


@pytest.mark.parametrize("fault", EXCLUDING, ids=lambda fault: fault.gate)
def test_what_comes_from_outside_excludes_the_block_and_nothing_else(
    tmp_path: Path, fault: Fault
) -> None:
    with landed(tmp_path, fault) as warehouse:
        (found,) = tripped(warehouse).iter_rows(named=True)
        trials = queries.trials(warehouse, RUN_ID)
        scenarios = queries.scenario_summary(warehouse, RUN_ID)
        everything = queries.scenario_summary_all(warehouse, RUN_ID)
    assert (found["gate"], found["trial"], found["effect"]) == (fault.gate, SPOILT, "excludes")
    assert found["observed"] == pytest.approx(fault.observed, rel=0.01)
    assert fault.says in found["message"]
    assert found["remedy"].endswith(".")

    excluded = trials.filter(pl.col("excluded"))
    assert excluded["trial"].to_list() == [3, 4], "both trials of block 2"
    assert all(f"(trial {SPOILT})" in reason for reason in excluded["excluded_reason"])
    assert trials.filter(~pl.col("excluded"))["excluded_reason"].null_count() == 4
    assert scenarios["usable"].to_list() == [2, 2]
    assert scenarios["excluded_trials"].to_list() == [1, 1]
    assert scenarios["limited"].to_list() == [False, False]
    assert everything["usable"].to_list() == [3, 3]
    assert everything["n"].to_list() == [600, 600]
    assert scenarios["n"].to_list() == [400, 400]


@pytest.mark.parametrize("fault", LIMITING, ids=lambda fault: fault.gate)
def test_what_a_scenario_can_cause_limits_it_and_nothing_else(tmp_path: Path, fault: Fault) -> None:
    with landed(tmp_path, fault) as warehouse:
        (found,) = tripped(warehouse).iter_rows(named=True)
        trials = queries.trials(warehouse, RUN_ID)
        scenarios = queries.scenario_summary(warehouse, RUN_ID)
    assert (found["gate"], found["trial"], found["effect"]) == (fault.gate, SPOILT, "limits")
    if fault.observed is not None:
        assert found["observed"] == pytest.approx(fault.observed)
    assert found["observed"] > found["threshold"]
    assert fault.says in found["message"]

    assert not trials["excluded"].any()
    assert scenarios["usable"].to_list() == [3, 3]
    own = pl.col("scenario") == found["scenario"]
    assert scenarios.filter(own)["limited"].to_list() == [True]
    assert scenarios.filter(~own)["limited"].to_list() == [False]
    (reasons,) = scenarios.filter(own)["limited_reasons"]
    assert reasons == f"{found['message']} (trial {SPOILT})"


def test_later_requests_of_a_burst_only_warn(tmp_path: Path) -> None:
    fault = Fault("burst_lag", None, "", rows=late_later_requests)
    with landed(tmp_path, fault) as warehouse:
        (found,) = tripped(warehouse).iter_rows(named=True)
        scenarios = queries.scenario_summary(warehouse, RUN_ID)
    assert (found["gate"], found["effect"]) == ("burst_lag", "warns")
    assert not scenarios["limited"].any()
    assert scenarios["warnings"].drop_nulls().to_list() == [f"{found['message']} (trial {SPOILT})"]


def test_requests_that_were_not_sent_are_infinitely_late(tmp_path: Path) -> None:
    fault = Fault("send_lag", None, "", rows=not_sent_at_all)
    with landed(tmp_path, fault) as warehouse:
        found = {row["gate"]: row for row in tripped(warehouse).iter_rows(named=True)}
    assert found["send_lag"]["observed"] is None
    assert found["send_lag"]["message"].endswith(
        "without bound: requests were not sent or did not end well"
    )
    assert "unfinished" in found


def test_one_late_burst_of_fifty_is_no_finding(tmp_path: Path) -> None:
    def one_late(rows: list[Row]) -> None:
        shifted(rows[-4], 50_000_000, whole=True)

    with landed(tmp_path, Fault("send_lag", None, "", rows=one_late)) as warehouse:
        assert tripped(warehouse).is_empty()


@pytest.mark.parametrize(
    "edit", [stall_that_is_worked_off, one_failure_in_a_hundred], ids=lambda edit: edit.__name__
)
def test_what_stays_within_the_limits_is_no_finding(
    tmp_path: Path, edit: Callable[[list[Row]], None]
) -> None:
    with landed(tmp_path, Fault("", None, "", rows=edit)) as warehouse:
        assert tripped(warehouse).is_empty()


def test_of_two_bursts_no_send_lag_is_told(tmp_path: Path) -> None:
    def only_two(rows: list[Row]) -> None:
        del rows[:-8]

    with landed(tmp_path, Fault("", None, "", rows=only_two)) as warehouse:
        found = queries.gates(warehouse, RUN_ID).filter(pl.col("trial") == SPOILT)
    (lag,) = found.filter(pl.col("gate") == "send_lag").iter_rows(named=True)
    assert (lag["passed"], lag["message"].endswith(": not measured")) == (None, True)


def test_a_lost_connection_that_was_opened_again_is_one(tmp_path: Path) -> None:
    def lost_and_opened(document: Document) -> None:
        document["generator"] |= {"connections_lost": 1, "connections_opened": 6}

    with landed(tmp_path, Fault("", None, "", lost_and_opened)) as warehouse:
        (found,) = tripped(warehouse).iter_rows(named=True)
    assert (found["gate"], found["observed"]) == ("connections", 1)


def test_hiccups_are_a_share_of_the_time_they_were_watched(tmp_path: Path) -> None:
    """A closed loop's window may close long before its last requests, and the meters watch on."""

    def watched_for_long(document: Document) -> None:
        document["meters"]["machine"]["between_ns"] = 100 * WINDOW_NS
        document["meters"]["hiccups"]["late_total_ns"] = WINDOW_NS // 50

    with landed(tmp_path, Fault("", None, "", watched_for_long)) as warehouse:
        assert tripped(warehouse).is_empty()


def test_the_worst_trial_speaks_for_a_scenario_and_all_are_named(tmp_path: Path) -> None:
    fault = Fault("connections", 2, "", manifest_with("generator", "connections_lost", value=2))
    with landed(tmp_path, fault, trial_numbers=(1, 2, 3, 4)) as warehouse:
        reasons = queries.scenario_summary(warehouse, RUN_ID)["limited_reasons"].to_list()
        trials = queries.trials(warehouse, RUN_ID)
    for reason, scenario in zip(reasons, ("one-pool-5", "other-pool-5"), strict=True):
        numbers = trials.filter((pl.col("scenario") == scenario) & (pl.col("trial") < 5))["trial"]
        assert reason.endswith(f"(trial {', '.join(map(str, numbers))})")


def test_a_trial_that_is_left_out_limits_nothing(tmp_path: Path) -> None:
    def from_outside_and_late(document: Document) -> None:
        document["meters"]["machine"]["foreign_cpu_ns"] = WINDOW_NS
        document["generator"]["connections_lost"] = 1

    with landed(tmp_path, Fault("", None, "", from_outside_and_late)) as warehouse:
        counted = queries.scenario_summary(warehouse, RUN_ID)
        everything = queries.scenario_summary_all(warehouse, RUN_ID)
    assert counted["limited"].to_list() == [False, False]
    assert sorted(everything["limited"]) == [False, True]


def test_where_every_block_is_excluded_nothing_is_left(tmp_path: Path) -> None:
    fault = Fault("steal", 1, "", manifest_with("meters", "machine", "steal_ns", value=WINDOW_NS))
    with landed(tmp_path, fault, trial_numbers=(1, 3, 5)) as warehouse:
        scenarios = queries.scenario_summary(warehouse, RUN_ID)
        everything = queries.scenario_summary_all(warehouse, RUN_ID)
    assert scenarios["usable"].to_list() == [0, 0]
    assert scenarios["end_to_end_mean_ms"].to_list() == [None, None]
    assert everything["end_to_end_mean_ms"].null_count() == 0


@pytest.mark.parametrize(
    ("gates", "manifest"),
    [
        ({"foreign_cpu"}, manifest_with("meters", "machine", "foreign_cpu_ns", value=None)),
        ({"hiccup_max", "hiccup_total"}, manifest_with("meters", "hiccups", value=None)),
        (
            {"hiccup_max", "hiccup_total"},
            manifest_with("meters", "hiccups", "real_time", value=False),
        ),
        (
            {"foreign_cpu", "steal", "suspend", "hiccup_max", "hiccup_total", "loop_stall"},
            manifest_with("meters", value={}),
        ),
    ],
)
def test_what_was_not_measured_is_said_and_neither_passes_nor_fails(
    tmp_path: Path, gates: set[str], manifest: Callable[[Document], None]
) -> None:
    with landed(tmp_path, Fault("", None, "", manifest)) as warehouse:
        unknown = queries.gates(warehouse, RUN_ID).filter(pl.col("passed").is_null())
        assert tripped(warehouse).is_empty()
    assert set(unknown["gate"]) == gates
    assert set(unknown["trial"]) == {SPOILT}
    assert all(message.endswith(": not measured") for message in unknown["message"])


def test_every_gate_has_a_row_in_every_accepted_trial(landed_home: Path) -> None:
    with open_warehouse(landed_home, read_only=True) as warehouse:
        found = queries.gates(warehouse, RUN_ID)
        known = queries.gate_limits(warehouse)
    bursts = pl.col("scenario").str.starts_with("heavy-burst")
    names = known["gate"].to_list()
    for (trial,), rows in found.filter(bursts).group_by("trial"):
        assert rows.sort("number")["gate"].to_list() == names, trial
    for (trial,), rows in found.filter(~bursts).group_by("trial"):
        assert rows.sort("number")["gate"].to_list() == names[:-1], trial
    assert found["passed"].all()
    assert all(len(reason) > 20 for reason in known["reason"])


def test_the_readme_lists_every_gate_with_its_limit(landed_home: Path) -> None:
    with open_warehouse(landed_home, read_only=True) as warehouse:
        known = list(queries.gate_limits(warehouse).iter_rows(named=True))
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (excludes|limits|warns) \| ([^|]+) \|", readme, re.MULTILINE)
    assert rows == [(row["gate"], row["effect"], _limit_in_words(row)) for row in known]


def _limit_in_words(row: dict[str, Any]) -> str:
    number = f"{row['threshold'] * (100 if row['unit'] == 'share' else 1):g}"
    return number + {"share": " %", "count": ""}.get(row["unit"], f" {row['unit']}")
