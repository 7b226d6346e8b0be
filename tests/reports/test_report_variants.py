"""A report of a run with variants: each is a series of its own, compared with the first."""

from __future__ import annotations

import pytest
from written_reports import Write, Written, experiment

from reports.recipe import fact_groups
from reports.summary import headline

VARIANTS = [
    {"name": "base"},
    {"name": "memory", "settings": {"work_mem": "64MB"}},
]


@pytest.fixture(scope="module")
def compared(write_report: Write) -> Written:
    """Two variants and two pools, three blocks."""
    design = {"repetitions": 3, "seed": 7, "warm_up_s": 0.1, "measure_s": 0.5}
    return write_report(validated=True, experiment=experiment(variant=VARIANTS, design=design))


def test_every_variant_is_a_series_with_its_pools(compared: Written) -> None:
    reading = compared.reading
    assert [cell.series for cell in reading.cells] == ["burst base"] * 2 + ["burst memory"] * 2
    told = headline(reading.scenario_summary, reading.trial_summary, reading.comparisons)
    assert [sentence.partition(":")[0] for sentence in told] == ["burst base", "burst memory"]
    assert "memory against base (burst-pool-2-memory)" in told[1]
    assert "memory against base (burst-pool-8-memory)" in told[1]
    assert "against" not in told[0].replace("connections against", "")


def test_what_makes_a_variant_stands_among_the_facts(compared: Written) -> None:
    groups = {group.title: dict(group.pairs) for group in fact_groups(compared.reading)}
    assert groups["Variant memory"]["setting work_mem"] == "64MB"
    assert groups["Variant memory"]["control group"] == "database-2"
    assert "setting max_connections" not in groups["Variant memory"]
    assert not [name for name in groups["Variant base"] if name.startswith("setting")]
    assert "Variant memory" in compared.text
