"""Writes a document of the kind that `tomllib` reads, so that a person can read it too. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def toml_text(document: Mapping[str, Any]) -> str:
    """The document as TOML: plain keys first, then tables, then lists of tables.

    Tables within tables stand on one line. Reading the text gives the document again; it holds
    texts, whole and floating numbers, booleans, lists and tables, and no None.
    """
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    plain = {key: value for key, value in document.items() if not _sections(value)}
    yield from (f"{_key(key)} = {_value(value)}" for key, value in plain.items())
    for key, value in document.items():
        brackets = ("[[", "]]") if isinstance(value, list) else ("[", "]")
        for section in _sections(value):
            yield f"\n{brackets[0]}{_key(key)}{brackets[1]}"
            yield from (f"{_key(name)} = {_value(each)}" for name, each in section.items())


def _sections(value: object) -> list[Mapping[str, Any]]:
    """The tables that get a heading of their own: a table, or a list of nothing but tables."""
    if isinstance(value, Mapping):
        return [value]
    if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
        return value
    return []


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise TypeError(f"a {type(value).__name__} has no place in an experiment's file")


def _key(key: str) -> str:
    bare = key.replace("-", "").replace("_", "")
    if bare.isascii() and bare.isalnum():
        return key
    return json.dumps(key, ensure_ascii=False).replace("\x7f", "\\u007F")


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for the one control character that JSON lets pass.
    lines = [json.dumps(line, ensure_ascii=False)[1:-1] for line in text.split("\n")]
    quote = '"' if len(lines) == 1 else '"""'
    # The line break behind three opening quotes is none of the text.
    opening = quote if len(lines) == 1 else f"{quote}\n"
    return f"{opening}{chr(10).join(lines)}{quote}".replace("\x7f", "\\u007F")
