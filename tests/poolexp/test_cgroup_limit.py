import pytest

from poolexp.cgroups import CpuLimit
from poolexp.cgroups.limit import parse_cfs_files, parse_cpu_max
from poolexp.errors import LimitsError


@pytest.mark.parametrize(
    ("limit", "quota_us", "period_us"),
    [
        (CpuLimit(0.5), 5_000, 10_000),
        (CpuLimit(2, period_ms=100), 200_000, 100_000),
        (CpuLimit(0.5, period_ms=100), 50_000, 100_000),
        (CpuLimit(1, period_ms=1), 1_000, 1_000),
        (CpuLimit(1 / 3), 3_333, 10_000),
        (CpuLimit(0.001, period_ms=1_000), 1_000, 1_000_000),
    ],
)
def test_cores_become_a_quota_in_every_period(
    limit: CpuLimit, quota_us: int, period_us: int
) -> None:
    assert (limit.quota_us, limit.period_us) == (quota_us, period_us)


@pytest.mark.parametrize(
    ("cores", "period_ms", "reason"),
    [
        (0.001, 10, "below the kernel's least"),
        (0.001, 100, "below the kernel's least"),
        (0, 10, "positive"),
        (-1, 10, "positive"),
        (float("nan"), 10, "positive"),
        (float("inf"), 10, "positive"),
        (1, 0.5, "outside the kernel's bounds"),
        (1, 1_001, "outside the kernel's bounds"),
        (1, float("nan"), "outside the kernel's bounds"),
    ],
)
def test_what_the_kernel_would_refuse_is_refused_before(
    cores: float, period_ms: float, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        CpuLimit(cores, period_ms)


def test_limits_are_equal_when_the_kernel_cannot_tell_them_apart() -> None:
    asked, read_back = CpuLimit(1 / 3), CpuLimit(0.3333)
    assert asked == read_back
    assert hash(asked) == hash(read_back)
    assert asked != CpuLimit(0.3334)
    assert CpuLimit(0.5, 10) != CpuLimit(0.5, 100)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max 100000\n", None),
        ("max\n", None),
        ("50000 100000\n", CpuLimit(0.5, period_ms=100)),
        ("5000 10000\n", CpuLimit(0.5, period_ms=10)),
        ("50000\n", CpuLimit(0.5, period_ms=100)),
    ],
)
def test_cpu_max_is_understood(text: str, limit: CpuLimit | None) -> None:
    assert parse_cpu_max(text, "cpu.max") == limit


@pytest.mark.parametrize("text", ["", "\n", "half of it", "50000 0", "-1 100000", "50000 x"])
def test_a_cpu_max_that_makes_no_sense_is_an_error_that_names_the_place(text: str) -> None:
    with pytest.raises(LimitsError, match=r"/sys/somewhere/cpu\.max"):
        parse_cpu_max(text, "/sys/somewhere/cpu.max")


@pytest.mark.parametrize(
    ("quota", "period", "limit"),
    [
        ("-1\n", "100000\n", None),
        ("5000\n", "10000\n", CpuLimit(0.5, period_ms=10)),
        ("200000\n", "100000\n", CpuLimit(2, period_ms=100)),
    ],
)
def test_the_two_files_of_version_1_are_understood(
    quota: str, period: str, limit: CpuLimit | None
) -> None:
    assert parse_cfs_files(quota, period, "cpu.cfs_quota_us") == limit


@pytest.mark.parametrize(("quota", "period"), [("", ""), ("", "100000"), ("5000", "0")])
def test_empty_or_broken_files_of_version_1_are_an_error(quota: str, period: str) -> None:
    with pytest.raises(LimitsError, match=r"cpu\.cfs_quota_us"):
        parse_cfs_files(quota, period, "cpu.cfs_quota_us")
