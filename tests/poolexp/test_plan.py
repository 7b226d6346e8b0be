from collections import Counter
from dataclasses import replace

import pytest

from poolexp.catalogue import load_experiment, parse_experiment
from poolexp.experiment import Experiment
from poolexp.plan import make_plan, schedule_for


def test_pool_lab_is_27_trials_with_every_scenario_once_a_block() -> None:
    plan = make_plan(load_experiment("pool-lab"), "run")
    assert len(plan.trials) == 27
    assert plan.planned_measured == 30_240
    assert sum(trial.planned_requests or 0 for trial in plan.trials) == 35_280
    assert plan.measuring_s == 378
    for block in (1, 2, 3):
        inside = [trial for trial in plan.trials if trial.block == block]
        assert [trial.position for trial in inside] == list(range(1, 10))
        assert len({trial.scenario.slug for trial in inside}) == 9
    assert [trial.number for trial in plan.trials] == list(range(1, 28))


def test_the_order_follows_from_the_seed_alone() -> None:
    experiment = load_experiment("pool-lab")
    first, again = make_plan(experiment, "one"), make_plan(experiment, "two")
    assert first.trials == again.trials
    other = make_plan(load_experiment("pool-lab", seed=7), "one")
    assert [t.scenario for t in first.trials] != [t.scenario for t in other.trials]
    orders = {
        tuple(t.scenario.slug for t in first.trials if t.block == block) for block in (1, 2, 3)
    }
    assert len(orders) == 3, "every block has an order of its own"


def test_more_repetitions_keep_the_blocks_there_were() -> None:
    three = make_plan(load_experiment("pool-lab"), "run").trials
    eight = make_plan(load_experiment("pool-lab", repetitions=8), "run").trials
    assert len(eight) == 72
    for before, after in zip(three, eight, strict=False):
        # The offsets are spread over the number of repetitions, so they alone may differ.
        assert replace(before, start_offset_ns=0) == replace(after, start_offset_ns=0)


def test_within_a_block_all_pools_of_a_workload_get_the_same_requests() -> None:
    plan = make_plan(load_experiment("pool-lab"), "run")
    seeds: dict[tuple[int, str], set[int]] = {}
    for trial in plan.trials:
        seeds.setdefault((trial.block, trial.scenario.workload), set()).add(trial.seed)
    assert all(len(each) == 1 for each in seeds.values())
    assert len(set.union(*seeds.values())) == 9


@pytest.mark.parametrize("repetitions", [1, 3, 8])
def test_start_offsets_are_spread_over_the_period(repetitions: int) -> None:
    plan = make_plan(load_experiment("pool-lab", repetitions=repetitions), "run")
    period_ns = 10_000_000
    strata: dict[str, Counter[int]] = {}
    for trial in plan.trials:
        assert 0 <= trial.start_offset_ns < period_ns
        stratum = trial.start_offset_ns * repetitions // period_ns
        strata.setdefault(trial.scenario.slug, Counter())[stratum] += 1
    for counted in strata.values():
        assert counted == dict.fromkeys(range(repetitions), 1)


def _made(workload: dict[str, object], **tables: object) -> Experiment:
    document = {"name": "made", "pool": {"size": [4, 8]}, **tables}
    light = {"name": "light", "sql": "SELECT 1", **workload}
    return parse_experiment({**document, "workload": [light]}, source="test")


def test_drawn_arrivals_are_those_of_the_block_whatever_the_pool_and_counted_as_drawn() -> None:
    experiment = _made({"arrivals": {"kind": "poisson", "rate_per_s": 50.0}})
    plan = make_plan(experiment, "run")
    hashes: dict[int, set[str]] = {}
    for trial in plan.trials:
        planned = schedule_for(experiment, "light", trial.seed)
        assert planned is not None
        assert (len(planned), planned.measured) == (trial.planned_requests, trial.planned_measured)
        hashes.setdefault(trial.block, set()).add(planned.digest)
    assert [len(each) for each in hashes.values()] == [1, 1, 1]
    assert len(set.union(*hashes.values())) == 3


def test_every_factor_of_pool_and_load_is_crossed_and_named() -> None:
    experiment = _made(
        {"closed_loop": {"concurrency": [16, 96]}},
        pool={"size": 4, "selection": ["lifo", "round_robin"], "statement_cache": [True, False]},
    )
    plan = make_plan(experiment, "run")
    assert {trial.scenario.slug for trial in plan.trials} == {
        f"light-pool-4-workers-{workers}{chosen}{cached}"
        for workers in (16, 96)
        for chosen in ("", "-round-robin")
        for cached in ("", "-no-statement-cache")
    }
    assert {trial.planned_requests for trial in plan.trials} == {None}
    assert plan.planned_measured == 0
