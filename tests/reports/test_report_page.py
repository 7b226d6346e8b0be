"""The run report's page: its numbers are the warehouse's, and it is one harmless file."""

from __future__ import annotations

import base64
import hashlib
import re
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from page_reader import Cell, Page, chart_values
from synthetic_runs import RUN_ID, Spoiling
from written_reports import Write, Written, experiment

from poolexp.errors import UsageError
from reports import page as page_module
from reports.numbers import show_share
from reports.page import json_block, write_page
from reports.run_report import write_run_report
from warehouse.database import open_warehouse

KINDS = ["complete", "unlimited", "with_failures", "with_gaps", "hostile"]
MOST_BYTES = 3_000_000


@pytest.fixture(params=KINDS)
def written(request: pytest.FixtureRequest) -> Written:
    found: Written = request.getfixturevalue(request.param)
    return found


def number(text: str) -> float | None:
    """The number that a reader reads, or None for a dash."""
    found = re.search(r"[−-]?[\d,]+(\.\d+)?", text)
    return float(found[0].replace(",", "")) if found else None


def assert_shows(cell: Cell, value: float | None) -> None:
    """The cell holds the value in full, and shows it rounded to the decimals it shows."""
    if value is None:
        assert (cell.value, cell.text) == ("", "–")
        return
    assert float(cell.value) == value
    if cell.name.endswith("_share"):
        assert cell.text == show_share(value)
        return
    shown = number(cell.text)
    decimals = len(cell.text.partition(".")[2]) if "." in cell.text else 0
    assert shown is not None
    assert abs(shown - value) <= 0.5 * 10**-decimals * (1 + 1e-9)


def by_key(frame: pl.DataFrame, key: str) -> dict[str, dict[str, Any]]:
    return {str(row[key]): row for row in frame.iter_rows(named=True)}


def test_the_latency_table_holds_the_warehouse_numbers(written: Written) -> None:
    summary = by_key(written.reading.scenario_summary, "scenario")
    rows = written.page.rows("table-latencies")
    assert len(rows) == len(summary) * 5
    seen = set()
    for row in rows:
        wanted = summary[row.key.split(" ")[0]]
        for cell in row.cells:
            if cell.name:
                assert_shows(cell, wanted[cell.name])
                seen.add((row.key.split(" ")[0], cell.name))
    for scenario in summary:
        for phase in ("end_to_end", "acquire_wait", "round_trip", "release", "send_lag"):
            for statistic in ("mean", "p50", "p95", "p99", "max"):
                assert (scenario, f"{phase}_{statistic}_ms") in seen


def test_ranges_are_the_least_and_the_most_of_the_repetitions(complete: Written) -> None:
    summary = by_key(complete.reading.scenario_summary, "scenario")
    ranges = 0
    for row in complete.page.rows("table-latencies"):
        wanted = summary[row.key.split(" ")[0]]
        for cell in row.cells:
            if cell.beside:
                ends = [number(end) for end in cell.beside.split("–")]
                decimals = len(cell.text.partition(".")[2])
                assert ends[0] == round(wanted[f"{cell.name}_min"], decimals)
                assert ends[-1] == round(wanted[f"{cell.name}_max"], decimals)
                ranges += 1
    assert ranges > 50


@pytest.mark.parametrize(
    ("table", "frame", "key"),
    [("resources", "scenario_summary", "scenario"), ("trials", "trial_summary", "trial")],
)
def test_the_other_tables_hold_the_warehouse_numbers(
    written: Written, table: str, frame: str, key: str
) -> None:
    summary = by_key(getattr(written.reading, frame), key)
    rows = written.page.rows(f"table-{table}")
    assert [row.key for row in rows if row.key not in summary] == []
    assert len(rows) == len(summary)
    for row in rows:
        for cell in row.cells:
            if cell.name and cell.name != "usable":
                assert_shows(cell, summary[row.key][cell.name])


def test_every_table_has_a_head_for_every_column(written: Written) -> None:
    made = [f"table-{name}" in written.page.heads for name in ("comparisons", "differences")]
    more = ("comparisons", "differences") if all(made) else ()
    for table in ("latencies", "resources", "trials", *more):
        heads = written.page.heads[f"table-{table}"]
        assert {len(row.cells) for row in written.page.rows(f"table-{table}")} == {len(heads)}


WORDS = ("better", "worse", "no relevant difference", "not decided")


def test_the_table_of_comparisons_holds_the_warehouse_verdicts(complete: Written) -> None:
    primary = complete.reading.comparisons.filter(pl.col("kind") == "primary")
    wanted = {f"{row['scenario']} {row['baseline']}": row for row in primary.to_dicts()}
    rows = complete.page.rows("table-comparisons")
    assert [row.key for row in rows[:2]] == [
        "heavy-burst-pool-20 heavy-burst-pool-5",
        "heavy-burst-pool-100 heavy-burst-pool-5",
    ]
    assert {row.key for row in rows} == set(wanted)
    for row in rows:
        for cell in row.cells:
            if cell.name:
                assert float(cell.value) == wanted[row.key][cell.name]
        assert row.cells[-1].text.startswith(wanted[row.key]["verdict"])
        assert "not measured" in row.cells[-3].text


def test_nothing_else_has_a_verdict(complete: Written) -> None:
    rows = complete.page.rows("table-differences")
    assert len(rows) == 9
    told = [cell.text for row in rows for cell in row.cells]
    assert not [text for text in told if any(word in text for word in WORDS)]
    for row in rows:
        assert row.cells[0].text == row.key


def test_before_it_is_judged_a_run_has_no_comparisons(unlimited: Written) -> None:
    assert "table-comparisons" not in unlimited.page.heads
    assert "no test has been made" in unlimited.page.text


def test_every_validation_result_is_shown(with_failures: Written) -> None:
    results = list(with_failures.reading.validations.iter_rows(named=True))
    rows = with_failures.page.rows("table-validation")
    assert len(rows) == len(results) > 0
    for row, result in zip(rows, results, strict=True):
        assert ("passed" in row.cells[0].text) == result["success"]
        assert result["statement"] in row.cells[1].text
        assert row.cells[3].text == result["observed"]
    assert re.search(r"failed: 1 of \d+ expectations", with_failures.page.text)


def test_charts_draw_the_warehouse_numbers(complete: Written) -> None:
    dots = [
        row
        for name, spec in complete.page.charts.items()
        if name.startswith("chart-repetitions")
        for row in chart_values(spec)
        if row.get("kind") == "mean" and "value" in row
    ]
    drawn = sorted(row["value"] for row in dots)
    wanted = sorted(complete.reading.trial_summary["end_to_end_mean_ms"])
    assert drawn == pytest.approx(wanted, rel=1e-5)
    assert len(drawn) == 27


def test_the_parts_of_a_bar_are_the_median_phases(complete: Written) -> None:
    summary = by_key(complete.reading.scenario_summary, "scenario")
    spec = complete.page.charts["chart-phases-1"]
    parts = {
        (row["label"], row["part"]): row["value"] for row in chart_values(spec) if "end" in row
    }
    for size in (5, 20, 100):
        row = summary[f"heavy-burst-pool-{size}"]
        for part in ("acquire-wait", "round-trip", "release", "send-lag"):
            wanted = row[f"{part.replace('-', '_')}_mean_ms"]
            assert parts[str(size), part] == pytest.approx(wanted, rel=1e-5)


def test_every_repetition_has_a_curve(complete: Written) -> None:
    trials = {
        row["trial"]
        for name, spec in complete.page.charts.items()
        if name.startswith("chart-distributions")
        for row in chart_values(spec)
    }
    assert trials == set(range(1, 28))


def test_every_chart_has_words_for_those_who_cannot_see_it(written: Written) -> None:
    for spec in written.page.charts.values():
        assert len(spec["description"]) > 40
        assert chart_values(spec)


def test_the_page_loads_nothing(written: Written) -> None:
    assert [link for link in written.page.links if not link[1].startswith("#")] == []
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & {
        tag for tag, _ in written.page.elements
    }
    css = re.findall(r"<style>(.*?)</style>", written.text, re.DOTALL)
    assert not [rule for rule in css if "url(" in rule or "@import" in rule]


def test_the_policy_allows_the_one_script_and_no_other(written: Written) -> None:
    (script,) = written.page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policies = [given["content"] for tag, given in written.page.elements if "http-equiv" in given]
    assert len(policies) == 1
    assert "default-src 'none'" in policies[0]
    assert f"script-src 'sha256-{digest}';" in policies[0]
    assert written.page.handlers == []


def test_the_page_is_small_private_and_whole(written: Written) -> None:
    assert stat.S_IMODE(written.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(written.path.parent.stat().st_mode) == 0o700
    assert [path.name for path in written.path.parent.iterdir()] == [written.path.name]
    assert len(written.text.encode()) < MOST_BYTES
    assert written.text.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in written.text[:200]


def test_hostile_texts_stay_texts(hostile: Written) -> None:
    assert len(hostile.page.scripts) == 1
    assert hostile.page.text.count("<script>alert(1)</script>") >= 4
    assert "{{ 7 * 7 }}" in hostile.page.text
    assert "49}" not in hostile.page.text
    assert "\x1b" not in hostile.text
    assert "\u202e" not in hostile.text
    rows = chart_values(hostile.page.charts["chart-phases-1"])
    assert {row["label"] for row in rows if "label" in row} == {"2", "8"}


def test_an_unlimited_run_says_so_wherever_results_stand(
    unlimited: Written, complete: Written
) -> None:
    run = unlimited.reading.run
    assert run["limits_reason"] in unlimited.page.text
    assert run["limits_remedy"] in unlimited.page.text
    headings = re.findall(r"<h[23][^>]*>.*?</h[23]>", unlimited.text)
    results = [
        text for text in headings if re.search(r"Where the time|Latencies|heavy-burst", text)
    ]
    tagged = [text for text in results if '<span class="tag">unlimited</span>' in text]
    assert len(tagged) >= 3
    assert 'class="tag"' not in complete.text.partition("<body>")[2]
    assert "its memory is not known" in unlimited.page.text


def test_failures_and_gaps_are_told_beside_the_answer(
    with_failures: Written, with_gaps: Written
) -> None:
    assert "88 requests failed" in with_failures.page.text
    assert "81 of 240 requests failed with 20 connections" in with_failures.page.text
    assert "DivisionByZeroError, in 18 requests: division <b>by zero" in with_failures.page.text
    assert "ValueError, in 1 request: no message" in with_failures.page.text
    assert "interrupted" in with_gaps.page.text
    assert "3 trials without a usable attempt: 5 (" in with_gaps.page.text
    assert "more than one attempt in trial 9 (2)" in with_gaps.page.text
    assert "Only 2 of 3 repetitions are usable with 100 connections." in with_gaps.page.text
    assert "not validated yet" in with_gaps.page.text
    missing = [row for row in with_gaps.page.rows("table-trials") if row.key in {"5", "6", "7"}]
    assert [row.cells[-1].text for row in missing] == ["missing, 0 attempts"] * 3


def test_thin_tails_are_marked(complete: Written) -> None:
    marked = re.findall(r'data-key="([^ "]+) end_to_end"(.*?)</tr>', complete.text, flags=re.DOTALL)
    dagger = {
        key: re.findall(r'data-name="end_to_end_(\w+)_ms"[^>]*>[^<]*<sup>', rest)
        for key, rest in marked
    }
    # Windows of 2 s hold 8 bursts, 80 heavy and 400 light requests.
    assert dagger["heavy-burst-pool-5"] == ["p95", "p99"]
    assert dagger["heavy-uniform-pool-5"] == ["p99"]
    assert dagger["light-uniform-pool-5"] == []


def test_the_command_makes_the_same_plan_again(complete: Written) -> None:
    assert "poolexp run pool-lab-quick --repetitions 3 --seed 20260601" in complete.page.text


def test_one_repetition_one_pool(write_report: Write) -> None:
    design = {"repetitions": 1, "seed": 1, "warm_up_s": 0, "measure_s": 1}
    written = write_report(experiment=experiment(design=design, pool={"size": 4}))
    assert "With 4 connections the acquire wait was" in written.page.text
    assert "End to end in the only repetition" in written.page.text
    assert not [
        cell for row in written.page.rows("table-latencies") for cell in row.cells if cell.beside
    ]
    assert "there are none" in written.page.text


def test_factors_besides_the_size_keep_their_names(write_report: Write) -> None:
    limits = [{"cpu_cores": 0.5}, {}]
    made = experiment(pool={"size": [2, 8], "reset": [True, False]}, database={"limits": limits})
    written = write_report(experiment=made)
    assert len(written.reading.cells) == 8
    charts = [spec for name, spec in written.page.charts.items() if name.startswith("chart-phases")]
    assert len(charts) == 4
    # Panels of one workload share their axis, so that the variants can be compared.
    domains = [spec["layer"][0]["encoding"]["x"]["scale"]["domain"] for spec in charts]
    assert all(domain == domains[0] for domain in domains)
    groups = {row.group for row in written.page.rows("table-latencies")}
    assert len(groups) == 4
    assert any("no-reset" in group for group in groups)


def test_a_run_that_has_only_its_plan_has_a_page(write_report: Write) -> None:
    written = write_report(spoiling=Spoiling(leave_out=range(1, 28)), state=None)
    assert written.page.charts == {}
    assert "0 of 5,040 done" in written.page.text
    assert "still running" in written.page.text
    assert {
        cell.text for row in written.page.rows("table-latencies") for cell in row.cells[4:]
    } == {"–"}


def test_a_page_is_written_again_in_place(landed_home: Path, tmp_path: Path) -> None:
    pages = []
    for _ in range(2):
        with open_warehouse(landed_home, read_only=True) as warehouse:
            path = write_run_report(warehouse, RUN_ID, tmp_path)
        pages.append(path.read_bytes())
    assert pages[0] == pages[1]


def test_a_run_that_does_not_exist_is_refused(landed_home: Path, tmp_path: Path) -> None:
    with (
        open_warehouse(landed_home, read_only=True) as warehouse,
        pytest.raises(UsageError, match="no run 'nobody'"),
    ):
        write_run_report(warehouse, "nobody", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(path, "old")
    (tmp_path / "page.html.new").mkdir()
    with pytest.raises(OSError, match=r"page\.html\.new"):
        write_page(path, "new")
    assert path.read_text() == "old"


def test_a_lone_surrogate_does_not_break_the_page(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", "a\ud800b")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "a?b"


def test_json_cannot_end_its_block_and_has_no_nan() -> None:
    assert "<" not in json_block({"a": "</script><!--"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_block([float("nan")])


def test_the_library_cannot_end_its_script() -> None:
    script = page_module.chart_script()
    assert not re.search(r"</script|<!--", script, re.IGNORECASE)
    assert Page(f"<script>{script}</script>").scripts == [str(script)]
