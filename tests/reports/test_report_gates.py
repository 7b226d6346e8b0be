"""How a report shows trials that something spoilt, and scenarios that spoilt themselves."""

from __future__ import annotations

import polars as pl
import pytest
from synthetic_runs import Spoiling
from written_reports import Write, Written

from poolexp.plan import Trial
from poolexp.records import Document
from reports.standing import standings
from reports.summary import headline, summary_rows

SPOILT_BLOCK = 2
LIMITED = "heavy-burst-pool-5"


def _spoil(trial: Trial, document: Document) -> Document:
    if trial.block == SPOILT_BLOCK and trial.position == 4:
        document["meters"]["machine"]["foreign_cpu_ns"] = document["end_ns"] // 2
    if trial.scenario.slug == LIMITED:
        document["generator"]["connections_lost"] = 1
    return document


@pytest.fixture(scope="module")
def gated(write_report: Write) -> Written:
    """A run with one block from outside spoilt, and one scenario that loses connections."""
    return write_report(validated=True, spoiling=Spoiling(edit_manifest=_spoil))


@pytest.fixture(scope="module")
def all_excluded(write_report: Write) -> Written:
    """A run on a machine that did something else all the time."""

    def busy(_: Trial, document: Document) -> Document:
        document["meters"]["machine"]["foreign_cpu_ns"] = document["end_ns"]
        return document

    return write_report(spoiling=Spoiling(edit_manifest=busy))


def test_the_gates_stand_beside_the_answer(gated: Written) -> None:
    (standing,) = [each for each in standings(gated.reading) if each.name == "Gates"]
    assert standing.tone == "warn"
    assert standing.verdict == "4 of 27 trials gated"
    assert standing.details[0].startswith("Block 2 is left out: CPU time of other processes: ")
    assert "(trial 13)" in standing.details[0]
    assert standing.details[1].startswith(f"{LIMITED} is limited: connections lost")
    for text in (standing.verdict, *standing.details):
        assert text in gated.page.text


def test_a_sound_run_says_that_no_trial_was_gated(complete: Written) -> None:
    (standing,) = [each for each in standings(complete.reading) if each.name == "Gates"]
    assert (standing.tone, standing.verdict) == ("good", "none of 27 trials gated")
    assert "(limited)" not in complete.page.text
    assert "Limited" not in complete.page.text
    assert "table-both-ways" not in complete.page.heads


def test_what_could_not_be_measured_is_said(unlimited: Written) -> None:
    (standing,) = [each for each in standings(unlimited.reading) if each.name == "Gates"]
    assert "Not measured: CPU time of other processes" in " ".join(standing.details)


def test_limited_scenarios_are_marked_wherever_their_numbers_stand(gated: Written) -> None:
    for table in ("table-latencies", "table-resources"):
        for row in gated.page.rows(table):
            mark = any("(limited)" in cell.text for cell in row.cells)
            assert mark == (row.key.split(" ")[0] == LIMITED), (table, row.key)
    assert gated.page.text.count(f"Limited, see Gates: {LIMITED}.") >= 5
    names = [row.name for row in summary_rows(gated.reading.scenario_summary)]
    assert [name for name in names if "limited" in name] == [f"{LIMITED} (limited)"]
    told = headline(gated.reading.scenario_summary, gated.reading.trial_summary)
    assert "Limited with 5 connections: connections lost" in told[0]
    assert not any("Limited" in paragraph for paragraph in told[1:])


def test_excluded_repetitions_are_left_out_and_counted(gated: Written) -> None:
    told = headline(gated.reading.scenario_summary, gated.reading.trial_summary)
    for paragraph in told:
        assert "Only 2 of 3 repetitions are usable." in paragraph
    assert set(gated.reading.quantiles["trial"]) == set(range(1, 10)) | set(range(19, 28))
    remarks = {row.key: row.cells[-1].text for row in gated.page.rows("table-trials")}
    for trial, block in gated.reading.trials.select("trial", "block").iter_rows():
        assert ("block left out" in remarks[str(trial)]) == (block == SPOILT_BLOCK)
    assert "gate foreign_cpu" in remarks["13"]


def test_results_are_shown_with_and_without_exclusions(gated: Written) -> None:
    rows = gated.page.rows("table-both-ways")
    assert len(rows) == 9
    for row in rows:
        assert [cell.text for cell in row.cells][1::4] == ["2", "3"]


def test_every_gate_is_in_the_table(gated: Written) -> None:
    rows = {row.key: [cell.text for cell in row.cells] for row in gated.page.rows("table-gates")}
    assert list(rows) == gated.reading.gate_limits["gate"].to_list()
    assert rows["foreign_cpu"][1:3] == ["27", "1"]
    assert "(trial 13; 1 trial: 13)" in rows["foreign_cpu"][4]
    assert rows["connections"][1:3] == ["27", "3"]
    assert rows["burst_lag"][1:3] == ["9", ""]
    assert rows["steal"][4] == "0 %, at most 1 %"


def test_a_run_without_a_usable_trial_is_still_a_page(all_excluded: Written) -> None:
    (standing,) = [each for each in standings(all_excluded.reading) if each.name == "Gates"]
    assert (standing.tone, standing.verdict) == ("bad", "27 of 27 trials gated")
    assert all_excluded.reading.quantiles.is_empty()
    means = all_excluded.reading.everything["end_to_end_mean_ms"]
    assert isinstance(means, pl.Series)
    assert means.null_count() == 0
    assert len(all_excluded.page.rows("table-both-ways")) == 9
