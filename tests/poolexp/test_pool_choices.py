"""Which place a choice takes next, with no server and no loop."""

import pytest

from poolexp.pools.choices import CHOICES, Fifo, KeyHash, RoundRobin


@pytest.mark.parametrize("name", CHOICES)
def test_a_place_can_be_seized_while_it_is_free(name: str) -> None:
    choice = CHOICES[name](3)
    assert choice.seize(1)
    assert not choice.seize(1)
    taken = [choice.take(key) for key in (0, 1, 2)]
    assert sorted(place for place in taken if place is not None) == [0, 2]
    choice.give(1)
    assert choice.take(1) == 1


def test_fifo_takes_the_place_that_has_been_free_longest() -> None:
    choice = Fifo(3)
    assert [choice.take(7) for _ in range(4)] == [0, 1, 2, None]
    choice.give(2)
    choice.give(0)
    assert [choice.take(7) for _ in range(3)] == [2, 0, None]


def test_round_robin_goes_on_in_the_loop_and_passes_over_what_is_busy() -> None:
    choice = RoundRobin(3)
    assert choice.take(0) == 0
    choice.give(0)
    assert choice.take(0) == 1, "not the one that came back"
    assert choice.take(0) == 2
    assert choice.take(0) == 0
    assert choice.take(0) is None
    choice.give(2)
    assert choice.take(0) == 2, "0 and 1 are busy"


def test_the_key_picks_the_place_even_when_others_are_free() -> None:
    choice = KeyHash(4)
    assert choice.take(13) == 1
    assert choice.take(5) is None, "the same place"
    assert choice.take(6) == 2
    assert choice.line(13) is choice.line(1)
    assert choice.line(13) is not choice.line(6)
    choice.give(1)
    assert choice.take(5) == 1
