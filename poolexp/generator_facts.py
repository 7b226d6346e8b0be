"""What the generator processes of one trial report, taken together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poolexp.generators.failures import together as failures_together

Facts = dict[str, Any]

_SUMMED = (
    "gc_collections",
    "connections_opened",
    "connections_lost",
    "warm_failures",
    "requests",
    "measured",
)
_GREATEST = ("open_s", "warm_s", "end_ns")


def together(opened: Sequence[Facts], closed: Sequence[Facts]) -> Facts:
    """One report of all that each process said when it had opened, and when it had closed.

    Counts are added up, times are the longest, the rest is as the first process says it.
    """
    reports = [{**before, **after} for before, after in zip(opened, closed, strict=True)]
    first = reports[0]
    facts = {**first, "processes": len(reports)}
    for name in _SUMMED:
        if name in first:
            facts[name] = sum(report[name] for report in reports)
    for name in _GREATEST:
        if name in first:
            facts[name] = max(report[name] for report in reports)
    facts["cpus"] = sorted({cpu for report in reports for cpu in report["cpus"]})
    facts["errors"] = failures_together([report["errors"] for report in reports])
    reasons = {report.get("stopped_by") for report in reports}
    facts["stopped_by"] = next((each for each in ("full", "operations") if each in reasons), None)
    facts["stopped_by"] = facts["stopped_by"] or first.get("stopped_by")
    return facts
