"""The map with a bound, against a list that says the same."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.bounded_map import BoundedMap

MOST, MOST_COST = 5, 40


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50)), max_size=60))
@settings(max_examples=300, deadline=None)
def test_what_was_put_there_first_goes_first(puts: list[tuple[int, int]]) -> None:
    dropped: list[int] = []
    found: BoundedMap[int, int] = BoundedMap(MOST, MOST_COST, dropped.append)
    #: Key, value, cost; oldest first.
    plain: list[tuple[int, int, int]] = []
    gone: list[int] = []
    for value, (key, cost) in enumerate(puts):
        assert found.keep(key, value, cost) == value
        plain = [each for each in plain if each[0] != key] + [(key, value, cost)]
        while len(plain) > MOST or sum(each[2] for each in plain) > MOST_COST:
            gone.append(plain.pop(0)[1])
        assert list(found) == [each[1] for each in plain]
        assert len(found) == len(plain) and found.cost == sum(each[2] for each in plain)
        assert dropped == gone
        values = {each[0]: each[1] for each in plain}
        assert [found.get(each) for each in range(10)] == [values.get(each) for each in range(10)]


def test_a_look_is_no_use() -> None:
    found: BoundedMap[str, int] = BoundedMap(2)
    found.keep("a", 1)
    found.keep("b", 2)
    assert found.get("a") == 1
    found.keep("c", 3)
    assert (found.get("a"), found.get("b"), found.get("c")) == (None, 2, 3)
