"""The report of one run: a single HTML file that opens anywhere, with no network at all."""

from __future__ import annotations

from pathlib import Path

from reports import recipe, tables
from reports.claims import claims_of, ground_rules
from reports.comparison_table import comparison_tables
from reports.figures import draw_figures
from reports.findings import findings
from reports.gate_table import both_ways_table, gate_table
from reports.page import render, write_page
from reports.reading import RunReading, read_run
from reports.standing import standings
from reports.theme import style_variables
from warehouse.database import Warehouse


def write_run_report(warehouse: Warehouse, run_id: str, directory: Path) -> Path:
    """Write `<directory>/<run_id>.html` and return its path.

    Raises:
        UsageError: the run's raw rows were pruned; an older page stays as it is.
        OSError: the directory cannot be written, or its disk is full; an older page stays whole.
    """
    return write_reading(read_run(warehouse, run_id), directory)


def write_reading(reading: RunReading, directory: Path) -> Path:
    """The same of what has been read, when nothing of the warehouse is needed any more."""
    path = directory / f"{reading.run['run_id']}.html"
    write_page(path, run_page(reading))
    return path


def run_page(reading: RunReading) -> str:
    """The page about one run, as text."""
    levels = len({cell.pool_size for cell in reading.cells})
    return render(
        "run.html",
        run=reading.run,
        limits_tag=reading.limits_tag,
        style_variables=style_variables([levels]),
        findings=findings(reading.scenario_summary, reading.trial_summary, reading.comparisons),
        ground_rules=list(ground_rules(claims_of(reading.comparisons))),
        comparison_tables=comparison_tables(reading),
        arrivals={facts.name: facts.arrivals for facts in recipe.workload_facts(reading)},
        standings=standings(reading),
        figures=draw_figures(reading),
        latency_table=tables.latency_table(reading),
        resource_table=tables.resource_table(reading),
        trial_table=tables.trial_table(reading),
        gate_table=gate_table(reading),
        both_ways_table=both_ways_table(reading),
        gate_sentences=list(reading.gating.sentences()),
        limited=list(reading.gating.limited),
        validations=list(reading.validations.iter_rows(named=True)),
        workloads=recipe.workload_facts(reading),
        fact_groups=recipe.fact_groups(reading),
        duration=recipe.duration_words(reading),
        command_again=recipe.command_again(reading),
        command_given=recipe.command_given(reading),
        experiment_text=recipe.experiment_text(reading),
    )
