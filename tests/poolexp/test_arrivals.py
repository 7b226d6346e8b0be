from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from poolexp.arrivals import NS_PER_S, schedule
from poolexp.workload import BurstArrivals, PoissonArrivals, UniformArrivals


def uniform(rate_per_s: float) -> UniformArrivals:
    return UniformArrivals(kind="uniform", rate_per_s=rate_per_s)


def burst(size: int, rate_per_s: float) -> BurstArrivals:
    return BurstArrivals(kind="burst", size=size, rate_per_s=rate_per_s)


def test_the_published_counts() -> None:
    light = schedule(uniform(200), warm_up_s=2, measure_s=12)
    assert (len(light), light.measured) == (2800, 2400)
    assert list(light.planned_ns[:3]) == [0, 5_000_000, 10_000_000]
    bursts = schedule(burst(10, 40), warm_up_s=2, measure_s=12)
    assert (len(bursts), bursts.measured) == (560, 480)
    assert set(bursts.planned_ns[:10]) == {0}
    assert set(bursts.planned_ns[10:20]) == {250_000_000}
    assert list(bursts.position[8:12]) == [8, 9, 0, 1]
    assert list(bursts.burst[8:12]) == [0, 0, 1, 1]


def test_a_request_planned_at_the_end_of_the_warm_up_belongs_to_the_window() -> None:
    planned = schedule(uniform(10), warm_up_s=1, measure_s=1)
    assert next(at for at in planned.planned_ns if at >= planned.warm_up_ns) == NS_PER_S
    assert planned.measured == 10


@given(
    rate=st.floats(0.5, 5_000),
    size=st.integers(1, 50),
    warm_up=st.floats(0, 3),
    measure=st.floats(0.1, 3),
)
def test_instants_rise_lie_inside_and_never_drift(
    rate: float, size: int, warm_up: float, measure: float
) -> None:
    planned = schedule(burst(size, rate), warm_up_s=warm_up, measure_s=measure)
    times = list(planned.planned_ns)
    assert times == sorted(times)
    assert times[0] == 0
    assert times[-1] < planned.end_ns
    for number, at_ns in zip(planned.burst, times, strict=True):
        assert abs(at_ns - number * size * NS_PER_S / rate) <= 1
    assert len(times) % size == 0


def test_the_digest_tells_schedules_apart() -> None:
    first = schedule(uniform(100), warm_up_s=1, measure_s=1)
    assert first.digest == schedule(uniform(100), warm_up_s=1, measure_s=1).digest
    assert first.digest != schedule(uniform(100), warm_up_s=0.5, measure_s=1.5).digest
    assert first.digest != schedule(uniform(101), warm_up_s=1, measure_s=1).digest


@given(rate=st.floats(1, 2_000), seed=st.integers(0, 2**63 - 1))
def test_poisson_instants_follow_from_the_seed_and_rise(rate: float, seed: int) -> None:
    arrivals = PoissonArrivals(kind="poisson", rate_per_s=rate)
    planned = schedule(arrivals, warm_up_s=0.5, measure_s=1, seed=seed)
    again = schedule(arrivals, warm_up_s=0.5, measure_s=1, seed=seed)
    assert planned.digest == again.digest
    assert list(planned.planned_ns) == sorted(planned.planned_ns)
    assert all(0 <= at_ns < planned.end_ns for at_ns in planned.planned_ns)


def test_poisson_arrivals_have_the_rate_and_the_spread_of_their_kind() -> None:
    arrivals = PoissonArrivals(kind="poisson", rate_per_s=1_000)
    planned = schedule(arrivals, warm_up_s=0, measure_s=20, seed=1)
    other = schedule(arrivals, warm_up_s=0, measure_s=20, seed=2)
    assert planned.digest != other.digest
    gaps = [b - a for a, b in pairwise(planned.planned_ns)]
    mean_ns = sum(gaps) / len(gaps)
    deviation_ns = (sum((gap - mean_ns) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    # Seven standard errors of 20,000 draws, which are the same in every test run.
    assert abs(mean_ns / 1e6 - 1) < 0.05
    assert abs(deviation_ns / mean_ns - 1) < 0.05
