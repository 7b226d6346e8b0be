"""What stands beside the answer: whether the run is whole, valid, limited, and all of it done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from reports.claims import drift_in_words
from reports.numbers import counted, listed
from reports.reading import RunReading

Tone = Literal["good", "warn", "bad", "plain"]

MOST_TOLD = 4
"""So many failures are told beside the answer; the table of the validation has all."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One fact about the run as a whole; the tone has a sign of its own, not only a colour."""

    name: str
    tone: Tone
    verdict: str
    details: tuple[str, ...] = ()


def standings(reading: RunReading) -> tuple[Standing, ...]:
    """All facts that stand beside the answer."""
    return (
        *_state(reading),
        validation(reading),
        gates(reading),
        limits(reading),
        requests(reading),
        *_drift(reading),
    )


def _drift(reading: RunReading) -> Iterator[Standing]:
    """A warning only: that no drift was seen is no proof of a steady machine."""
    warning = drift_in_words(reading.drifts)
    if warning is not None:
        yield Standing("Drift", "warn", warning)


def _state(reading: RunReading) -> Iterator[Standing]:
    state = reading.run["state"]
    if state != "complete":
        error = reading.run["error"]
        yield Standing(
            "Run",
            "warn" if state == "running" else "bad",
            "still running, or ended without a word" if state == "running" else state,
            (error,) if error else (),
        )


def validation(reading: RunReading) -> Standing:
    """What the newest validation found."""
    rows = reading.validations
    if reading.run["validated"] is None or rows.is_empty():
        return Standing("Validation", "warn", "not validated yet")
    failures = rows.filter(~pl.col("success"))
    all_of_them = counted(rows["expectation"].n_unique(), "expectation")
    if failures.is_empty() and reading.run["validated"]:
        return Standing("Validation", "good", f"passed: all {all_of_them}")
    told = failures["message"].head(MOST_TOLD).to_list()
    if failures.height > MOST_TOLD:
        told.append(f"and {failures.height - MOST_TOLD} more, in the table below")
    failed = failures["expectation"].n_unique()
    return Standing("Validation", "bad", f"failed: {failed} of {all_of_them}", tuple(told))


def gates(reading: RunReading) -> Standing:
    """How many trials were gated, which, why, and what to do."""
    found = reading.gating
    told = list(found.sentences())
    if len(told) > MOST_TOLD:
        told = [*told[:MOST_TOLD], f"and {len(told) - MOST_TOLD} more, in the table below"]
    tone: Tone = "good" if found.accepted and not found.gated else "warn"
    return Standing("Gates", "bad" if found.unusable else tone, found.verdict, tuple(told))


def limits(reading: RunReading) -> Standing:
    """Whether the CPU limits that were asked for were in force."""
    run = reading.run
    state = run["limits_state"]
    if state == "unlimited":
        reasons = tuple(text for text in (run["limits_reason"], run["limits_remedy"]) if text)
        return Standing("CPU limits", "warn", "UNLIMITED: they could not be set", reasons)
    if state == "not asked":
        return Standing("CPU limits", "plain", "none asked for")
    if state != "limited":
        return Standing("CPU limits", "warn", "not known yet")
    return _in_force(reading)


def _in_force(reading: RunReading) -> Standing:
    accepted = reading.trials.drop_nulls("attempt")
    columns = ["database_limit_in_force", "generator_limit_in_force"]
    lacking = accepted.filter(pl.any_horizontal(pl.col(columns).not_())).sort("trial")
    if lacking.is_empty():
        told = listed(dict.fromkeys(_limit_words(accepted)))
        return Standing(
            "CPU limits",
            "good",
            f"in force in all {counted(accepted.height, 'trial')}",
            (f"{told}; read back from the kernel on both sides of every window",) if told else (),
        )
    numbers = listed(str(trial) for trial in lacking["trial"])
    return Standing(
        "CPU limits",
        "bad",
        f"not in force in {counted(lacking.height, 'trial')}",
        (f"trial {numbers}" if lacking.height == 1 else f"trials {numbers}",),
    )


def _limit_words(trials: pl.DataFrame) -> Iterator[str]:
    for group in ("database", "generator"):
        columns = f"{group}_cores", f"{group}_period_ms"
        for cores, period_ms in trials.select(columns).unique(maintain_order=True).iter_rows():
            if cores is not None:
                yield f"{group} {cores:g} cores ({cores * period_ms:g} ms in each {period_ms:g} ms)"


def requests(reading: RunReading) -> Standing:
    """Whether every planned request of every window was measured and done."""
    summary = reading.trial_summary
    planned, done, n = (int(summary[column].sum()) for column in ("planned", "done", "n"))
    missing = summary.filter(pl.col("attempt").is_null()).sort("trial")
    whole = missing.is_empty() and done == planned
    details = [*_missing_words(missing), *_retry_words(reading.trials)]
    if done < n:
        details.append(f"{n - done:,} requests failed")
    details += failure_words(reading.failure_kinds)
    return Standing(
        "Requests",
        "good" if whole else "bad",
        f"all {planned:,} done" if whole else f"{done:,} of {planned:,} done",
        tuple(details) or (f"in the windows of {counted(summary.height, 'trial')}",),
    )


def failure_words(kinds: pl.DataFrame) -> list[str]:
    """Each of the most frequent kinds of errors in a few words; warm-up counts as well."""
    told = [
        f"{kind}, in {counted(count, 'request')}: {' '.join(message.split()) or 'no message'}"
        for kind, message, count in kinds.head(MOST_TOLD).iter_rows()
    ]
    if kinds.height > MOST_TOLD:
        told.append(f"and {counted(kinds.height - MOST_TOLD, 'more kind')} of errors")
    return told


def _missing_words(missing: pl.DataFrame) -> Iterable[str]:
    if missing.is_empty():
        return ()
    told = [f"{trial} ({name})" for trial, name in missing.select("trial", "scenario").iter_rows()]
    more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return (
        f"{counted(len(told), 'trial')} without a usable attempt: "
        f"{', '.join(told[:MOST_TOLD])}{more}",
    )


def _retry_words(trials: pl.DataFrame) -> Iterable[str]:
    again = trials.filter((pl.col("attempts") > 1) & pl.col("attempt").is_not_null())
    if again.is_empty():
        return ()
    told = [f"{trial} ({count})" for trial, count in again.select("trial", "attempts").iter_rows()]
    return (f"more than one attempt in trial {', '.join(told[:MOST_TOLD])}",)
