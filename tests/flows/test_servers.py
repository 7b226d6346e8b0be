from dataclasses import replace

import pytest

from flows.servers import values_of
from poolexp.calibration import Calibration
from poolexp.catalogue import load_experiment
from poolexp.errors import ExperimentError
from poolexp.experiment import Experiment
from poolexp.variants import Variant

FOUND = Calibration(
    statement="0" * 64,
    parameter="span",
    target_cpu_ms=6.2,
    value=10_000,
    overflow="repeat",
    overflow_value=1,
    measured_cpu_ms=6.2,
    spread=0.01,
    host_key="host",
    server_version="18.6",
    calibrated_at="2026-06-01T00:00:00+00:00",
)


def _with(*variants: Variant) -> Experiment:
    return load_experiment("pool-lab").model_copy(update={"variant": variants})


def test_all_variants_have_the_same_values_but_for_their_work() -> None:
    experiment = _with(Variant(name="a", settings={"jit": "off"}), Variant(name="b", work=1.25))
    assert values_of(experiment, {"heavy-burst": FOUND}) == {
        "a": {"heavy-burst": {"span": 10_000, "repeat": 1}},
        "b": {"heavy-burst": {"span": 12_500, "repeat": 1}},
    }
    assert values_of(_with(), {"heavy-burst": FOUND}) == {
        None: {"heavy-burst": {"span": 10_000, "repeat": 1}}
    }


def test_work_that_does_not_fit_is_refused_with_its_place() -> None:
    bounded = replace(FOUND, overflow=None, overflow_value=None)
    experiment = _with(Variant(name="a"), Variant(name="b", work=2.5))
    with pytest.raises(ExperimentError, match=r"variant\[2\].work: heavy-burst: so much work"):
        values_of(experiment, {"heavy-burst": bounded})
