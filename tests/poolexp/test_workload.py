from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from poolexp.catalogue import load_experiment
from poolexp.workload import Workload, compile_statement, draw_arguments


@pytest.mark.parametrize(
    ("sql", "compiled", "names"),
    [
        ("SELECT 1", "SELECT 1", ()),
        ("SELECT :a + :b - :a", "SELECT $1 + $2 - $1", ("a", "b")),
        ("SELECT id::text, :id::int", "SELECT id::text, $1::int", ("id",)),
        ("SELECT 'at 12:30', :x", "SELECT 'at 12:30', $1", ("x",)),
        ("SELECT 'it''s :a', :a", "SELECT 'it''s :a', $1", ("a",)),
        ('SELECT "a:b", :c', 'SELECT "a:b", $1', ("c",)),
        ("SELECT $$ :no $$, $t$ :no $t$, :yes", "SELECT $$ :no $$, $t$ :no $t$, $1", ("yes",)),
        ("SELECT :a -- and :not\n, :b", "SELECT $1 -- and :not\n, $2", ("a", "b")),
        ("SELECT /* :no\n */ :a", "SELECT /* :no\n */ $1", ("a",)),
    ],
)
def test_placeholders(sql: str, compiled: str, names: tuple[str, ...]) -> None:
    statement = compile_statement(sql)
    assert (statement.sql, statement.names) == (compiled, names)


def ranged(span: object) -> Workload:
    return Workload.model_validate(
        {
            "name": "ranged",
            "sql": "SELECT :id, :span",
            "parameters": {"id": {"min": 1, "max": 100, "room_for": "span"}, "span": span},
            "arrivals": {"kind": "uniform", "rate_per_s": 1.0},
        }
    )


@given(span=st.integers(1, 100), seed=st.integers(0, 2**63 - 1))
def test_a_range_ends_where_the_table_ends(span: int, seed: int) -> None:
    for start, length in islice(draw_arguments(ranged(span), {}, seed), 50):
        assert isinstance(start, int)
        assert length == span
        assert 1 <= start <= start + span - 1 <= 100


def test_what_a_calibration_found_is_used_and_missed() -> None:
    workload = ranged({"calibrate_cpu_ms": 5.0, "max": 100})
    assert {length for _, length in islice(draw_arguments(workload, {"span": 30}, 1), 20)} == {30}
    with pytest.raises(KeyError, match="calibrated first"):
        next(draw_arguments(workload, {}, 1))


def test_the_same_seed_draws_the_same_arguments() -> None:
    light = load_experiment("pool-lab").find_workload("light-uniform")
    first = list(islice(draw_arguments(light, {}, 5), 200))
    assert first == list(islice(draw_arguments(light, {}, 5), 200))
    assert first != list(islice(draw_arguments(light, {}, 6), 200))
    assert len(set(first)) > 150


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "the statement uses :id"),
        ({"id": 1, "span": 2, "other": 3}, "parameter other is not used"),
        ({"id": {"min": 5, "max": 1}, "span": 1}, "min 5 is larger than max 1"),
        ({"id": {"min": 1, "max": 5, "room_for": "lenght"}, "span": 1}, "refers to lenght"),
        (
            {
                "id": {"calibrate_cpu_ms": 1.0, "max": 9},
                "span": {"calibrate_cpu_ms": 1.0, "max": 9},
            },
            "only one parameter",
        ),
        (
            {
                "id": {"min": 1, "max": 5},
                "span": {"calibrate_cpu_ms": 1.0, "max": 9, "overflow": "id"},
            },
            "constant or a calibrated",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parameters: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Workload.model_validate(
            {
                "name": "bad",
                "sql": "SELECT :id, :span",
                "parameters": parameters,
                "arrivals": {"kind": "uniform", "rate_per_s": 1.0},
            }
        )
