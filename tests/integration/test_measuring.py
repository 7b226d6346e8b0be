"""One trial measured under real limits, and what its directory says."""

import json
from dataclasses import replace
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from poolexp.catalogue import parse_experiment
from poolexp.cgroups import Group
from poolexp.databases.embedded import embedded_server
from poolexp.databases.server import Server
from poolexp.errors import DatabaseError, LimitsError
from poolexp.landing import COUNTERS, REQUESTS, attempt_directories
from poolexp.measuring import Bench, measure, origin_after
from poolexp.pinning import make_pinning
from poolexp.plan import Plan, make_plan

SHORT = {
    "name": "short",
    "design": {"repetitions": 1, "warm_up_s": 0.2, "measure_s": 0.6},
    "database": {"limits": {"cpu_cores": 0.4, "period_ms": 20.0}},
    "generator": {"limits": {"cpu_cores": 0.5}},
    "pool": {"size": 4},
    "workload": [
        {
            "name": "light",
            "sql": "SELECT :x::int",
            "parameters": {"x": {"min": 1, "max": 9}},
            "arrivals": {"kind": "uniform", "rate_per_s": 100.0},
        }
    ],
}


@pytest.fixture
def plan() -> Plan:
    return make_plan(parse_experiment(SHORT, source="test"), "run-1")


def bench(plan: Plan, home: Path, server: Server, groups: dict[str, Group]) -> Bench:
    return Bench(plan.run_id, home, plan.experiment, server, groups, {})


async def test_a_trial_lands_with_its_limits_its_counters_and_every_request(
    plan: Plan, tmp_path: Path, groups: dict[str, Group]
) -> None:
    async with embedded_server(group=groups["database"], max_connections=20) as server:
        directory = await measure(bench(plan, tmp_path, server, groups), plan.trials[0], 1)
    assert directory == tmp_path / "trial-001" / "attempt-1"
    assert attempt_directories(tmp_path) == [directory]
    assert [path.name for path in directory.parent.iterdir()] == ["attempt-1"], "no partial is left"

    manifest = json.loads((directory / "trial.json").read_text())
    asked = {"cores": 0.4, "period_ms": 20.0}
    assert manifest["limits"]["database"] == {"asked": asked, "before": asked, "after": asked}
    assert manifest["limits"]["generator"]["before"] == {"cores": 0.5, "period_ms": 10.0}
    assert manifest["maintenance"]["changed"] is False
    assert manifest["generator"]["connections_opened"] == 4
    assert "sqlstate" not in manifest["generator"]

    requests = pq.read_table(directory / "requests.parquet")
    assert requests.schema.equals(REQUESTS)
    assert requests.num_rows == manifest["planned_requests"] == 80
    rows = requests.to_pylist()
    assert sum(not row["warm_up"] for row in rows) == manifest["planned_measured"] == 60
    assert all(row["warm_up"] == (row["scheduled_ns"] < 200_000_000) for row in rows)
    assert {row["outcome"] for row in rows} == {"done"}

    counters = pq.read_table(directory / "counters.parquet")
    assert counters.schema.equals(COUNTERS)
    for group in ("database", "generator", "harness"):
        own = [row for row in counters.to_pylist() if row["group"] == group]
        assert [row["moment"] for row in own] == ["window_start", *["sample"] * 5, "window_end"]
        at_ns = [row["at_ns"] for row in own]
        assert at_ns[0] >= 200_000_000, "read at the window's edge, not before it"
        assert at_ns[-1] >= 800_000_000
        assert at_ns == sorted(at_ns)


@pytest.mark.parametrize("offset_ns", [0, 7_000_000, 19_999_999])
@pytest.mark.parametrize("earliest_ns", [0, 1, 12_345_678_901, 7_000_000, 7_000_001])
def test_the_origin_lies_at_the_drawn_offset_and_within_one_period(
    plan: Plan, offset_ns: int, earliest_ns: int
) -> None:
    trial = replace(plan.trials[0], start_offset_ns=offset_ns)
    origin_ns = origin_after(earliest_ns, trial)
    assert origin_ns % 20_000_000 == offset_ns
    assert earliest_ns <= origin_ns < earliest_ns + 20_000_000


async def test_without_groups_a_trial_is_measured_and_says_that_nothing_was_limited(
    plan: Plan, tmp_path: Path, server: Server
) -> None:
    directory = await measure(bench(plan, tmp_path, server, {}), plan.trials[0], 1)
    manifest = json.loads((directory / "trial.json").read_text())
    assert manifest["limits"]["database"]["asked"] is not None
    assert manifest["limits"]["database"]["before"] is None
    assert pq.read_table(directory / "counters.parquet").num_rows == 0
    assert pq.read_table(directory / "requests.parquet").num_rows == 80


async def test_a_server_that_dies_before_the_trial_breaks_the_attempt_and_lands_nothing(
    plan: Plan, tmp_path: Path
) -> None:
    async with embedded_server(group=None, max_connections=20) as server:
        gone = server
    with pytest.raises(DatabaseError, match="Connect call failed"):
        await measure(bench(plan, tmp_path, gone, {}), plan.trials[0], 1)
    assert attempt_directories(tmp_path) == []


async def test_pinned_trials_run_on_the_cpus_that_they_say(plan: Plan, tmp_path: Path) -> None:
    try:
        pinning = make_pinning(1)
    except LimitsError as error:
        pytest.skip(str(error))
    async with embedded_server(group=None, max_connections=20, cpus=pinning.database) as server:
        assert psutil.Process(server.pid).cpu_affinity() == list(pinning.database)
        pinned = replace(bench(plan, tmp_path, server, {}), generator_cpus=pinning.generator)
        directory = await measure(pinned, plan.trials[0], 1)
    manifest = json.loads((directory / "trial.json").read_text())
    assert manifest["generator"]["cpus"] == list(pinning.generator)
