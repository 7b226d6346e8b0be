"""Which scenarios of a run are compared with which."""

from __future__ import annotations

from typing import Any

from poolexp.experiment import Experiment
from poolexp.plan import make_plan
from poolexp.records import planned_trial
from warehouse.conditions import Baselines, Pair, conditions_of, limit_effects_of, pairs_of

DOCUMENT: dict[str, Any] = {
    "name": "made",
    "pool": {"size": [20, 5, 100]},
    "workload": [
        {"name": "a", "sql": "SELECT 1", "arrivals": {"kind": "uniform", "rate_per_s": 50.0}}
    ],
}
LIMITS = {"limits": [{}, {"cpu_cores": 0.5}]}


def pairs(document: dict[str, Any], variants: tuple[str | None, ...] = (None,)) -> list[Pair]:
    experiment = Experiment.model_validate(DOCUMENT | document)
    rows = [
        planned_trial(trial) | {"variant": variant, "scenario": _slug(trial.scenario.slug, variant)}
        for variant in variants
        for trial in make_plan(experiment, "x").trials
    ]
    conditions = conditions_of(rows)
    said = experiment.model_dump(mode="json") | {"variant": [{"name": name} for name in variants]}
    return list(pairs_of(conditions, Baselines.of(said, conditions)))


def _slug(slug: str, variant: str | None) -> str:
    return slug if variant is None else f"{slug}-{variant}"


def names(found: list[Pair], *, primary: bool) -> set[tuple[str, str]]:
    return {
        (pair.condition.scenario, pair.baseline.scenario)
        for pair in found
        if pair.primary == primary
    }


def test_each_size_against_the_smallest() -> None:
    found = pairs({})
    assert names(found, primary=True) == {("a-pool-20", "a-pool-5"), ("a-pool-100", "a-pool-5")}
    assert names(found, primary=False) == {("a-pool-100", "a-pool-20")}
    assert {pair.factor for pair in found} == {"pool_size"}


def test_each_size_against_the_one_that_is_named() -> None:
    found = pairs({"analysis": {"baseline_pool_size": 20}})
    assert names(found, primary=True) == {("a-pool-5", "a-pool-20"), ("a-pool-100", "a-pool-20")}
    assert names(found, primary=False) == set()


def test_all_other_factors_are_equal() -> None:
    found = pairs({"pool": {"size": [5, 20], "reset": [True, False]}})
    assert names(found, primary=True) == {
        ("a-pool-20", "a-pool-5"),
        ("a-pool-20-no-reset", "a-pool-5-no-reset"),
    }
    assert names(found, primary=False) == {
        ("a-pool-5-no-reset", "a-pool-5"),
        ("a-pool-20-no-reset", "a-pool-20"),
    }


def test_variants_are_compared_like_sizes() -> None:
    found = pairs({"pool": {"size": 5}}, ("old", "new"))
    assert names(found, primary=True) == {("a-pool-5-new", "a-pool-5-old")}
    named = pairs({"pool": {"size": 5}, "analysis": {"baseline_variant": "new"}}, ("old", "new"))
    assert names(named, primary=True) == {("a-pool-5-old", "a-pool-5-new")}


def test_workloads_are_not_compared_with_each_other() -> None:
    arrivals = {"kind": "uniform", "rate_per_s": 50.0}
    workload = [{"name": name, "sql": "SELECT 1", "arrivals": arrivals} for name in ("a", "b")]
    for pair in pairs({"workload": workload}):
        assert pair.condition.workload == pair.baseline.workload


def test_the_workers_of_a_closed_loop_are_a_factor_without_verdicts() -> None:
    loop = {"name": "c", "sql": "SELECT 1", "closed_loop": {"concurrency": [96, 16]}}
    found = pairs({"pool": {"size": 5}, "workload": [loop]})
    assert names(found, primary=True) == set()
    assert names(found, primary=False) == {("c-pool-5-workers-96", "c-pool-5-workers-16")}


def test_the_effect_of_a_limit_is_beside_the_same_sizes_without() -> None:
    found = pairs({"pool": {"size": [5, 20]}, "database": LIMITS})
    (effect,) = limit_effects_of(found)
    assert effect.factor == "database_limit"
    assert effect.limited.condition.level_in_words("database_limit") == "0.5 cores per 10 ms"
    assert effect.unlimited.condition.level_in_words("database_limit") == "no limit"
    for pair in (effect.limited, effect.unlimited):
        assert (pair.condition.levels["pool_size"], pair.baseline.levels["pool_size"]) == (20, 5)


def test_without_a_level_without_limit_there_is_no_effect_of_limits() -> None:
    limits = {"limits": [{"cpu_cores": 0.25}, {"cpu_cores": 0.5}]}
    found = pairs({"pool": {"size": [5, 20]}, "database": limits})
    assert list(limit_effects_of(found)) == []
    assert (
        "a-pool-5-db-0.5-per-10ms-gen-unlimited",
        "a-pool-5-db-0.25-per-10ms-gen-unlimited",
    ) in (names(found, primary=False))
