"""What was measured on what, and how to measure it again: facts for a reader who doubts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.numbers import show, show_bytes
from reports.reading import Facts, RunReading

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Named values under a heading."""

    title: str
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """One workload: its statement, how its requests arrive, and the server's plan for it."""

    name: str
    arrivals: str
    sql: str
    parameters: Pairs
    plan: str


def fact_groups(reading: RunReading) -> tuple[FactGroup, ...]:
    """Everything recorded about the host, the server, the data and the run's own time."""
    facts = reading.facts
    database = dict(facts.get("database", {}))
    settings = database.pop("settings", {})
    groups = (
        ("Host", facts.get("host", {})),
        ("Database server", database),
        ("Server settings", settings),
        ("CPUs of their own (pinning), by number", _pinning(facts)),
        ("Data set", facts.get("dataset", {})),
        *(
            (f"Calibration of {_text(row.get('workload'))}", row)
            for row in facts.get("calibrations", ())
        ),
        *_variants(facts),
        ("Seconds of the run itself", reading.outcome.get("wall_s", {})),
    )
    return tuple(FactGroup(title, tuple(flat(found))) for title, found in groups if found)


def _variants(facts: Facts) -> Iterator[tuple[str, Facts]]:
    """What makes each variant: its server as far as it is another than the first one's."""
    first = facts.get("database", {})
    for variant in facts.get("variants", ()):
        own = variant.get("database", {})
        unlike = {
            name: value
            for name, value in own.get("settings", {}).items()
            if value != first.get("settings", {}).get(name)
        }
        yield (
            f"Variant {_text(variant.get('name'))}",
            {
                "work": variant.get("work"),
                "control group": variant.get("group"),
                "PostgreSQL": own.get("version"),
                "programs": variant.get("pg_bin"),
                **{f"setting {name}": value for name, value in unlike.items()},
                **{f"value {name}": value for name, value in flat(variant.get("values", {}))},
            },
        )


def _pinning(facts: Facts) -> Facts:
    return {side: cpus for side, cpus in facts.get("pinning", {}).items() if cpus}


def flat(document: object, path: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a document with their paths; what is not known reads as a dash."""
    if isinstance(document, Mapping) and document:
        for key, value in document.items():
            yield from flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, _leaf(path, document)


def _leaf(path: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and path.endswith("bytes"):
        return f"{show_bytes(value)} ({value:,})"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_text(item) for item in value) or "none"
    return _text(value)


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def workload_facts(reading: RunReading) -> tuple[WorkloadFacts, ...]:
    """The workloads in the order of the experiment file."""
    plans = reading.facts.get("plans", {})
    return tuple(
        WorkloadFacts(
            name=workload["name"],
            arrivals=load_words(workload),
            sql=workload["sql"].strip(),
            parameters=tuple(
                (name, _parameter_words(given)) for name, given in workload["parameters"].items()
            ),
            plan="\n".join(plans.get(workload["name"], ())),
        )
        for workload in reading.plan["experiment"]["workload"]
    )


def load_words(workload: Facts) -> str:
    """How requests are sent: at planned times, or by workers."""
    loop = workload["closed_loop"]
    if loop is None:
        return arrival_words(workload["arrivals"])
    workers = " or ".join(str(number) for number in loop["concurrency"])
    thinking = {"sleep": "sleeping", "cpu": "of CPU time"}[loop["think"]]
    pause = (
        f"thinking {loop['think_ms']:g} ms {thinking}" if loop["think_ms"] else "without a pause"
    )
    return f"closed loop of {workers} workers, {pause}"


def arrival_words(arrivals: Facts) -> str:
    """How requests arrive, such as `10 at once, 40 requests a second`."""
    if arrivals["kind"] == "replayed":
        again = arrivals["repeat_every_ms"]
        return f"replayed from {arrivals['file']}" + (
            f", again every {again:g} ms" if again else ""
        )
    rate = f"{arrivals['rate_per_s']:g} requests a second"
    if arrivals["kind"] == "burst":
        return f"{arrivals['size']} at once, {rate}"
    spacing = {"uniform": "evenly spaced", "poisson": "at random (Poisson)"}
    return f"{rate}, {spacing.get(arrivals['kind'], arrivals['kind'])}"


def _parameter_words(given: object) -> str:
    if isinstance(given, Mapping):
        told = [f"{key} = {_text(value)}" for key, value in given.items() if value is not None]
        return ", ".join(told)
    return _text(given)


def command_again(reading: RunReading) -> str:
    """A command that plans and measures the same trials again."""
    run = reading.run
    source = run["experiment_source"] or run["experiment"]
    words = ["poolexp", "run", source]
    words += ["--repetitions", str(run["repetitions"]), "--seed", str(run["seed"])]
    if run["limits_mode"]:
        words += ["--limits", run["limits_mode"]]
    return shlex.join(words)


def command_given(reading: RunReading) -> str:
    """The command that was really given, as it was recorded."""
    given: Sequence[Any] = reading.facts.get("command", ())
    return shlex.join(str(word) for word in given)


def experiment_text(reading: RunReading) -> str:
    """The experiment's file as it was, or its contents where the text was not kept."""
    text = reading.plan.get("experiment_text")
    return text or json.dumps(reading.plan.get("experiment", {}), indent=2, ensure_ascii=False)


def duration_words(reading: RunReading) -> str:
    """How long the trials took over what no tool can shorten: their warm-ups and windows."""
    run, wall_s = reading.run, reading.outcome.get("wall_s", {})
    least_s = run["planned_trials"] * (run["warm_up_s"] + run["measure_s"])
    if not wall_s or not least_s:
        return ""
    told = ", ".join(
        f"{name.replace('_', ' ')} {show(value, 1)} s" for name, value in wall_s.items()
    )
    return f"Warm-ups and windows alone are {least_s:,.0f} s; the run took {told}."
