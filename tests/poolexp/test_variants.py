from pathlib import Path
from typing import Any

import pytest

from poolexp.catalogue import load_experiment, parse_experiment
from poolexp.errors import ExperimentError
from poolexp.experiment import Experiment
from poolexp.plan import make_plan, schedule_for
from poolexp.records import planned_trial
from poolexp.variants import Variant, WantedServer, wanted_servers, with_work
from poolexp.workload import Workload

HEAVY: dict[str, Any] = {
    "name": "heavy",
    "sql": "SELECT :span, :repeat",
    "arrivals": {"kind": "poisson", "rate_per_s": 40.0},
    "parameters": {
        "span": {"calibrate_cpu_ms": 2.0, "max": 1000, "overflow": "repeat"},
        "repeat": 1,
    },
}
LIGHT: dict[str, Any] = {
    "name": "light",
    "sql": "SELECT 1",
    "arrivals": {"kind": "uniform", "rate_per_s": 100.0},
}


def _made(*variants: dict[str, Any], **tables: Any) -> Experiment:
    document = {"name": "made", "pool": {"size": [4, 8]}, "workload": [HEAVY], **tables}
    return parse_experiment({**document, "variant": list(variants)}, source="test")


def _problems(*variants: dict[str, Any], **tables: Any) -> dict[str, str]:
    with pytest.raises(ExperimentError) as caught:
        _made(*variants, **tables)
    return {problem.place: problem.message for problem in caught.value.problems}


def test_every_scenario_is_there_once_per_variant_in_every_block() -> None:
    plan = make_plan(_made({"name": "old"}, {"name": "new"}), "run")
    slugs = {f"heavy-pool-{size}-{name}" for size in (4, 8) for name in ("old", "new")}
    for block in (1, 2, 3):
        inside = [trial for trial in plan.trials if trial.block == block]
        assert {trial.scenario.slug for trial in inside} == slugs
        assert len(inside) == len(slugs)
    assert {planned_trial(trial)["variant"] for trial in plan.trials} == {"old", "new"}


def test_within_a_block_all_variants_get_the_same_requests_at_the_same_instants() -> None:
    experiment = _made({"name": "old"}, {"name": "new", "work": 1.5})
    met: dict[int, set[tuple[int, str]]] = {}
    for trial in make_plan(experiment, "run").trials:
        planned = schedule_for(experiment, "heavy", trial.seed)
        assert planned is not None
        met.setdefault(trial.block, set()).add((trial.seed, planned.digest))
    assert [len(each) for each in met.values()] == [1, 1, 1]
    assert len(set.union(*met.values())) == 3


def test_an_experiment_without_variants_is_what_it_was() -> None:
    experiment = load_experiment("pool-lab")
    assert {scenario.variant for scenario in experiment.scenarios()} == {None}
    # The digest that version 0.1.0 recorded: keys that came later must not change it.
    before = "df6e63329d72"
    assert experiment.digest.startswith(before)


def test_only_some_scenarios_can_be_measured() -> None:
    experiment = _made({"name": "a"}, {"name": "b"}, design={"only": ["heavy-pool-8"]})
    assert [each.slug for each in experiment.scenarios()] == ["heavy-pool-8-a", "heavy-pool-8-b"]


def test_variants_share_a_server_where_they_can() -> None:
    variants = [
        Variant(name="base"),
        Variant(name="memory", settings={"work_mem": "64MB"}),
        Variant(name="slow", work=1.25),
        Variant(name="other", pg_bin="pg", programs=Path("/pg")),
        Variant(name="same", settings={"jit": "off"}),
    ]
    programs = Path("/mine")
    assert wanted_servers(variants, {"jit": "off"}, programs) == (
        WantedServer("database", ("base", "slow", "same"), {"jit": "off"}, programs),
        WantedServer("database-2", ("memory",), {"jit": "off", "work_mem": "64MB"}, programs),
        WantedServer("database-3", ("other",), {"jit": "off"}, Path("/pg")),
    )
    assert wanted_servers([], {"jit": "off"}, None) == (
        WantedServer("database", (None,), {"jit": "off"}, None),
    )


@pytest.mark.parametrize(
    ("found", "work", "values"),
    [
        ({"span": 400, "repeat": 1}, 1.0, {"span": 400, "repeat": 1}),
        ({"span": 400, "repeat": 1}, 1.25, {"span": 500, "repeat": 1}),
        ({"span": 1, "repeat": 1}, 0.1, {"span": 1, "repeat": 1}),
        ({"span": 800, "repeat": 3}, 1.25, {"span": 1000, "repeat": 3}),
        ({"span": 1000, "repeat": 3}, 1.25, {"span": 938, "repeat": 4}),
    ],
)
def test_work_is_a_factor_on_what_calibration_found(
    found: dict[str, int], work: float, values: dict[str, int]
) -> None:
    heavy = Workload.model_validate({**HEAVY})
    assert with_work(heavy, found, work) == values


def test_work_without_room_is_refused() -> None:
    parameters = {"span": {"calibrate_cpu_ms": 2.0, "max": 1000}}
    bounded = Workload.model_validate({**HEAVY, "sql": "SELECT :span", "parameters": parameters})
    with pytest.raises(ValueError, match="its max is 1000"):
        with_work(bounded, {"span": 900}, 1.25)


def test_all_that_is_wrong_with_variants_is_told_at_once(tmp_path: Path) -> None:
    told = _problems(
        {"name": "a", "work": 2.0},
        {"name": "a", "settings": {"port": "1"}},
        {"name": "c", "pg_bin": str(tmp_path)},
        workload=[HEAVY, LIGHT],
        analysis={"baseline_variant": "z"},
        aa={"experiment": "made"},
        design={"only": ["nonsense"]},
    )
    assert {place: message.partition(":")[0] for place, message in told.items()} == {
        "variant[3].pg_bin": f"{tmp_path} holds no program postgres",
        "design.only[1]": "nonsense is none of the scenarios heavy-pool-4, heavy-pool-8, "
        "light-pool-4, light-pool-8",
        "variant[2].name": "a is used twice",
        "variant[2].settings.port": "it cannot be changed for our server",
        "analysis.baseline_variant": "z is none of the variants a, a, c",
        "aa": "it needs two variants that differ in nothing but their names",
    }
    told = _problems({"name": "a", "work": 2.0}, workload=[HEAVY, LIGHT])
    assert list(told) == ["variant[1].work"]
    assert "light has no calibrated parameter" in told["variant[1].work"]


def test_the_place_of_a_mistake_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\npool = { size = 4 }\n[[workload]]\nname = "light"\nsql = "SELECT 1"\n'
        'arrivals = { kind = "uniform", rate_per_s = 100 }\n[[variant]]\nname = "a"\n'
        '[[variant]]\nname = "b"\nwork = 1.25\n',
        encoding="utf-8",
    )
    with pytest.raises(ExperimentError) as caught:
        load_experiment(str(path))
    assert [problem.place for problem in caught.value.problems] == ["variant[2].work, line 11"]


def test_two_scenarios_of_one_name_are_refused() -> None:
    pool = {"size": 4, "reset": [True, False]}
    told = _problems({"name": "x"}, {"name": "no-reset-x"}, pool=pool)
    assert "would both be called heavy-pool-4-no-reset-x" in told["variant"]
