"""A graph that is large to send is warned of, as by `distributed`, with what to do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import pandas as pd
import pytest

from spanwise import Client
from spanwise.client.large_values import heaviest_within, shares_of
from spanwise.tests.processes import LIMIT_SECONDS

SETTING = "distributed.admin.large-graph-warning-threshold"
#: Above the limit that tests set, and what they send then.
LIMIT, LARGE = "1MB", 2_000_000


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1) as client:
        yield client


def length(value: Any, *_: Any, **__: Any) -> int:
    return len(value)


def told(call: Callable[[], Any]) -> list[str]:
    """What users are warned of, with the line at which Python shows it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    for each in found:
        assert each.category is UserWarning and each.filename == __file__
    return [str(each.message) for each in found]


def test_the_limit_is_distributeds(client: Client) -> None:
    assert dask.config.get(SETTING) == "10MB"
    small, large = bytes(9_000_000), bytes(11_000_000)
    assert told(lambda: client.submit(length, small).result(LIMIT_SECONDS)) == []
    (sentence,) = told(lambda: client.submit(length, large).result(LIMIT_SECONDS))
    assert sentence == (
        "A graph holds values of 10.49 MiB. The largest part of it, 10.49 MiB, is bytes of length "
        "11,000,000, in tasks of length. The scheduler keeps them as long as the tasks, and "
        "workers get copies. Bring large values to the workers once, future = "
        "client.scatter(value), and give the future to the tasks as an argument, in place of the "
        "value; or let tasks load their own data. (The limit is "
        "distributed.admin.large-graph-warning-threshold, 10MB.)"
    )


def used_everywhere(value: int) -> int:
    return value + len(SHARED)


SHARED = np.ones(LARGE // 8)


def test_what_most_of_it_is(client: Client) -> None:
    large, array = bytes(LARGE), np.zeros(LARGE // 8)
    square = np.zeros((500, 500))
    frame = pd.DataFrame({"dtype": np.zeros(LARGE // 16), "base": np.zeros(LARGE // 16)})

    def closes_over() -> int:
        return len(large)

    def adds(block: Any) -> Any:
        return block + len(large)

    def length_of() -> int:
        return len(large)

    def has_default(each: int, rows: bytes = large, to: int = 0) -> int:
        return len(rows[each:to])

    def has_keyword(each: int, *, rows: bytes = large, to: int = 0) -> int:
        return len(rows[each:to])

    # (the heavy variable is another function's)
    def adds_length(block: Any) -> Any:
        return block + length_of()

    class Holder:
        def __init__(self) -> None:
            self.held = large

        def method(self) -> int:
            return len(self.held)

    bytes_of = "bytes of length 2,000,000"
    vector = "a numpy.ndarray (250,000 × float64)"
    cases: list[tuple[str, Callable[[], Any]]] = [
        (f"{bytes_of}, in tasks of length", lambda: client.submit(length, large, pure=False)),
        (
            f"{bytes_of}, in tasks of length",
            lambda: client.map(length, [large, b"", b"", b""], pure=False),
        ),
        # The whole of them, not those of one message's part.
        (
            "250 values of the type bytes, in tasks of length",
            lambda: client.map(length, [bytes([i]) * 9_000 for i in range(250)]),
        ),
        (
            f"the function closes_over with its variable large: {bytes_of}",
            lambda: client.submit(closes_over),
        ),
        (
            f"the function has_default with the default of its argument rows: {bytes_of}",
            lambda: client.submit(has_default, 1),
        ),
        (
            f"the function has_keyword with the default of its argument rows: {bytes_of}",
            lambda: client.submit(has_keyword, 1),
        ),
        (
            f"the function length with its keyword argument value: {bytes_of}",
            lambda: client.submit(length, b"", value=large),
        ),
        (
            f"the function length with an argument that partial\\(\\) gives it: {bytes_of}",
            lambda: client.submit(partial(length, large)),
        ),
        (
            f"a function that tasks of \\S+ call, with its variable large: {bytes_of}",
            lambda: client.compute(da.ones(10, chunks=5).map_blocks(adds).sum()),
        ),
        (
            r"a function that tasks of \S+ call, with the values that the function uses",
            lambda: client.compute(da.ones(10, chunks=5).map_blocks(adds_length).sum()),
        ),
        (
            "the function method with the object whose method it is: a Holder",
            lambda: client.submit(Holder().method),
        ),
        # An array in parts is what was given to from_array, and not one task's share.
        (
            f"{re.escape(vector)} in 5 parts, in tasks of array-sum\\S*( array-sum\\S*)?",
            lambda: client.compute(da.from_array(array, chunks=50_000).sum()),
        ),
        (
            f"{re.escape(vector)}, in tasks of array\\S*",
            lambda: client.compute(da.from_array(array, chunks=-1).sum()),
        ),
        (
            r"a numpy\.ndarray \(500 × 500 × float64\) in 4 parts, in tasks of [\w, -]+",
            lambda: client.compute(da.from_array(square, chunks=250).sum()),
        ),
        # It was given another shape before it was cut.
        (
            r"2 parts of one numpy\.ndarray \(float64\), in tasks of length",
            lambda: client.map(length, [*np.zeros(250_000).reshape(2, 250, 500)], pure=False),
        ),
        (
            r"a numpy\.ndarray \(500 × 500 × float64\), in tasks of \S+",
            lambda: client.compute(
                da.from_array(np.zeros(250_000).reshape(500, 500), chunks=-1).sum()
            ),
        ),
        (
            f"{re.escape(vector)}, sent 3 times, in tasks of length",
            lambda: client.map(length, [array] * 3, [1, 2, 3], pure=False),
        ),
        (
            r"a pandas\.DataFrame \(125,000 rows × 2 columns\), in tasks of length",
            lambda: client.submit(length, frame),
        ),
        (f"{bytes_of}, in tasks of length", lambda: client.compute(dask.delayed(length)(large))),
        (
            f"{re.escape(vector)}, in tasks of array\\S*",
            lambda: client.persist(da.from_array(array, chunks=-1) + 1),
        ),
    ]
    with dask.config.set({SETTING: LIMIT}):
        for what, call in cases:
            found = told(call)
            assert len(found) == 1, (what, found)
            verb = "consists of" if what[0].isdigit() else "is"
            assert re.search(
                rf" The largest part of it, [\d.]+ [kM]iB, {verb} {what}\. The scheduler", found[0]
            ), found[0]


def test_a_variable_of_a_program_is_named() -> None:
    """Of a function that goes to workers with it, as those of a notebook do."""
    shared = np.ones(LARGE // 8)
    names = {"__name__": "__main__", "len": len, "SHARED": shared}
    function = FunctionType(used_everywhere.__code__, names)
    where, value, nbytes = heaviest_within(function, {}, LARGE + 100)
    assert (where, nbytes) == ("the variable SHARED", LARGE)
    assert value is shared
    # What workers import has its variables there.
    assert heaviest_within(used_everywhere, {}, LARGE) == ("", None, 0)


#: As the cells of a notebook.
PROGRAM = """
def closing(z):
    def f(x):
        return x.data + x.other.values + z[0]
    return f

def nested():
    return [(lambda: [len(rows) for _ in range(each)])() for each in range(2)]

def with_graph():
    return lazy.sum() + len(z)

def attributes_alone(x):
    return x.data, x.values
"""


class Lazy:
    """Says what it would take, as a Dask array does; its graph is sent."""

    nbytes = 10**12


def test_a_variable_that_a_function_does_not_use_is_not_named() -> None:
    """One that is called as an attribute is, which the function does use."""
    program: dict[str, Any] = {
        "__name__": "__main__",
        "data": np.ones(LARGE // 8 + 1000),
        "values": np.ones(LARGE // 8 + 10),
        "rows": list(range(LARGE // 100)),
        "lazy": Lazy(),
        "z": bytes(LARGE - 10),
    }
    exec(PROGRAM, program)  # noqa: S102
    z = np.ones(LARGE // 8)
    # A list takes more than is sent of it, and is what is sent nevertheless.
    for function, where, value, nbytes in (
        (program["closing"](z), "its variable z", z, LARGE),
        (program["nested"], "the variable rows", program["rows"], LARGE // 20),
        (program["with_graph"], "the variable z", program["z"], LARGE - 10),
        (program["attributes_alone"], "", None, 0),
    ):
        sent = nbytes if where == "the variable rows" else LARGE + 200
        found = heaviest_within(function, {}, sent)
        assert (found[0], found[2]) == (where, nbytes), function
        assert found[1] is value


def test_of_arrays_in_parts_the_whole_is_counted(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}):
        array = np.zeros(1_000_000)
        (sentence,) = told(lambda: client.compute(da.from_array(array, chunks=50_000) + 1))
    assert "A graph holds values of 7.63 MiB. The largest part of it, 7.63 MiB, is a " in sentence
    assert "a numpy.ndarray (1,000,000 × float64) in 20 parts, in tasks of " in sentence


def test_what_says_nothing_of_itself_is_warned_of(client: Client) -> None:
    class Odd:
        def __init__(self) -> None:
            self.held = bytes(LARGE)

        @property
        def nbytes(self) -> int:
            raise RuntimeError("not to be asked")

        shape = nbytes

    with dask.config.set({SETTING: LIMIT}):
        (sentence,) = told(lambda: client.submit(length, Odd(), key="odd-1"))
    assert re.search(r"largest part of it, 1\.91 MiB, is an Odd, in tasks of odd\.", sentence)


def test_a_graph_in_several_messages_is_warned_of_once(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}):
        rows = [bytes([i % 256]) * 2000 for i in range(10_000)]
        (sentence,) = told(lambda: client.gather(client.map(length, rows, pure=False)))
    assert re.search(
        r"values of (19\.\d+ MiB)\. .*, \1, consists of 10,000 values of the type bytes, in "
        r"tasks of length",
        sentence,
    )


def test_bytes_are_whose_they_are() -> None:
    class Opaque:
        """Says nothing of what it has."""

    array = np.zeros(1000)
    assert shares_of([array, b"x" * 500, 7, None], 9000) == pytest.approx(
        [8000 * 9000 / 8500, 500 * 9000 / 8500, 0, 0]
    )
    assert shares_of([array, Opaque(), 7], 100_000) == [8000, 92_000, 0]
    assert shares_of([array, Opaque()], 8000) == [8000, 0]
    assert shares_of([1, 2], 100) == [0, 0]


def test_many_tasks_with_small_arguments_are_no_large_graph(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}):
        rows = [bytes([i % 256]) * 200 for i in range(20_000)]
        assert told(lambda: client.gather(client.map(length, rows, pure=False))) == []


def test_what_is_scattered_is_not_sent_again(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}):

        def scattered() -> None:
            future = client.scatter(bytes(LARGE))
            assert client.submit(length, future).result(LIMIT_SECONDS) == LARGE

        assert told(scattered) == []


def test_where_warnings_are_errors_nothing_is_left(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="A graph holds values"):
            client.submit(length, bytes(LARGE), key="left-1")
        with pytest.raises(UserWarning, match="A graph holds values"):
            client.compute(dask.delayed(length)(bytes(LARGE), dask_key_name="left-2"))
    client._session.let_go()
    assert not [key for key in client.futures if str(key).startswith("left")]


def test_a_limit_of_ours_goes_first_and_one_that_cannot_be_is_named(client: Client) -> None:
    ours = "spanwise.admin.large-graph-warning-threshold"
    with dask.config.set({SETTING: LIMIT, ours: "1GB"}):
        assert told(lambda: client.submit(length, bytes(LARGE + 1))) == []
    with (
        dask.config.set({ours: "much"}),
        pytest.raises(ValueError, match=f"{ours} is a number of bytes, such as .10MB.: not 'much'"),
    ):
        client.submit(length, bytes(LARGE + 2))


def test_distributed_warns_where_we_do() -> None:
    """Of the same graph, with the same limit: in its own words."""
    calls: list[Callable[[Any], Any]] = [
        lambda client: client.submit(len, bytes(LARGE), pure=False),
        lambda client: client.map(len, [bytes(LARGE)], pure=False),
        lambda client: client.compute(dask.delayed(len)(bytes(LARGE))),
        lambda client: client.submit(len, bytes(1000)),
    ]
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as theirs,
        Client(n_workers=1, threads_per_worker=1) as ours,
        dask.config.set({SETTING: LIMIT}),
    ):
        for call in calls:
            kinds = []
            for client in (theirs, ours):
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    call(client)
                kinds.append({each.category for each in found})
            assert kinds[0] == kinds[1]
