"""The docs: every column as the database has it, and SQL that gives the numbers that it says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from warehouse.database import Warehouse, open_warehouse
from warehouse.documentation import unit_of, warehouse_page
from warehouse.queries import run_sql

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```sql\n(-- (?P<view>\w+): (?P<columns>[\w, ]+)\n.*?)```", re.DOTALL)
RECIPES = list(BLOCK.finditer((ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")))

Key = tuple[object, ...]


@pytest.fixture(scope="module")
def warehouse(kept_home: Path) -> Iterator[Warehouse]:
    with open_warehouse(kept_home, read_only=True) as opened:
        yield opened


def test_the_page_of_views_is_what_the_database_says() -> None:
    page = (ROOT / "docs" / "warehouse.md").read_text(encoding="utf-8")
    assert page == warehouse_page(), "write it anew: .venv/bin/uv run .ci/docs"


def test_the_readme_names_every_view(warehouse: Warehouse) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sql = "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
    for name in run_sql(warehouse, sql)["view_name"]:
        assert f"| `{name}` |" in readme


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("end_to_end_max_ms_min", "ms"),
        ("database_throttled_share_max", "share, 0 to 1"),
        ("rate_per_s", "1/s"),
        ("warm_up_s", "s"),
        ("scenario", ""),
        ("attempts", ""),
    ],
)
def test_a_unit_is_the_end_of_a_name(column: str, unit: str) -> None:
    assert unit_of(column) == unit


def test_every_block_of_the_recipes_is_tested() -> None:
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    assert len(RECIPES) == text.count("```sql") > 5


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda found: found["columns"].split(",")[0])
def test_a_recipe_gives_what_the_view_says(warehouse: Warehouse, recipe: re.Match[str]) -> None:
    columns = recipe["columns"].split(", ")
    given = run_sql(warehouse, recipe[1])
    keys = [name for name in given.columns if name not in columns]
    found = _by_key(warehouse, recipe[1], keys, columns)
    expected = _by_key(warehouse, f"SELECT * FROM {recipe['view']}", keys, columns)
    assert found
    for key, values in expected.items():
        if any(value not in (None, 0) for value in values):
            assert key in found, key
    for key, values in found.items():
        assert all(map(_same, values, expected[key])), (key, values, expected[key])


def _by_key(
    warehouse: Warehouse, sql: str, keys: list[str], columns: list[str]
) -> dict[Key, list[float | None]]:
    frame = run_sql(warehouse, sql)
    rows = zip(frame.select(keys).rows(), frame.select(columns).rows(), strict=True)
    return {key: list(values) for key, values in rows}


def _same(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)
