"""The pages about several runs: the numbers of the warehouse, and nothing that acts."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_reader import Page, chart_values
from written_reports import HOSTILE

from reports.comparison_page import write_comparison
from reports.history_page import write_history
from warehouse.database import open_warehouse
from warehouse.queries import resolve_run
from warehouse.runs_compared import Compared, compare_runs
from warehouse.runs_history import experiment_history


def compared(home: Path, *labels: str) -> Compared:
    with open_warehouse(home, read_only=True) as warehouse:
        return compare_runs(warehouse, [resolve_run(warehouse, label) for label in labels])


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_a_comparison_shows_claims_and_their_numbers(series_home: Path, tmp_path: Path) -> None:
    found = compared(series_home, "quiet-10", "slow", "kernel")
    page = read(write_comparison(found, tmp_path))
    ids = [run.run_id for run in found.runs]
    assert [path.name for path in tmp_path.iterdir()] == [f"compare-{'-'.join(ids)}.html"]
    rows = page.rows("table-ratios-1")
    for row, each in zip(rows, found.pairs[0].scenarios, strict=True):
        cells = {cell.name: cell.value for cell in row.cells if cell.name}
        assert float(cells["end_to_end_mean_ms"]) == each.ratio("end_to_end_mean_ms")
        assert "worse (" in "".join(cell.text for cell in row.cells)
    assert [row.key for row in page.rows("table-differences")] == ["kernel", "label"]
    assert "no claim: unlike runs" in page.text
    assert len(page.charts) == 2
    dots = [row for row in chart_values(page.charts["chart-ratios-1-1"]) if "claim" in row]
    assert all(dot["low"] > 1 for dot in dots)


def test_no_interval_is_drawn_where_the_spread_is_not_known(
    series_home: Path, tmp_path: Path
) -> None:
    page = read(write_comparison(compared(series_home, "quiet-2", "quiet-3"), tmp_path))
    dots = [row for row in chart_values(page.charts["chart-ratios-1-1"]) if "claim" in row]
    assert {dot["low"] for dot in dots} == {None}
    assert "there are 2" in page.text


def test_a_history_shows_every_run(series_home: Path, tmp_path: Path) -> None:
    with open_warehouse(series_home, read_only=True) as warehouse:
        found = experiment_history(warehouse, "steady")
    page = read(write_history(found, 30, tmp_path))
    rows = page.rows("table-history")
    assert len(rows) == 2 * len(found.runs)
    for row, point in zip(rows, found.series[0].points, strict=False):
        assert row.cells[5].value == str(point.value)
    dots = [row for row in chart_values(page.charts["chart-trend-1"]) if "run" in row]
    places = {row["label"]: row["place"] for row in dots}
    assert (places["slow"], places["quiet-3"]) == ("outside", "not known yet")
    assert places["unjudged"] == "not counted"
    assert "begins group B: unlike the run before in kernel" in page.text
    assert "unlimited" in page.text


@pytest.mark.parametrize("kind", ["comparison", "history"])
def test_hostile_texts_stay_texts(series_home: Path, tmp_path: Path, kind: str) -> None:
    if kind == "comparison":
        path = write_comparison(compared(series_home, "m-0", HOSTILE), tmp_path)
    else:
        with open_warehouse(series_home, read_only=True) as warehouse:
            path = write_history(experiment_history(warehouse, "moved"), 30, tmp_path)
    page = read(path)
    assert "</script><script>alert(1)" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert len(page.scripts) == 1
    assert page.handlers == []
    assert all(address.startswith("#") for _, address in page.links)
    assert "\u202e" not in page.text
    assert "\x1b" not in path.read_text(encoding="utf-8")
