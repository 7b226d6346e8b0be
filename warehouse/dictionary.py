"""Gives every relation and column of the warehouse its comment: what it means, in which unit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import resources
from typing import Any

import duckdb

TEXT = (resources.files("warehouse") / "dictionary.toml").read_text(encoding="utf-8")
_WORDS: dict[str, Any] = tomllib.loads(TEXT)

_PHASE = re.compile(
    rf"(?P<phase>{'|'.join(_WORDS['phases'])})(_(?P<statistic>{'|'.join(_WORDS['statistics'])}))?"
    r"_(?P<unit>ms|ns)"
)
_USAGE = re.compile(
    rf"((?P<group>{'|'.join(_WORDS['groups'])})_)?(?P<what>{'|'.join(_WORDS['usage'])})"
)
_LIMIT = re.compile(
    rf"((?P<group>{'|'.join(_WORDS['groups'])})_)?(?P<side>before|after)_(?P<what>quota|period)_us"
)
_TABLES = "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary"
_VIEWS = "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
_COLUMNS = (
    "SELECT schema_name, table_name, column_name FROM duckdb_columns() "
    "WHERE NOT internal AND database_name = current_database()"
)
_OVER_TRIALS = (
    "main.scenario_summary",
    "main.scenario_summary_all",
    "staging.scenario_summaries",
)
_EXTREME = {"_min": "Least", "_max": "Greatest"}


def describe(connection: duckdb.DuckDBPyConnection) -> None:
    """Comment on every table, view and column there is.

    Raises:
        KeyError: the dictionary lacks one of them.
    """
    connection.execute("\n".join(_comments(connection)))


def _comments(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    for kind, query in (("TABLE", _TABLES), ("VIEW", _VIEWS)):
        for schema, name in connection.execute(query).fetchall():
            text = _WORDS["relations"][f"{schema}.{name}"]
            yield f"COMMENT ON {kind} {schema}.{name} IS {_quoted(text)};"
    for schema, name, column in connection.execute(_COLUMNS).fetchall():
        text = meaning(f"{schema}.{name}", column)
        yield f'COMMENT ON COLUMN {schema}.{name}."{column}" IS {_quoted(text)};'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def meaning(relation: str, column: str) -> str:
    """What a column of a relation (`main.trials`) means.

    Raises:
        KeyError: the dictionary does not say.
    """
    same = "main.scenario_summary" if relation in _OVER_TRIALS else relation
    special: dict[str, str] = _WORDS["in_relation"].get(same, {})
    plain: dict[str, str] = _WORDS["columns"]
    text = special.get(column) or plain.get(column) or _composed(relation, column)
    if text is None:
        raise KeyError(f"dictionary.toml does not say what {relation}.{column} means")
    return text


def _composed(relation: str, column: str) -> str | None:
    if relation in _OVER_TRIALS:
        return _over_trials(column)
    return _of_phase(column) or _of_usage(column) or _of_limit(column)


def _over_trials(column: str) -> str | None:
    """A median over trials, or with its ending a least or greatest."""
    for ending, word in _EXTREME.items():
        base = column.removesuffix(ending)
        if base != column:
            return f"{word} over the usable trials of: {meaning('main.trial_summary', base)}"
    return f"Median over the usable trials of: {meaning('main.trial_summary', column)}"


def _of_phase(column: str) -> str | None:
    found = _PHASE.fullmatch(column)
    if found is None:
        return None
    phase = _WORDS["phases"][found["phase"]]
    if found["statistic"] is None:
        return (
            f"{phase[0].upper()}{phase[1:]}, in {found['unit']}; NULL where an instant is missing."
        )
    text = f"{_WORDS['statistics'][found['statistic']]} the {phase}, in {found['unit']}."
    if found["phase"] in ("end_to_end", "response"):
        text += " Failed requests rank as infinitely slow: NULL where it falls on one."
    return text


def _of_usage(column: str) -> str | None:
    found = _USAGE.fullmatch(column)
    if found is None:
        return None
    whose = f" ({_WORDS['groups'][found['group']]})" if found["group"] else ""
    return f"{_WORDS['usage'][found['what']]}{whose}."


def _of_limit(column: str) -> str | None:
    found = _LIMIT.fullmatch(column)
    if found is None:
        return None
    what = "Quota of CPU time per period" if found["what"] == "quota" else "Period of the limit"
    whose = f" ({_WORDS['groups'][found['group']]})" if found["group"] else ""
    return f"{what} {_WORDS['sides'][found['side']]}, in microseconds{whose}."
