"""What users give that cannot be: the error is at once, and names the argument and its remedy."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import dask
import numpy as np
import pytest

import spanwise
from spanwise import Client, LocalCluster
from spanwise.client import on_dask
from spanwise.client.arguments import flag_of, seconds_of, whole_of
from spanwise.client.memory_sampler import ClusterMemoryRun
from spanwise.client.session import ANSWER_TO
from spanwise.errors import ClusterError, SchedulerLost
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
    **{
        f"retries of {name}": (call, ValueError, r"retries is a whole number of times, not 1\.5$")
        for name, call in (
            ("submit", lambda c: c.submit(double, 1, retries=1.5)),
            ("map", lambda c: c.map(double, [1], retries=1.5)),
            ("compute", lambda c: c.compute(dask.delayed(double)(1), retries=1.5)),
            ("persist", lambda c: c.persist(dask.delayed(double)(1), retries=1.5)),
        )
    },
    "key": (lambda c: c.submit(double, key=[1]), TypeError, r"key is a text.*not \[1\]: it is the"),
    "keys": (lambda c: c.map(double, [1], key=[[1]]), TypeError, "key is a text"),
    "plot": (
        lambda c: c.get_task_stream(plot="foo"),
        ValueError,
        "plot is True, False, or 'save' to write the page too, not 'foo'",
    ),
    "plot of a block": (
        lambda c: spanwise.get_task_stream(c, plot="foo"),
        ValueError,
        "plot is True, False, or 'save'",
    ),
    "plot of a profile": (lambda c: c.profile(plot=[1]), TypeError, r"plot is True.*not \[1\]"),
    "a block's client": (
        lambda c: spanwise.get_task_stream("x"),
        TypeError,
        "client is a client of Spanwise or of distributed, or what.*not 'x'",
    ),
    **{
        f"{name}({value!r})": (
            lambda c, name=name, value=value: getattr(c, name)(value),  # type: ignore[misc]
            TypeError,
            rf"{name}\(\) takes futures, persisted collections, and containers of them, not ",
        )
        for name, values in {
            "replicate": [None, 3, "x", [3], ({"a": "x"},)],
            "rebalance": ["x", [3]],
            "who_has": [3, [3]],
            "call_stack": ["x", [3]],
            # Of a list they take what is there, as `distributed` does.
            "cancel": [3, "x"],
            "retry": [3, "x"],
        }.items()
        for value in values
    },
    "fire_and_forget": (
        lambda _: spanwise.fire_and_forget(double(1)),
        TypeError,
        r"fire_and_forget\(\) takes futures, persisted collections.*not 2$",
    ),
    "branching_factor": (
        lambda c: c.replicate([], branching_factor="x"),
        TypeError,
        "branching_factor is a number of copies from 1, not 'x'",
    ),
    **{
        f"workers of {name}": (
            call,
            TypeError,
            "workers is a number, name, host or address of a worker, or a list of those, not 3",
        )
        for name, call in {
            "run": lambda c: c.run(double, workers=3.5),
            "scatter": lambda c: c.scatter(1, workers=3.5),
            "nthreads": lambda c: c.nthreads(3.5),
            "has_what": lambda c: c.has_what(3.5),
            "processing": lambda c: c.processing(3.5),
            "replicate": lambda c: c.replicate([], workers=3.5),
            "rebalance": lambda c: c.rebalance(workers=3.5),
            "retire_workers": lambda c: c.retire_workers(3.5),
            "restart_workers": lambda c: c.restart_workers(3.5),
            "get_worker_logs": lambda c: c.get_worker_logs(workers=3.5),
            "profile": lambda c: c.profile(workers=3.5),
            "fine_metrics": lambda c: c.fine_metrics(worker=3.5),
        }.items()
    },
    "run(3)": (lambda c: c.run(3), TypeError, r"run\(\) takes a function, not 3"),
    "on_error": (
        lambda c: c.run(double, on_error="x"),
        ValueError,
        "on_error is 'raise', 'return' or 'ignore', not 'x'",
    ),
    "handler": (
        lambda c: c.subscribe_topic("t", None),
        TypeError,
        r"subscribe_topic\(\) takes a function, not None",
    ),
    "callback": (
        lambda c: c.submit(double).add_done_callback(3),
        TypeError,
        r"add_done_callback\(\) takes a function, not 3",
    ),
    "a future of a key": (
        lambda c: spanwise.Future("x", c),  # type: ignore[arg-type]
        TypeError,
        r"A future is not made of a key: submit\(\).*given 'x'",
    ),
    "scheduler_info": (
        lambda c: c.scheduler_info(n_workers="x"),
        TypeError,
        "n_workers is a number of workers from -1, not 'x': -1 is all of them",
    ),
    "spans": (lambda c: c.spans("x"), TypeError, r"Client\.spans\(\) takes 1 positional"),
    "lines": (lambda c: c.get_scheduler_logs(-1), ValueError, "n is a number of lines from 0"),
    "lines of workers": (lambda c: c.get_worker_logs("x"), TypeError, "n is a number of lines"),
    "nbytes": (lambda c: c.nbytes(3), TypeError, "keys is a list of keys of tasks, or of futures"),
    "call_stack": (
        lambda c: c.call_stack(keys=[[1]]),
        TypeError,
        r"keys is a list.*\[1\] is no key",
    ),
    "packages": (lambda c: c.get_versions(packages=3), TypeError, "packages is a list of names"),
    "scheduler_file": (
        lambda c: c.write_scheduler_file("/nowhere/at/all"),
        OSError,
        ".*no such folder",
    ),
    "metadata": (lambda c: c.set_metadata([], 1), IndexError, "key is a key, or a list of some"),
    "a dump": (lambda c: c.dump_cluster_state(3), TypeError, "filename is a path"),
    "as_completed(3)": (
        lambda c: spanwise.as_completed(3),
        TypeError,
        r"as_completed\(\) takes fut",
    ),
    "function": (
        lambda c: c.fine_metrics(function=double),
        TypeError,
        "function is the name of a function, or a list of those, not <function",
    ),
    "unit": (lambda c: c.fine_metrics(unit=3), TypeError, "unit is a text.*not 3"),
    "span": (lambda c: c.fine_metrics(span=3), TypeError, "span is a tag, a tuple of tags.*not 3"),
    "span(None)": (
        lambda _: spanwise.span(None).__enter__(),  # type: ignore[arg-type]
        TypeError,
        r"span\(\) takes tags, such as span\('load', 'csv'\), not None",
    ),
    "a queue's client": (lambda _: spanwise.Queue("b", 3), TypeError, "client is a spanwise.Cl"),
    "max_leases": (lambda _: spanwise.Semaphore("2"), TypeError, "max_leases is a number of leas"),
    "names of locks": (
        lambda _: spanwise.MultiLock(3),
        TypeError,
        r"MultiLock\(\) takes a list of",
    ),
    "num_locks": (
        lambda _: spanwise.MultiLock(["a"]).acquire(num_locks="x"),
        TypeError,
        "num_locks is how many are enough",
    ),
    "stacklevel": (
        lambda _: spanwise.performance_report("x.html", stacklevel="x"),  # type: ignore[arg-type]
        TypeError,
        "stacklevel is a whole number: 1 for the function.*not 'x'",
    ),
    "storage_options": (
        lambda _: spanwise.performance_report("x.html", storage_options=3),  # type: ignore
        TypeError,
        "storage_options are what fsspec takes",
    ),
    "a report's protocol": (
        lambda _: spanwise.performance_report("foo://x.html").__enter__(),
        ValueError,
        "Protocol not known: foo",
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


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2 min", 120.0),
        ("1 min 30 s", 90.0),
        ("2 min 00.092 s", 120.092),
        ("1 h 02 min", 3720.0),
        ("25 µs", 25e-6),
        ("30 minutes", 1800.0),
        # (copied from a panel, where no line breaks within it)
        ("2\N{NO-BREAK SPACE}min\N{NO-BREAK SPACE}00\N{NO-BREAK SPACE}s", 120.0),
    ],
)
def test_a_time_is_read_as_panels_write_it(text: str, seconds: float) -> None:
    assert moment(text, 10_000.0) == pytest.approx(10_000.0 - seconds, abs=1e-9)


def test_times_of_questions_are_numbers_or_how_long_ago() -> None:
    times: list[Any] = [None, 3, np.float32(0.5), "2 s"]
    assert [moment(each, 10.0) for each in times] == [None, 3, 0.5, 8]
    no_times: list[tuple[Any, type[Exception]]] = [
        *(
            (wrong, ValueError)
            for wrong in ("yesterdayish", "5 parsecs", "2 min x", "min", "1.2.3 s")
        ),
        ([1], TypeError),
    ]
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
        with pytest.warns(RuntimeWarning, match=r"has not taken a message.*topics"):
            session._link.send("logEvent", {"topics": 2026}, None, [b"\0"])
            client.submit(double, 1).result(60)
        # Who waits for the samples is told why there are none.
        session._check_fields = lambda kind, fields: None  # type: ignore[method-assign]
        run = ClusterMemoryRun(session, 2026, "process", 0.5)  # type: ignore[arg-type]
        with pytest.raises(ClusterError, match=r'has not taken a message.*"memoryRun": label'):
            run.stop()
        del session._check_fields
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


def test_who_is_turned_away_is_told_so_while_others_compute_on() -> None:
    with (
        Client(n_workers=1, threads_per_worker=1) as owner,
        Client(owner.address, set_as_default=False) as guest,
    ):
        kept = guest.submit(double, 4)
        assert kept.result(60) == 8
        with pytest.raises(SchedulerLost) as lost:
            owner._session._link.send("forget", {"templates": "x"})
            owner.submit(double, owner.submit(double, 5)).result(60)
        said = str(lost.value)
        assert "has turned this client away" in said and "templates: Invalid type" in said
        assert "The cluster goes on while other clients use it" in said
        assert "ended" not in said
        assert kept.result(60) == 8
        assert guest.submit(double, 21).result(60) == 42


def test_what_a_cluster_lacks_is_told_with_what_it_has() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        future = client.submit(double, 4)
        assert future.result(60) == 8
        with pytest.raises(ValueError, match=r"^There is no span 'nope'; there are"):
            client.profile(span="nope")
        with pytest.raises(ValueError, match=r"^There is no worker 'nope'; there are worker-0\.$"):
            client.fine_metrics(worker="nope")
        with pytest.raises(ValueError, match=r"^No worker of these takes results now"):
            client.replicate(future, workers=[])
        for batch, error in (("x", TypeError), (-1, ValueError)):
            with pytest.raises(error, match=r"^batch is .*whole number of items"):
                spanwise.Queue("batches", client).get(batch=batch)  # type: ignore[arg-type]
        notes = client.fine_metrics(unit="secs").notes
        assert notes == ("There are no figures in 'secs'; there are bytes, count, seconds.",)
        client.replicate(future, n=np.int64(1))  # type: ignore[arg-type]
        # What is called otherwise is one of the same.
        (address,) = client.nthreads()
        assert client.fine_metrics(worker=address) == client.fine_metrics(worker=0)
        assert client.nbytes(future, summary=False) == client.nbytes(future.key, summary=False)
        assert client.get_versions(packages="numpy")["client"]["packages"]["numpy"]
        lazy = dask.delayed(double)(1)
        with pytest.warns(
            RuntimeWarning, match=r"^replicate\(\) has nothing to do: this Delayed is"
        ):
            client.replicate(lazy)
        # Views and iterators hold futures, where a list of them is taken.
        client.replicate({"a": future}.values())
        client.cancel(each for each in [future])
        assert future.cancelled()


def test_a_future_of_another_cluster_is_shared_in_neither() -> None:
    with (
        Client(n_workers=1, threads_per_worker=1, name="here") as here,
        Client(n_workers=1, threads_per_worker=1, name="there", set_as_default=False) as there,
    ):
        future = there.submit(double, 4)
        for share in (
            lambda: here.publish_dataset(double=future),
            lambda: spanwise.Queue("shared", here).put(future),
            lambda: spanwise.Variable("shared", here).set([future]),
        ):
            with pytest.raises(ClusterError, match=r"is of the cluster 'there', and.*in 'here'"):
                share()
        assert here.list_datasets() == there.list_datasets() == ()


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
    # (what is sent is to be Python's own)
    assert type(spanwise.Semaphore(np.int32(3)).max_leases) is int  # type: ignore[arg-type]
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


def test_a_notice_of_a_thread_of_ours_points_at_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            thread = threading.Thread(target=tell, args=("It happened again.",))
            thread.start()
            thread.join()
    told = [each for each in caught if str(each.message) == "It happened again."]
    (tmp_path / "spanwise").write_text("#!/usr/bin/env python\n")
    monkeypatch.syspath_prepend(tmp_path)
    shown = {
        warnings.formatwarning(each.message, each.category, each.filename, each.lineno)
        for each in told
    }
    assert shown == {"<spanwise>:1: RuntimeWarning: It happened again.\n"} and len(told) == 2


def test_errors_of_arguments_name_classes_that_users_know() -> None:
    found = {
        value.__qualname__
        for kind in (spanwise.Client, on_dask._class())
        for base in kind.__mro__
        if base.__module__.startswith("spanwise.")
        for value in vars(base).values()
        if isinstance(value, FunctionType)
    }
    assert "Client.spans" in found and "Client.who_has" in found
    assert {each.partition(".")[0] for each in found} == {"Client"}
