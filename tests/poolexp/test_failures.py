"""Kinds of failures: told apart, bounded, taken together."""

from poolexp.generators.failures import MOST_KINDS, Failures, together


def test_a_kind_keeps_its_first_message_and_its_count() -> None:
    failures = Failures()
    for error in (ValueError("one" * 200), KeyError("two"), ValueError("three")):
        failures.note(error)
    assert failures.document() == [
        {"kind": "ValueError", "message": ("one" * 200)[:200], "count": 2},
        {"kind": "KeyError", "message": "'two'", "count": 1},
    ]


def test_kinds_beyond_the_bound_are_counted_together() -> None:
    failures = Failures()
    for number in range(MOST_KINDS + 5):
        failures.note(type(f"Error{number}", (Exception,), {})(str(number)))
    told = {entry["kind"]: entry["count"] for entry in failures.document()}
    assert len(told) == MOST_KINDS + 1
    assert told["others"] == 5


def test_several_processes_are_taken_together() -> None:
    one, other = Failures(), Failures()
    one.note(ValueError("first"))
    other.note(ValueError("second"))
    other.note(OSError("third"))
    assert together([one.document(), other.document()]) == [
        {"kind": "ValueError", "message": "first", "count": 2},
        {"kind": "OSError", "message": "third", "count": 1},
    ]
