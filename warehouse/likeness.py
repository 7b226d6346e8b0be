"""Whether runs are alike: the facts that may differ between two runs, and which of them matter.

A fact matters when it can change a latency without anybody having meant it: the machine, the
limits, the server, the driver, the load. Runs that are unlike in one of these are shown beside
each other, and nothing is claimed of them. A fact that one run recorded and the other did not
counts as unlike, because nobody can say that it is not. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]

NOT_RECORDED = "not recorded"

_HOST = {
    "host_key": "host",
    "cpu_model": "CPU model",
    "cpu_count": "CPUs",
    "cpu_affinity": "CPUs that may be used",
    "smt_active": "simultaneous multithreading",
    "cpu_governor": "CPU governor",
    "clock_source": "clock source",
    "virtualised_by": "virtualised by",
    "kernel": "kernel",
    "kernel_tick_hz": "kernel tick (Hz)",
    "sched_cfs_bandwidth_slice_us": "scheduler slice (us)",
    "transparent_huge_pages": "transparent huge pages",
    "cgroup_layout": "control groups",
}
_LIMIT_ABOVE = {
    "limit_above_cores": "limit above our groups (cores)",
    "limit_above_period_ms": "limit above our groups (period, ms)",
}
_SERVER = {
    "kind": "server: kind",
    "version": "server: version",
    "build": "server: build",
    "socket": "server: socket",
    "tls": "server: TLS",
}
_DRIVERS = {"asyncpg": "asyncpg", "uvloop": "uvloop", "python": "Python"}
_DATASET = {"name": "data set", "rows": "data set: rows", "digest": "data set: digest"}
_CALIBRATED = ("value", "overflow_value", "target_cpu_ms")

# Keys of an experiment that change what is shown or judged, not what is measured.
_BY_THE_WAY = frozenset(
    {"question", "analysis", "validation", "design.seed", "design.drain_s", "database.dataset"}
)
_DEEPER = ("design", "database", "generator", "pool")


@dataclass(frozen=True, slots=True)
class Condition:
    """One fact of one run: its value as text, and whether it matters."""

    value: str
    matters: bool = True


Conditions = Mapping[str, Condition]


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is not the same in all runs; `values` in the order of the runs."""

    fact: str
    values: tuple[str, ...]
    matters: bool


def conditions(experiment: Document, facts: Document, label: str | None) -> Conditions:
    """Everything that may differ between two runs, by its name, in the order of its telling.

    Args:
        experiment: the experiment as `plan.json` holds it.
        facts: `run.json`; empty where the run has not written it.
        label: what a person called the run.
    """
    return {
        name: Condition(_text(value), matters)
        for name, value, matters in (
            *_of_machine(facts),
            *_of_server(facts),
            *_of_load(facts),
            *_of_experiment(experiment),
            *_by_the_way(experiment, facts, label),
        )
    }


def likeness_key(found: Conditions) -> str:
    """The same for two runs if and only if they are alike in all that matters."""
    matter = sorted(
        (name, each.value)
        for name, each in found.items()
        if each.matters and each.value != NOT_RECORDED
    )
    return hashlib.sha256(json.dumps(matter).encode()).hexdigest()


def differences(runs: Sequence[Conditions]) -> tuple[Difference, ...]:
    """What is not the same in all of `runs`: what matters first."""
    names = dict.fromkeys(name for found in runs for name in found)
    unlike = [_difference(name, runs) for name in names]
    told = [each for each in unlike if len(set(each.values)) > 1]
    return tuple(sorted(told, key=lambda each: not each.matters))


def _difference(name: str, runs: Sequence[Conditions]) -> Difference:
    found = [conditions.get(name) for conditions in runs]
    return Difference(
        name,
        tuple(each.value if each else NOT_RECORDED for each in found),
        any(each.matters for each in found if each),
    )


Fact = tuple[str, object, bool]


def _of_machine(facts: Document) -> Iterator[Fact]:
    host = _table(facts, "host")
    yield from _named(host, _HOST)
    yield from _named(_table(host, "cgroups"), _LIMIT_ABOVE)
    yield "CPU limits", _table(facts, "limits").get("state"), True
    for group in ("database", "generator"):
        yield f"CPUs pinned: {group}", _table(facts, "pinning").get(group), True
    yield from _named(_table(host, "versions"), _DRIVERS)
    yield "poolexp", facts.get("version"), True


def _of_server(facts: Document) -> Iterator[Fact]:
    server = _table(facts, "database")
    yield from _named(server, _SERVER)
    for name, value in _table(server, "settings").items():
        yield f"setting {name}", value, True
    for variant in facts.get("variants") or ():
        yield from _of_variant(variant)


def _of_variant(variant: Document) -> Iterator[Fact]:
    """What stands behind a variant: an upgrade in the same place does not show in its name."""
    name, server = variant.get("name"), _table(variant, "database")
    for fact, value, matters in _named(server, _SERVER):
        yield f"variant {name}: {fact}", value, matters
    for setting, value in _table(server, "settings").items():
        yield f"variant {name}: setting {setting}", value, True


def _of_load(facts: Document) -> Iterator[Fact]:
    yield from _named(_table(facts, "dataset"), _DATASET)
    for found in facts.get("calibrations") or ():
        whose = f"calibration of {found.get('workload')}"
        yield whose, {key: found.get(key) for key in _CALIBRATED}, True
    # A plan is what a server made of its data: it may explain a difference, and forbids no claim.
    for workload, plan in _table(facts, "plans").items():
        yield f"query plan of {workload}", plan, False


def _of_experiment(experiment: Document) -> Iterator[Fact]:
    """The experiment's keys, one level deep; each workload as a whole. Keys of later versions too.

    Its list of workloads names what is measured in between, so it matters to all of them.
    """
    for key, value in experiment.items():
        if key == "workload":
            for workload in value:
                yield f"workload {workload.get('name')}", workload, True
        elif key in _DEEPER and isinstance(value, Mapping):
            for inner, each in value.items():
                yield f"{key}.{inner}", each, f"{key}.{inner}" not in _BY_THE_WAY
        elif key not in _BY_THE_WAY:
            yield "experiment" if key == "name" else key, value, True


def _by_the_way(experiment: Document, facts: Document, label: str | None) -> Iterator[Fact]:
    host = _table(facts, "host")
    yield "memory (bytes)", host.get("memory_bytes"), False
    yield "limits asked for", _table(facts, "limits").get("mode"), False
    for key in ("question", "analysis", "validation"):
        yield key, experiment.get(key), False
    for package, version in _table(host, "versions").items():
        if package not in _DRIVERS and package != "poolexp":
            yield package, version, False
    yield "label", label, False


def _named(table: Document, names: Mapping[str, str]) -> Iterator[Fact]:
    for key, name in names.items():
        yield name, table.get(key), True


def _table(document: Document, key: str) -> Document:
    """A table within a document; empty where an odd document holds something else there."""
    value = document.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    """A value as one text, the same for equal values; numbers without a needless `.0`."""
    if value is None:
        return NOT_RECORDED
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
