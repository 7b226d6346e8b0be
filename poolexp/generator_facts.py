"""What the generator processes of one trial report, taken together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Facts = dict[str, Any]

_SUMMED = ("gc_collections", "connections_opened", "connections_lost", "requests", "measured")
_GREATEST = ("open_s", "warm_s", "end_ns")


def together(reports: Sequence[Facts]) -> Facts:
    """One report of several: counts added up, times the longest, the rest as the first says it."""
    first = reports[0]
    facts = {**first, "processes": len(reports)}
    for name in _SUMMED:
        if name in first:
            facts[name] = sum(report[name] for report in reports)
    for name in _GREATEST:
        if name in first:
            facts[name] = max(report[name] for report in reports)
    facts["cpus"] = sorted({cpu for report in reports for cpu in report["cpus"]})
    reasons = {report.get("stopped_by") for report in reports}
    facts["stopped_by"] = next((each for each in ("full", "operations") if each in reasons), None)
    facts["stopped_by"] = facts["stopped_by"] or first.get("stopped_by")
    return facts
