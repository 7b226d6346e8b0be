"""What is unlike between runs, and what of it forbids a claim."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from written_reports import experiment

from warehouse.likeness import NOT_RECORDED, conditions, differences, likeness_key

Documents = tuple[dict[str, Any], dict[str, Any]]

FACTS: dict[str, Any] = {
    "version": "0.1.0",
    "limits": {"mode": "auto", "state": "limited"},
    "host": {
        "host_key": "abc",
        "cpu_model": "CPU",
        "cpu_count": 2,
        "kernel": "6.18.0",
        "kernel_tick_hz": 250,
        "sched_cfs_bandwidth_slice_us": 5000,
        "cgroup_layout": "v2",
        "cgroups": {"limit_above_cores": None},
        "versions": {"python": "3.11.7", "asyncpg": "0.32.0", "uvloop": "0.23.0", "prefect": "3.9"},
    },
    "database": {"version": "18.6", "settings": {"plan_cache_mode": "force_generic_plan"}},
    "calibrations": [
        {"workload": "heavy", "parameter": "span", "value": 9800, "measured_cpu_ms": 6.21}
    ],
    "plans": {"heavy": ["Index Scan"]},
}


def documents() -> Documents:
    return experiment().model_dump(mode="json"), copy.deepcopy(FACTS)


def put(*path: Any, value: Any) -> Callable[[Documents], None]:
    """Change one place: the first word says in which document."""

    def change(found: Documents) -> None:
        place: Any = found[0 if path[0] == "experiment" else 1]
        for step in path[1:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


CHANGES = [
    (
        "variant newer: server: version",
        put(
            "facts",
            "variants",
            value=[{"name": "newer", "database": {"version": "19.0", "settings": {}}}],
        ),
        True,
    ),
    ("host", put("facts", "host", "host_key", value="other"), True),
    ("CPU model", put("facts", "host", "cpu_model", value="other"), True),
    ("CPUs", put("facts", "host", "cpu_count", value=4), True),
    ("kernel", put("facts", "host", "kernel", value="6.19.0"), True),
    ("kernel tick (Hz)", put("facts", "host", "kernel_tick_hz", value=1000), True),
    (
        "scheduler slice (us)",
        put("facts", "host", "sched_cfs_bandwidth_slice_us", value=1000),
        True,
    ),
    ("control groups", put("facts", "host", "cgroup_layout", value="v1"), True),
    (
        "limit above our groups (cores)",
        put("facts", "host", "cgroups", "limit_above_cores", value=1.5),
        True,
    ),
    ("CPU limits", put("facts", "limits", "state", value="unlimited"), True),
    ("limits asked for", put("facts", "limits", "mode", value="required"), False),
    ("Python", put("facts", "host", "versions", "python", value="3.12.1"), True),
    ("asyncpg", put("facts", "host", "versions", "asyncpg", value="0.33.0"), True),
    ("uvloop", put("facts", "host", "versions", "uvloop", value=None), True),
    ("prefect", put("facts", "host", "versions", "prefect", value="3.10"), False),
    ("poolexp", put("facts", "version", value="0.2.0"), True),
    ("server: version", put("facts", "database", "version", value="17.2"), True),
    (
        "setting plan_cache_mode",
        put("facts", "database", "settings", "plan_cache_mode", value="auto"),
        True,
    ),
    (
        "setting work_mem",
        put("facts", "database", "settings", "work_mem", value="8MB"),
        True,
    ),
    ("calibration of heavy", put("facts", "calibrations", 0, "value", value=9000), True),
    ("query plan of heavy", put("facts", "plans", "heavy", value=["Seq Scan"]), False),
    ("experiment", put("experiment", "name", value="other"), True),
    ("question", put("experiment", "question", value="why?"), False),
    ("design.measure_s", put("experiment", "design", "measure_s", value=12), True),
    ("design.repetitions", put("experiment", "design", "repetitions", value=8), True),
    ("design.seed", put("experiment", "design", "seed", value=8), False),
    ("database.limits", put("experiment", "database", "limits", value=[]), True),
    ("pool.size", put("experiment", "pool", "size", value=[2, 16]), True),
    ("pool.statement_cache", put("experiment", "pool", "statement_cache", value=[False]), True),
    ("workload burst", put("experiment", "workload", 0, "sql", value="SELECT 2"), True),
    ("variant", put("experiment", "variant", value=[{"name": "a"}]), True),
]


@pytest.mark.parametrize(("fact", "change", "matters"), CHANGES, ids=[row[0] for row in CHANGES])
def test_one_fact_that_differs(
    fact: str, change: Callable[[Documents], None], *, matters: bool
) -> None:
    changed = documents()
    change(changed)
    first, second = conditions(*documents(), "same"), conditions(*changed, "same")
    assert [(each.fact, each.matters) for each in differences([first, second])] == [(fact, matters)]
    assert (likeness_key(first) != likeness_key(second)) is matters


def test_runs_that_are_alike_differ_in_nothing() -> None:
    first, second = conditions(*documents(), None), conditions(*documents(), None)
    assert differences([first, second]) == ()
    assert likeness_key(first) == likeness_key(second)


def test_measured_costs_and_moments_are_no_conditions() -> None:
    experiment_document, facts = documents()
    facts["calibrations"][0]["measured_cpu_ms"] = 6.0
    facts["started_at"] = "2027-01-01T00:00:00+00:00"
    changed = conditions(experiment_document, facts, None)
    assert differences([conditions(*documents(), None), changed]) == ()


def test_what_one_run_never_recorded_is_unlike() -> None:
    experiment_document, facts = documents()
    del facts["host"]["kernel"]
    changed = conditions(experiment_document, facts, None)
    (found,) = differences([conditions(*documents(), None), changed])
    assert (found.fact, found.values, found.matters) == ("kernel", ("6.18.0", NOT_RECORDED), True)
    assert likeness_key(changed) != likeness_key(conditions(*documents(), None))


def test_what_matters_comes_first_and_every_run_has_its_value() -> None:
    third = documents()
    third[1]["database"]["version"] = "17.2"
    runs = [conditions(*documents(), label) for label in ("a", "b")]
    found = differences([*runs, conditions(*third, "a")])
    assert [(each.fact, each.values) for each in found] == [
        ("server: version", ("18.6", "18.6", "17.2")),
        ("label", ("a", "b", "a")),
    ]


@pytest.mark.parametrize("odd", [{"host": 3, "plans": [], "database": None}, {}])
def test_odd_facts_are_told_and_not_tripped_over(odd: dict[str, Any]) -> None:
    found = differences([conditions(*documents(), None), conditions(documents()[0], odd, None)])
    assert "kernel" in {each.fact for each in found if each.matters}
