"""The figures of a run report, one a file: what each draws, and the sentences under it.

A figure has one panel a series of pools. Panels of one workload share their axes, those of
different workloads do not. A figure without data says so in words and draws nothing.
"""

from __future__ import annotations

from reports.figures import distributions, memory, order, phases, processor, repetitions
from reports.figures.figure import Figure, KeyEntry, Panel
from reports.reading import RunReading

__all__ = ["Figure", "KeyEntry", "Panel", "draw_figures"]

DRAWERS = (
    phases.draw,
    distributions.draw,
    repetitions.draw,
    processor.draw,
    memory.draw,
    order.draw,
)


def draw_figures(reading: RunReading) -> tuple[Figure, ...]:
    """All figures in the order of the page."""
    return tuple(draw(reading) for draw in DRAWERS)
