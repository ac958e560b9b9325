"""What users give that cannot be: the error is at once, and names the argument and its remedy."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest

import spanwise
from spanwise import Client, LocalCluster
from spanwise.client.arguments import flag_of, seconds_of, whole_of
from spanwise.client.session import ANSWER_TO
from spanwise.errors import ClusterError
from spanwise.notices import tell
from spanwise.observed.questions import FineMetrics, Questions, moment
from spanwise.tests.client_scheduler import LocalClient
from spanwise.tests.warned import of_the_block

_NAN = float("nan")
#: Values that no cluster can be made with, by argument; text of a number is none.
OF_CLUSTERS: dict[str, list[Any]] = {
    "n_workers": ["2", -1, 1.5, True, [2]],
    "threads_per_worker": [0, -1, "2", 1.5, True, 100_000],
    "memory_limit": ["nonsense", -1, [1]],
    "name": [3],
    "asynchronous": ["no"],
    "timeout": ["soon", "", -1, True, [1], _NAN],
    "resources": [3, "GPU", {"GPU": "x"}, {1: 2}, {"GPU": -1}],
    "idle_timeout": ["soon", -1, [1]],
}
OF_CLIENTS = {**OF_CLUSTERS, "set_as_default": ["no"]}


@pytest.mark.parametrize(
    ("make", "name"),
    [*((Client, each) for each in OF_CLIENTS), *((LocalCluster, each) for each in OF_CLUSTERS)],
)
def test_nothing_is_started_with_what_cannot_be(make: Any, name: str) -> None:
    for value in OF_CLIENTS[name]:
        with pytest.raises((TypeError, ValueError), match=rf"^{name} (is|are)\b.*[^.]$"):
            make(**{name: value})


def test_places_are_named_with_their_value() -> None:
    for given in ({"address": 3}, {"scheduler_file": 3}):
        with pytest.raises(TypeError, match=r"the address of a running cluster.*not 3$"):
            Client(**given)  # type: ignore[arg-type]


def double(x: Any = 0, **_: Any) -> Any:
    return 2 * x


#: Calls of a client that cannot be, and how their error begins.
CALLS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "submit(3)": (
        lambda c: c.submit(3),
        TypeError,
        r"submit\(\) takes a function first.* 3",
    ),
    "submit(delayed)": (
        lambda c: c.submit([abs], 1),
        TypeError,
        r"submit\(\) takes a function first",
    ),
    "map(3)": (lambda c: c.map(3, [1]), TypeError, r"map\(\) takes a function first, and not 3"),
    "map(f, 3)": (lambda c: c.map(double, 3), TypeError, r"map\(\) takes iterables after"),
    **{
        f"{name}={value!r}": (
            lambda c, name=name, value=value: c.submit(double, 1, **{name: value}),  # type: ignore[misc]
            error,
            begins,
        )
        for name, value, error, begins in (
            ("workers", 3.5, TypeError, "workers is a number, name, host or address"),
            ("workers", [None], TypeError, "workers is a number, name"),
            ("workers", {"a": 1}, TypeError, "workers is a number, name"),
            ("retries", -1, ValueError, "retries is a number of times from 0, not -1"),
            ("retries", "2", TypeError, "retries is a number of times"),
            ("retries", True, TypeError, "retries is a number of times"),
            ("priority", "high", TypeError, "priority is a number.*not 'high'"),
            ("priority", _NAN, ValueError, "priority is a number"),
            ("resources", "GPU", TypeError, "resources are amounts"),
            (
                "allow_other_workers",
                True,
                ValueError,
                "allow_other_workers=True goes with workers=",
            ),
        )
    },
    "others": (
        lambda c: c.submit(double, workers="worker-0", allow_other_workers="yes"),
        TypeError,
        "allow_other_workers is True or False, not 'yes'",
    ),
    "of a map": (lambda c: c.map(double, [1], retries=-1), ValueError, "retries"),
    "of compute": (
        lambda c: c.compute(dask.delayed(double)(1), priority="high"),
        TypeError,
        "priority",
    ),
    "of persist": (
        lambda c: c.persist(dask.delayed(double)(1), workers=3.5),
        TypeError,
        "workers",
    ),
    "profile(3)": (lambda c: c.profile(key=3), TypeError, "key is a prefix of tasks' keys.*not 3"),
    "acquire": (
        lambda c: spanwise.Lock("given").acquire(timeout="x"),
        KeyError,
        ".timeout is a number of seconds.*'x'",
    ),
    "maxsize": (
        lambda c: spanwise.Queue("given", client=c, maxsize="x"),
        TypeError,
        "maxsize is a whole number",
    ),
    "wait_for_workers": (lambda c: c.wait_for_workers("2"), TypeError, "n_workers is a number"),
    "scale": (lambda c: c.scale("2"), TypeError, "n is a number of workers"),
    "adapt": (lambda c: c.adapt(minimum=0.5), TypeError, "minimum is a number of workers"),
    "result": (lambda c: c.submit(double).result("soon"), ValueError, "timeout is a number"),
    "wait": (
        lambda c: spanwise.wait([c.submit(double)], timeout="soon"),
        ValueError,
        "timeout is a number",
    ),
    "as_completed": (
        lambda c: spanwise.as_completed([c.submit(double)], timeout=[1]),
        TypeError,
        "timeout is a number",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_cannot_be_is_refused_at_once(client: LocalClient, call: str) -> None:
    make, error, begins = CALLS[call]
    with pytest.raises(error, match=f"^{begins}"):
        make(client)
    # Nothing of it stays, and the next call is answered.
    assert client.submit(double, 4, retries=np.int64(2), priority=0.5, workers=[]).result(60) == 8


def test_times_of_questions_are_numbers_or_how_long_ago() -> None:
    times: list[Any] = [None, 3, np.float32(0.5), "2 s"]
    assert [moment(each, 10.0) for each in times] == [None, 3, 0.5, 8]
    no_times: list[tuple[Any, type[Exception]]] = [("yesterdayish", ValueError), ([1], TypeError)]
    for wrong, error in no_times:
        with pytest.raises(error, match=r"^start and stop are seconds since the epoch, or"):
            moment(wrong, 10.0)
    asked = Questions.__new__(Questions)
    with pytest.raises(TypeError, match=r"^count is a whole number of records, not 'x'"):
        asked.task_stream(count="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^start and stop are"):
        asked.bandwidth([1])  # type: ignore[arg-type]


def test_a_unit_that_nothing_is_measured_in_is_told_with_those_there_are() -> None:
    metrics = FineMetrics({("execute", "f", "cpu", "hits"): 1.0}, {})
    assert metrics.by_activity("hits") == {"cpu": 1.0}
    assert metrics.by_activity("bytes") == {}
    for ask in (metrics.by_activity, metrics.by_function):
        with pytest.raises(ValueError, match="in 'secs'; there are bytes, count, hits, seconds"):
            ask("secs")
    # That which was asked for is one, be there nothing of it in this range of time.
    assert FineMetrics({}, {}, "hits").by_activity("hits") == {}


def test_a_scheduler_lives_on_whatever_a_client_asks_of_it() -> None:
    # As a client of another make would: this one looks over what it sends.
    with Client(n_workers=1, threads_per_worker=1) as client:
        kept = client.submit(double, 4)
        assert kept.result(60) == 8
        session = client._session
        with pytest.warns(RuntimeWarning, match="has not taken a message.*label"):
            run = {"run": 1, "label": 2026, "state": "start"}
            session._link.send("memoryRun", run)
            client.submit(double, 1).result(60)
        for kind, fields in (
            ("askEvents", {"topic": 3}),
            ("question", {"about": "nonsense"}),
            ("command", {"what": "scale", "count": -1}),
        ):
            request, answers = session.open_request(ANSWER_TO[kind])
            session._link.send(kind, {"request": request, **fields})
            with pytest.raises(ClusterError, match=f'has not taken a message.*"{kind}"'):
                session.next_answer(answers, kind, 30.0)
        assert kept.result(60) == client.submit(double, 4).result(60) == 8


def test_who_is_turned_away_removes_nothing_of_a_scheduler_that_lives() -> None:
    # Others may compute on there, with results that workers have spilled.
    with Client(n_workers=1, threads_per_worker=1) as client:
        session = client._session
        lost: list[list[int]] = []
        session._on_lost = lost.append
        session._link.send("forget", {"templates": "x"})
        session._reader.join(30.0)
        assert not session._reader.is_alive()
        assert "templates" in str(session.dead)
        assert lost == []


class Named:
    def __init__(self, *path: str) -> None:
        self.name = path


def test_a_span_that_is_not_there_is_told_with_those_that_are_near() -> None:
    asked = Questions.__new__(Questions)
    asked.spans = lambda: [Named("n.ipynb", "good"), Named("other")]  # type: ignore
    assert asked._no_such_span("goood") == "There is no span 'goood'; there are 'good'."
    assert asked._no_such_span(("good", "zzz")).startswith("There is no span 'zzz'; there are 'g")
    assert asked._no_such_span("good") == asked._no_such_span({"any": "zzz"}) == ""


def test_what_counts_as_numbers_times_and_flags() -> None:
    assert whole_of(np.int32(3), "n", 0, 9, "number", "so") == 3
    assert [seconds_of(each) for each in ("500 ms", 2, np.float32(0.5), -3, None)] == [
        0.5,
        2,
        0.5,
        0,
        None,
    ]
    assert seconds_of(float("inf")) is None
    assert [flag_of(each, "x") for each in (None, 0, 1, np.True_)] == [False, False, True, True]


#: Calls that warn, each on one line of this file.
WARNS: dict[str, Callable[[Any], Any]] = {
    "keywords": lambda _: LocalCluster(n_workers=0, host="example.org").close(),
    "workers": lambda client: client.submit(double, workers="nobody"),
    "through Dask": lambda _: _computed(),
    "a thread": lambda client: asyncio.run(_in_a_thread(client)),
}


def _computed() -> Any:
    with dask.annotate(workers="nobody", allow_other_workers=True):
        lazy = dask.delayed(double)(1)
    return lazy.compute()


async def _in_a_thread(client: Any) -> Any:
    return await asyncio.to_thread(lambda: client.submit(double, workers="nobody"))


@pytest.mark.parametrize("what", WARNS)
def test_a_warning_points_at_the_line_that_led_to_it(client: LocalClient, what: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WARNS[what](client)
    assert {each.filename for each in of_the_block(caught)} == {__file__}


def test_a_notice_of_a_thread_of_ours_points_at_no_line_of_ours() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            thread = threading.Thread(target=tell, args=("It happened again.",))
            thread.start()
            thread.join()
    told = [each for each in caught if str(each.message) == "It happened again."]
    assert [(each.filename, each.lineno) for each in told] == [("spanwise", 1)] * 2
