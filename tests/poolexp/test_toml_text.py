import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolexp.catalogue import built_in_names, source_of
from poolexp.toml_text import toml_text

scalars = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)


@given(st.dictionaries(keys, values, max_size=5))
def test_reading_what_was_written_gives_the_document_again(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(document)) == document


@pytest.mark.parametrize("name", built_in_names())
def test_the_built_in_experiments_survive(name: str) -> None:
    document = tomllib.loads(source_of(name)[1])
    text = toml_text(document)
    assert tomllib.loads(text) == document
    assert text.count("[[workload]]") == len(document["workload"])


def test_none_has_no_place() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        toml_text({"a": None})
