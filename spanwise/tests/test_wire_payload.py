"""Payloads: pickles whose buffers stand beside them."""

import struct
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.wire import by_value, payload
from spanwise.wire.errors import BrokenFrame

numpy = pytest.importorskip("numpy")


def joined(obj):
    return bytearray().join(payload.dumps(obj))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(values)
def test_any_value_comes_back(value):
    assert payload.loads(joined(value)) == value


def test_arrays_go_out_of_band_and_come_back_writable_without_a_copy():
    array = numpy.arange(1000)
    strided = numpy.arange(2000)[::2]
    buffers = payload.dumps([array, strided, array.reshape(10, 100).T])
    address = array.__array_interface__["data"][0]
    kept = [numpy.frombuffer(b, numpy.uint8).__array_interface__["data"][0] for b in buffers]
    assert address in kept
    data = bytearray().join(buffers)
    first, second, third = payload.loads(data)
    assert (first == array).all()
    assert (second == strided).all()
    assert (third == array.reshape(10, 100).T).all()
    assert first.flags.writeable
    first[0] = 77
    assert payload.loads(data)[0][0] == 77


def test_functions_without_a_home_go_by_value():
    factor = 3
    assert payload.loads(joined(lambda x: x * factor))(14) == 42


def test_what_main_defines_goes_by_value(monkeypatch):
    import __main__

    def double(x):
        return 2 * x

    double.__module__ = "__main__"
    double.__qualname__ = "double"
    monkeypatch.setattr(__main__, "double", double, raising=False)
    data = joined(double)
    monkeypatch.delattr(__main__, "double")
    assert payload.loads(data)(21) == 42


CELL = """
def outer(factor):
    def inner(values):
        return [factor * each for each in values]

    class Kept:
        def plus(self, other):
            return (lambda: other + factor)()

    return inner, Kept
"""


def places(code):
    """Where the lines of code stand, and of all code in it."""
    yield code.co_filename, code.co_qualname, list(code.co_positions())
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from places(each)


@pytest.mark.parametrize("pickled", [payload.dumps, lambda it: payload.framed(by_value.dumps(it))])
def test_code_by_value_says_where_its_lines_stand(pickled):
    names = {"__name__": "__main__"}
    file = "/tmp/ipykernel_1/2345.py"
    exec(compile(CELL, file, "exec"), names)  # noqa: S102
    inner, kept = names["outer"](3)
    for function in (names["outer"], inner):
        came = payload.loads(bytearray().join(pickled(function)))
        assert came is not function
        assert list(places(came.__code__)) == list(places(function.__code__))
        assert {place[0] for place in places(came.__code__)} == {file}
    # (opened in the process that has it, a class is the one that was pickled)
    sent = b"".join(pickled(kept))
    assert file.encode() in sent and b"dynamic-code" not in sent


def test_its_own_error_is_raised_by_what_cannot_be_pickled():
    with pytest.raises(TypeError, match="pickle"):
        payload.dumps(i for i in range(3))


def test_nbytes_is_what_is_sent():
    buffers = payload.dumps([numpy.zeros(1000), "x"])
    assert payload.nbytes(buffers) == len(b"".join(buffers))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(8),
        struct.pack("<IId", 1, 0, 100.0) + b"short",
        struct.pack("<IId", 1, 0, -1.0),
        struct.pack("<IId", 1, 0, float("nan")),
        struct.pack("<II", 1000, 0),
    ],
)
def test_lengths_that_do_not_fit_are_broken(data):
    with pytest.raises(BrokenFrame):
        payload.loads(data)
