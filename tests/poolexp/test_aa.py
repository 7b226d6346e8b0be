import tomllib
from pathlib import Path

import pytest

from poolexp.aa import BLIND_NAMES, AaDesign, aa_document, slowest
from poolexp.catalogue import load_experiment, parse_experiment, source_of
from poolexp.errors import ExperimentError, UsageError
from poolexp.experiment import Experiment


def _made(wanted: AaDesign, reference: str = "pool-lab") -> Experiment:
    document = tomllib.loads(source_of(reference)[1])
    made = aa_document(document, load_experiment(reference), wanted, Path("/folder"))
    return parse_experiment(made, source="test")


def test_the_scenario_that_waits_longest_is_the_one_of_which_noise_is_asked() -> None:
    assert slowest(load_experiment("pool-lab")).slug == "heavy-burst-pool-5"


def test_twins_are_the_same_under_names_that_tell_nothing() -> None:
    made = _made(AaDesign(pairs=12, measure_s=3))
    assert (made.name, made.design.repetitions, made.design.measure_s) == ("pool-lab-aa", 12, 3.0)
    assert [scenario.cell for scenario in made.scenarios()] == ["heavy-burst-pool-5"] * 2
    first, second = made.variant
    assert first.condition == second.condition
    assert {first.name, second.name} < set(BLIND_NAMES)
    assert made.aa is not None
    assert made.aa.experiment == "pool-lab"


def test_power_adds_real_work_and_the_first_is_a_twin() -> None:
    made = _made(AaDesign(scenarios=("heavy-burst-pool-5", "heavy-uniform-pool-20"), power=True))
    assert sorted(variant.work for variant in made.variant) == [1.0, 1.0, 1.1, 1.25]
    assert made.variant[0].work == 1
    assert len(list(made.scenarios())) == 8


def test_an_unknown_scenario_and_work_that_cannot_be_changed_are_refused() -> None:
    with pytest.raises(UsageError, match="no scenario 'nonsense'"):
        _made(AaDesign(scenarios=("nonsense",)))
    with pytest.raises(ExperimentError, match="light-uniform has no calibrated parameter"):
        _made(AaDesign(scenarios=("light-uniform-pool-5",), power=True))
