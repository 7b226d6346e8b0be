"""A real server and real control groups, for the tests that need them."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from poolexp.cgroups import Group, control_groups
from poolexp.databases.embedded import embedded_server
from poolexp.databases.server import Server
from poolexp.datasets import load_dataset
from poolexp.errors import LimitsError

GROUPS = ("database", "generator", "harness")

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run one after the other what measures: only tests that need no server run beside it."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.xdist_group("machine"))


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[Server]:
    """One server with its data set for the whole session, without limits. To be read only."""
    async with embedded_server(group=None, max_connections=110) as running:
        await load_dataset(running, "pool_lab")
        yield running


@pytest.fixture
def groups(groups_allowed: None) -> Iterator[dict[str, Group]]:
    """Make the control groups of a run."""
    with control_groups("test", GROUPS) as made:
        yield made


@pytest.fixture(scope="session")
def groups_allowed() -> None:
    """Skip where this machine allows no control groups: then there is nothing to test."""
    try:
        with control_groups("test", GROUPS):
            pass
    except LimitsError as error:
        pytest.skip(str(error))


@pytest.fixture
def private_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory of the test's own: others may run servers at the same time."""
    with tempfile.TemporaryDirectory(prefix="poolexp-test-") as name:
        Path(name).chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
