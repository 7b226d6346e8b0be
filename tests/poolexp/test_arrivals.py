from hypothesis import given
from hypothesis import strategies as st

from poolexp.arrivals import NS_PER_S, schedule
from poolexp.workload import BurstArrivals, UniformArrivals


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
