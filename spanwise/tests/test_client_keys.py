"""Keys and their texts: fast ways agree with Dask's own."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import hypothesis.strategies as st
import pytest
from dask.utils import key_split
from hypothesis import given

from spanwise.client.pure_keys import PureKeys, surroundings
from spanwise.graph import key_text
from spanwise.graph.key_text import KeyTexts

WORDS = st.sampled_from(
    ["x", "sum", "aggregate", "abcdefab", "division", "1", "a1b2", "_", "(y", "", "Ω", "finalize"]
)
NAMES = st.lists(WORDS, min_size=1, max_size=4).map("-".join) | st.text(max_size=12)
#: Few beginnings, so that keys follow each other that begin alike, and what may come behind them.
RUNS = st.lists(
    st.sampled_from(["inc", "in", "inc-r", "sum-agg", "12ab", "abcdefab", "Ω", "-", ""]),
    min_size=1,
    max_size=2,
).flatmap(
    lambda heads: st.lists(
        st.builds(
            "{}{}{}{}".format,
            st.sampled_from(heads),
            st.sampled_from(["-", "-", "-", "--", "", "b-", "0"]),
            st.sampled_from(["0", "1", "12", "b", "b1", "1b", "²", "bc-1", "", "(0"]),
            st.sampled_from(["", "", "-x", "-7"]),
        ),
        min_size=2,
        max_size=12,
    )
)
KEYS = (
    NAMES
    | st.integers()
    | st.tuples(NAMES, st.integers(0, 9))
    | st.tuples(NAMES, st.integers(0, 9), st.integers(0, 9))
    | st.tuples(NAMES)
    | st.tuples(NAMES, NAMES | st.none() | st.booleans() | st.floats(0, 1))
    | st.tuples(NAMES, NAMES, st.none(), st.integers())
    | st.tuples(st.tuples(NAMES, st.integers(0, 3)), st.integers(0, 3))
)


@given(st.lists(KEYS, max_size=20) | RUNS)
def test_texts_are_those_of_dask(keys: list[Any]) -> None:
    texts = KeyTexts()
    for key in keys:
        group, rest, function = texts.cut(key)
        assert group + rest == str(key)
        assert function == key_split(key)
        if isinstance(key, str):
            assert group == (function if key.startswith(function) else "")
        elif isinstance(key, tuple) and isinstance(key[0], str):
            assert group == "(" + repr(key[0])
        else:
            assert group == ""
        if isinstance(key, tuple) and isinstance(key[0], str):
            assert texts.rest(key, len(group)) == rest


class Counting(KeyTexts):
    """Counts the keys whose function it looks for."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = 0

    def function(self, key: Any) -> str:
        self.looked += 1
        return super().function(key)


def test_what_is_the_same_for_many_keys_is_looked_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for head in ("x", "inc"):
        for key in (f"{head}-{{}}", f"{head}-{{}}-x", f"{head}-{{}}b"):
            texts = Counting()
            for number in range(100):
                assert texts.cut(key.format(number)) == (
                    head,
                    key.format(number)[len(head) :],
                    head,
                )
            assert texts.looked == 1
    texts = Counting()
    for number in range(100):
        texts.cut(("add-77a", number))
    assert texts.looked == 1
    # Of those that do not follow each other Dask is asked once for each beginning.
    asked: list[str] = []

    def split(key: str) -> str:
        asked.append(key)
        return str(key_split(key))

    monkeypatch.setattr(key_text, "key_split", split)
    texts = Counting()
    for number in range(100):
        for head in ("x", "inc"):
            assert (
                texts.cut(f"{head}-{number}-b")[0] == texts.function((f"{head}-{number}",)) == head
            )
    assert len(asked) == 2


def test_what_is_no_text_and_no_tuple_of_one_is_named_as_by_dask() -> None:
    texts = KeyTexts()
    for key in (5, None, 1.5, b"inc-1", (5, 1), ((b"inc-1",), 2), ((("inc-1", 0), 1), 2)):
        assert texts.function(key) == key_split(key)
        assert texts.cut(key) == ("", str(key), key_split(key))
    # Dask takes the first element of these, which have none.
    for key in ((), ((), 1)):
        assert texts.cut(key) == ("", str(key), "Other")


PLAIN = st.recursive(
    st.one_of(
        st.integers(),
        st.floats(allow_nan=False),
        st.text(),
        st.binary(),
        st.booleans(),
        st.none(),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


def same(one: Any, other: Any) -> bool:
    """Equal in value and type, all the way down; 0.0 is not -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and one == other == 0:
        return math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


@given(st.tuples(PLAIN) | st.tuples(PLAIN, PLAIN), st.tuples(PLAIN) | st.tuples(PLAIN, PLAIN))
def test_equal_arguments_have_equal_keys(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    keys = PureKeys()
    head = keys.head(operator.add, {})
    assert keys.key(head, one) == PureKeys().key(head, one)
    assert (keys.key(head, one) == keys.key(head, other)) == same(one, other)


def test_functions_and_keywords_tell_keys_apart() -> None:
    keys = PureKeys()
    heads = {
        keys.head(operator.add, {}),
        keys.head(operator.sub, {}),
        keys.head(operator.add, {"a": 1}),
        keys.head(operator.add, {"a": 2}),
        keys.head(functools.partial(operator.add, 1), {}),
        keys.head(functools.partial(operator.add, 2), {}),
    }
    assert len(heads) == 6


def test_what_a_function_depends_on() -> None:
    assert surroundings(math.sqrt) == ()
    assert surroundings(same) == ()
    factor = 2

    def closure(x: int) -> int:
        return x * factor

    known = surroundings(closure)
    assert known is not None and (int, factor) in known
    settings = {"factor": 2}

    def over_a_mapping(x: int) -> int:
        return x * settings["factor"]

    assert surroundings(over_a_mapping) is None, "the mapping can change unseen"


class Scale:
    """An object whose methods are called as functions."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def times(self, x: int) -> int:
        return x * self.factor

    def __call__(self, x: int) -> int:
        return x * self.factor


@pytest.mark.parametrize("pick", [lambda scale: scale, lambda scale: scale.times])
def test_keys_follow_the_state_of_an_object(pick: Any) -> None:
    keys = PureKeys()
    scale = Scale(2)
    function = pick(scale)
    before = keys.head(function, {})
    assert keys.head(function, {}) == before
    scale.factor = 3
    assert keys.head(function, {}) != before


def test_keys_follow_a_bound_builtin_and_mutable_defaults() -> None:
    keys = PureKeys()
    table = {"a": 1}
    look_up = table.get
    before = keys.head(look_up, {})
    table["a"] = 2
    assert keys.head(look_up, {}) != before
    assert surroundings(len) == () and surroundings(look_up) is None

    def with_default(x: int, seen: list[int] = []) -> int:  # noqa: B006
        return x + len(seen)

    assert surroundings(with_default) is None, "the list can change unseen"


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0.0, -0.0)])
def test_equal_surroundings_of_other_types_differ(one: Any, other: Any) -> None:
    def make(value: Any) -> Any:
        return lambda: value

    assert surroundings(make(one)) != surroundings(make(other))
