"""Variants on real servers: each trial meets the server, the settings and the group of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console
from server_processes import servers_in, setting

from flows.progress import reporting
from flows.provisioning import provisioned
from poolexp.catalogue import parse_experiment
from poolexp.cgroups import Group
from poolexp.databases.binaries import wheel_directory
from poolexp.databases.server import Server
from poolexp.errors import DatabaseError
from poolexp.landing import read_json
from poolexp.measuring import Bench, measure
from poolexp.plan import Plan, make_plan

LIMIT = {"cpu_cores": 0.5, "period_ms": 10.0}


def _plan(*variants: dict[str, Any]) -> Plan:
    document = {
        "name": "variants",
        "design": {"repetitions": 1, "warm_up_s": 0.1, "measure_s": 0.4},
        "database": {"max_connections": 20, "limits": LIMIT, "settings": {"jit": "off"}},
        "generator": {"limits": LIMIT},
        "pool": {"size": 2},
        "workload": {
            "name": "light",
            "sql": "SELECT balance FROM pool_lab WHERE id = :id",
            "parameters": {"id": {"min": 1, "max": 20000}},
            "arrivals": {"kind": "uniform", "rate_per_s": 100.0},
        },
        "variant": list(variants),
    }
    return make_plan(parse_experiment(document, source="test"), "test-variants")


@pytest.fixture
def programs(private_tmp: Path) -> Path:
    """Other programs: another version where the system has one, else a copy of the package's."""
    if installed := sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        return installed[0].parent
    package = wheel_directory().parents[1]
    # Where the server's user may enter: the installation may lie in a closed directory.
    for tree in (package, package.with_name(f"{package.name}.libs")):
        if tree.is_dir():
            shutil.copytree(tree, private_tmp / "other" / tree.name, symlinks=True)
    (private_tmp / "other").chmod(0o755)
    return private_tmp / "other" / wheel_directory().relative_to(package.parent)


async def test_each_variant_is_measured_on_its_own_server_and_nothing_is_left_over(
    tmp_path: Path, programs: Path, private_tmp: Path, groups_allowed: None
) -> None:
    plan = _plan(
        {"name": "base"},
        {"name": "memory", "settings": {"work_mem": "33MB"}},
        {"name": "other", "pg_bin": str(programs)},
        {"name": "again"},
    )
    with reporting(plan, Console(quiet=True)) as reporter:
        async with provisioned(
            plan, tmp_path, limits="required", pg_bin=None, reporter=reporter
        ) as provided:
            benches = provided.benches
            servers = {name: bench.server for name, bench in benches.items() if name}
            await _see_the_servers(servers)
            _see_the_groups(servers, benches)
            _see_the_document(json.loads(json.dumps(provided.document)), programs)
            groups = [group for bench in benches.values() for group in bench.groups.values()]
            seen = {}
            for trial in plan.trials:
                directory = await measure(benches[trial.scenario.variant], trial, 1)
                seen[trial.scenario.slug] = directory
            _see_the_trials(seen)
            assert len(servers_in(private_tmp)) > 3
    assert servers_in(private_tmp) == []
    assert list(private_tmp.glob("poolexp-pg.*")) == []
    assert [group for group in groups if _exists(group)] == []


async def _see_the_servers(servers: dict[str, Server]) -> None:
    assert servers["again"] is servers["base"]
    assert len({server.pid for server in servers.values()}) == 3
    found = {name: await setting(server, "work_mem") for name, server in servers.items()}
    assert found == {"base": "4MB", "memory": "33MB", "other": "4MB", "again": "4MB"}
    versions = {name: await setting(server, "server_version") for name, server in servers.items()}
    # Debian's says more than the number.
    assert {name: text.split()[0] for name, text in versions.items()} == {
        name: server.version for name, server in servers.items()
    }
    assert {await setting(server, "jit") for server in servers.values()} == {"off"}


def _see_the_groups(servers: dict[str, Server], benches: Mapping[str | None, Bench]) -> None:
    for name, server in servers.items():
        inside = benches[name].groups["database"].processes()
        assert server.pid in inside
        postmasters = {other.pid for other in servers.values()} & set(inside)
        assert postmasters == {server.pid}, "no other server is counted or limited with it"


def _see_the_document(document: dict[str, Any], programs: Path) -> None:
    told = {variant["name"]: variant for variant in document["variants"]}
    assert list(told) == ["base", "memory", "other", "again"]
    assert [variant["group"] for variant in told.values()] == [
        *("database", "database-2", "database-3", "database")
    ]
    assert told["memory"]["database"]["settings"]["work_mem"] == "33MB"
    assert told["other"]["pg_bin"] == str(programs)
    assert told["other"]["plans"]["light"]
    assert told["other"]["database"]["version"] in told["other"]["database"]["build"]
    assert document["database"] == told["base"]["database"]


def _see_the_trials(seen: dict[str, Path]) -> None:
    assert set(seen) == {f"light-pool-2-{name}" for name in ("base", "memory", "other", "again")}
    hashes = set()
    for slug, directory in seen.items():
        manifest = read_json(directory / "trial.json")
        limit = {"cores": 0.5, "period_ms": 10.0}
        assert manifest["scenario"] == slug
        assert manifest["limits"]["database"] == dict.fromkeys(("asked", "before", "after"), limit)
        hashes.add(manifest["schedule_hash"])
        counters = pl.read_parquet(directory / "counters.parquet")
        assert set(counters["group"]) == {"database", "generator", "harness"}
        used = counters.filter(pl.col("group") == "database")["cpu_usage_ns"]
        assert used[-1] > used[0], "the counters are those of the server that answered"
        rows = pl.read_parquet(directory / "requests.parquet")
        assert set(rows["outcome"]) == {"done"}
    assert len(hashes) == 1


def _exists(group: Group) -> bool:
    return any(path.exists() for path in group._paths())


async def test_a_server_that_does_not_start_is_named_by_its_variants(
    tmp_path: Path, private_tmp: Path
) -> None:
    plan = _plan({"name": "good"}, {"name": "bad", "settings": {"shared_bufers": "1MB"}})
    with (
        reporting(plan, Console(quiet=True)) as reporter,
        pytest.raises(DatabaseError, match=r"shared_bufers[^$]*\(the server of bad\)"),
    ):
        async with provisioned(plan, tmp_path, limits="off", pg_bin=None, reporter=reporter):
            pass
    assert servers_in(private_tmp) == []
