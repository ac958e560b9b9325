"""The client against a scheduler in this process."""

from __future__ import annotations

import operator
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest
from dask import delayed

from spanwise import as_completed, span, wait
from spanwise.client.current import default_client
from spanwise.client.html import cluster_facts_html
from spanwise.client.memory_sampler import MemorySampler
from spanwise.errors import CancelledError, ClusterError, SchedulerLost
from spanwise.records.enumerations import ORIGIN_USER, SPAN_WORDS
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient


def until(condition: Any, seconds: float = 60) -> None:
    give_up = time.monotonic() + seconds
    pause = 0.002
    while not condition():
        assert time.monotonic() < give_up, "condition not met in time"
        time.sleep(pause)
        pause = min(1.5 * pause, 0.05)


def increment(x: int) -> int:
    return x + 1


def fail(x: int) -> int:
    raise ZeroDivisionError(f"bad {x}")


def test_submit_and_result(client: LocalClient) -> None:
    future = client.submit(increment, 5)
    assert future.result(timeout=60) == 6
    assert future.status == "finished"
    assert future.done() and not future.cancelled()
    assert future.key.startswith("increment-")


def test_pure_calls_share_a_key(client: LocalClient) -> None:
    one, two = client.submit(increment, 5), client.submit(increment, 5)
    assert one.key == two.key and one is not two
    assert client.map(increment, [5, 6])[0].key == one.key
    assert client.submit(increment, 5.0).key != one.key
    assert client.submit(increment, True).key != client.submit(increment, 1).key
    assert client.submit(increment, 5, pure=False).key != one.key
    client.gather([one, two])
    assert len([ran for ran in client.fake.ran if ran[0] == one.key]) == 1


def test_futures_as_arguments(client: LocalClient) -> None:
    x = client.submit(increment, 1)
    assert client.submit(operator.add, x, x).result(60) == 4
    assert client.submit(sum, [x, 10, x]).result(60) == 14
    assert client.submit(lambda d, *, e: d["a"] + e, {"a": x}, e=x).result(60) == 4
    assert delayed(sum)([x, 1]).compute() == 3
    assert delayed(increment)(x).compute() == 3


def test_a_future_of_another_client_is_refused(client: LocalClient) -> None:
    other_scheduler = ClientScheduler()
    with LocalClient(other_scheduler) as other:
        foreign = client.map(increment, [10, 20])
        own = other.map(increment, [1, 2])
        # Which of the two depends on the clients that this process has had.
        with pytest.raises(ClusterError, match=r"belongs to another client|is of the cluster"):
            other.submit(increment, foreign[1])
        assert other.gather(own) == [2, 3]
        assert client.gather(foreign) == [11, 21]
    other_scheduler.close()


def test_a_call_is_counted_where_it_is_written_whatever_its_key(client: LocalClient) -> None:
    with span("A"):
        delayed(increment)(1, dask_key_name="named").compute()
    with span("B"):
        inner = client.submit(increment, 1)
        assert client.submit(sum, [inner, 5], key="named").result(60) == 7
    tags = [(client.fake.tags(span_id), origin) for key, _, span_id, origin in client.fake.ran]
    assert tags == [(("A",), 1), (("B",), 1), (("B",), 1)]


def test_map_gather_layouts(client: LocalClient) -> None:
    futures = client.map(operator.mul, range(300), range(300))
    assert client.gather(futures) == [i * i for i in range(300)]
    assert client.gather({"a": futures[2], "b": [futures[3], 7]}) == {"a": 4, "b": [9, 7]}
    assert client.gather((futures[1],)) == (1,)
    assert client.map(increment, []) == []
    named = client.map(increment, [1, 2], key="k")
    assert all(future.key.startswith("k-") for future in named)
    others = client.map(increment, [3, 4], key="k")
    assert client.gather(others) == [4, 5], "the same name must not bring the first results"
    assert client.map(increment, [2], key="k")[0].key == named[1].key
    assert client.map(increment, [2], key="k", pure=False)[0].key != named[1].key


def test_keyword_arguments_of_map(client: LocalClient) -> None:
    futures = client.map(lambda x, y=0: x + y, [1, 2], y=10)
    assert client.gather(futures) == [11, 12]


def test_error_is_the_original_with_the_task_s_frames(client: LocalClient) -> None:
    future = client.submit(fail, 3)
    with pytest.raises(ZeroDivisionError, match="bad 3") as caught:
        future.result(timeout=60)
    assert caught.value.__cause__ is None
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert (frames[0].filename, frames[-1].name) == (__file__, "fail")
    assert not [frame for frame in frames if "/spanwise/client/" in frame.filename]
    assert future.status == "error"
    assert isinstance(future.exception(), ZeroDivisionError)
    assert traceback.extract_tb(future.traceback())[-1].name == "fail"
    dependent = client.submit(increment, future)
    with pytest.raises(ZeroDivisionError, match="bad 3"):
        dependent.result(timeout=60)
    with pytest.raises(ZeroDivisionError):
        delayed(fail)(1).compute()


def test_gather_skips_failed(client: LocalClient) -> None:
    futures = [client.submit(increment, 1), client.submit(fail, 1), client.submit(increment, 2)]
    assert client.gather(futures, errors="skip") == [2, 3]
    with pytest.raises(ZeroDivisionError):
        client.gather(futures)


def test_large_results_come_from_the_peer_door(client: LocalClient) -> None:
    array = client.submit(np.arange, 100_000).result(timeout=60)
    np.testing.assert_array_equal(array, np.arange(100_000))


def test_result_is_released_when_no_future_is_left(client: LocalClient) -> None:
    future = client.submit(increment, 100)
    future.result(timeout=60)
    entry = future._entry
    other = client.submit(increment, 100)
    del future
    assert other.result(timeout=60) == 101
    del other
    until(lambda: entry.id in client.fake.released)
    assert not client._session.by_key


def test_get_releases_what_it_computed(client: LocalClient) -> None:
    assert client.get({"x": (increment, 1), "y": (increment, "x")}, "y") == 3
    assert client.get({"x": 1, "y": (operator.add, "x", 10)}, [["x"], ["y", "x"]]) == [
        [1],
        [11, 1],
    ]
    until(lambda: not client._session.by_key)


def test_cancel(client: LocalClient) -> None:
    client.fake.hold.clear()
    future = client.submit(increment, 55)
    future.cancel()
    until(future.cancelled)
    client.fake.hold.set()
    with pytest.raises(CancelledError):
        future.result(timeout=60)


def test_timeout(client: LocalClient) -> None:
    client.fake.hold.clear()
    future = client.submit(increment, 56)
    with pytest.raises(TimeoutError):
        future.result(timeout=0.05)
    with pytest.raises(TimeoutError):
        wait([future], timeout=0.05)
    client.fake.hold.set()
    assert future.result(timeout=60) == 57


def test_wait_and_as_completed(client: LocalClient) -> None:
    futures = client.map(increment, range(20))
    done, pending = wait(futures, timeout=60)
    assert done == set(futures) and not pending
    for some in (futures, dict(enumerate(futures)).values(), (each for each in futures)):
        assert sorted(f.result() for f in as_completed(some)) == list(range(1, 21))
    pairs = list(as_completed(futures[:2], with_results=True, timeout=60))
    assert sorted(value for _, value in pairs) == [1, 2]
    done, _ = wait(futures, return_when="FIRST_COMPLETED", timeout=60)
    assert done


def test_done_callback(client: LocalClient) -> None:
    seen: list[Any] = []
    client.submit(increment, 5).add_done_callback(lambda future: seen.append(future.result()))
    until(lambda: seen == [6])


def test_persist_and_compute_again(client: LocalClient) -> None:
    import dask.array as da

    x = da.ones((20, 20), chunks=10) + 1
    kept = x.persist()
    wait(kept, timeout=60)
    made = {key for key, *_ in client.fake.ran}
    assert len(made) == 4
    assert kept.sum().compute() == 800
    assert not [key for key, *_ in client.fake.ran[4:] if key in made]
    (again,) = dask.persist(kept)
    np.testing.assert_array_equal(again.compute(), kept.compute())
    value, other = client.compute([x.sum(), x.mean()], sync=True)
    assert (value, other) == (800, 2)


def test_interleaved_types_keep_their_order(client: LocalClient) -> None:
    import dask.array as da
    import dask.bag as db

    a, b, c = da.ones(4, chunks=2), db.range(3, npartitions=2), da.zeros(4, chunks=2)
    results = client.compute([a, b, c], sync=True)
    assert results[0].sum() == 4 and list(results[1]) == [0, 1, 2] and results[2].sum() == 0
    kept = client.persist([a, b, c])
    assert kept[0].sum().compute() == 4 and kept[1].sum().compute() == 3


def test_released_results_are_named(client: LocalClient) -> None:
    with pytest.raises(ClusterError, match="does not hold"):
        client.get({"y": delayed(increment)(1).dask}, "nowhere")


def test_scatter(client: LocalClient) -> None:
    future = client.scatter([1, 2, 3])[1]
    assert future.result(timeout=60) == 2
    assert client.submit(operator.add, future, 5).result(timeout=60) == 7
    named = client.scatter({"a": 10})
    assert named["a"].key == "a" and client.gather(named) == {"a": 10}


def test_run(client: LocalClient) -> None:
    assert list(client.run(lambda: 42).values()) == [42]
    with pytest.raises(ZeroDivisionError):
        client.run(fail, 1)


def test_spans_of_submissions(client: LocalClient) -> None:
    with span("A"):
        futures = client.map(increment, range(3))
    with span("B", "b"):
        other = client.submit(increment, 50)
    client.gather([*futures, other])
    tags = {key: client.fake.tags(number) for key, _, number, _ in client.fake.ran}
    assert tags[futures[0].key] == ("A",) and tags[other.key] == ("B", "b")
    until(lambda: all(row["closed"] is not None for row in client.fake.spans.values()))


def test_one_function_in_three_spans(client: LocalClient) -> None:
    """Row (e): upstream puts all of these into A, by the group of their keys."""
    with span("A"):
        mapped = client.map(abs, [-1, -2, -3])
    with span("B"):
        submitted = client.submit(abs, -4)
    with span("C"):
        lazy = delayed(abs)(-5)
    assert client.gather([*mapped, submitted]) == [1, 2, 3, 4] and lazy.compute() == 5
    found = {}
    for key, name, number, origin in client.fake.ran:
        if name == "abs":
            found[key] = client.fake.tags(number)
            assert origin == ORIGIN_USER
    assert {found[future.key] for future in mapped} == {("A",)}
    assert found[submitted.key] == ("B",) and found[lazy.key] == ("C",)


def test_reused_result_stays_in_the_span_that_computed_it(client: LocalClient) -> None:
    with span("A"):
        first = client.submit(increment, 5)
    first.result(timeout=60)
    ran = len(client.fake.ran)
    with span("B"):
        again = client.submit(increment, 5)
    assert again.result(timeout=60) == 6 and len(client.fake.ran) == ran


def test_every_column_of_nested_spans_is_sent(client: LocalClient) -> None:
    times = []

    def now() -> float:
        times.append(client._session.spans._at(time.perf_counter()))
        return times[-1]

    before_outer = now()
    with span("outer"):
        before_inner = now()
        with span("inner"):
            client.submit(increment, 41).result(timeout=60)
            after_inner = now()
        until(lambda: sum(row["closed"] is not None for row in client.fake.spans.values()) == 1)
        after_outer = now()
    until(lambda: all(row["closed"] is not None for row in client.fake.spans.values()))
    rows = {row["tag"]: row for row in client.fake.spans.values()}
    outer, inner = rows["outer"], rows["inner"]
    assert set(rows) == {"outer", "inner"}
    assert (outer["parent"], inner["parent"]) == (0, outer["id"])
    assert inner["id"] not in (0, outer["id"])
    assert [row["origin"] for row in (outer, inner)] == [SPAN_WORDS["user"]] * 2
    assert before_outer <= outer["opened"] <= before_inner <= inner["opened"] <= after_inner
    assert after_inner <= inner["closed"] <= after_outer <= outer["closed"] <= now()


def test_options_reach_the_scheduler(client: LocalClient) -> None:
    future = client.submit(increment, 1, retries=3, priority=7, workers=0)
    future.result(timeout=60)
    assert client.fake.options[future._entry.id] == (3, 1, 7)
    # (`resources` is not sent: what is read has every field of the message)
    assert client.fake.restrictions == [{"workers": [0], "allowOther": False, "resources": None}]
    with dask.annotate(retries=2):
        lazy = delayed(increment)(1)
    lazy.compute()
    assert (2, 0, 0) in client.fake.options.values()
    client.submit(increment, 2, resources={"GPU": 1}).result(timeout=60)
    assert client.fake.restrictions == [
        {"workers": None, "allowOther": False, "resources": {"GPU": 1}}
    ]


def test_absent_methods_name_a_substitute(client: LocalClient) -> None:
    with pytest.raises(NotImplementedError, match=r"run\(\): the scheduler runs no Python"):
        client.run_on_scheduler(print)


def test_default_client(scheduler: ClientScheduler) -> None:
    before = dask.config.get("scheduler", default=None)
    with LocalClient(scheduler) as client:
        assert default_client() is client
        assert dask.config.get("dataframe.shuffle.method") == "tasks"
    assert dask.config.get("scheduler", default=None) is before
    with pytest.raises(ValueError, match="Client"):
        default_client()


@contextmanager
def nested_clients(count: int) -> Iterator[list[LocalClient]]:
    """So many clients, each of a cluster of its own; the last one is the current one."""
    with ExitStack() as stack:
        schedulers = [stack.enter_context(closing(ClientScheduler())) for _ in range(count)]
        yield [LocalClient(each) for each in schedulers]


def test_nested_clients_restore_the_one_before() -> None:
    with nested_clients(3) as (first, second, third):
        second.close()
        assert default_client() is third
        third.close()
        assert default_client() is first
        first.close()
        assert dask.config.get("scheduler", default=None) is None


def test_a_client_whose_cluster_has_ended_stays_the_one_before() -> None:
    with nested_clients(2) as (first, second):
        first.fake.link.close()
        until(lambda: first.status == "closed")
        second.close()
        # (else what is computed next would run in this process, and nobody would be told)
        assert default_client() is first
        first.close()
        assert dask.config.get("scheduler", default=None) is None


def test_scheduler_dies(client: LocalClient) -> None:
    client.fake.hold.clear()
    future = client.submit(increment, 77)
    client.fake.link.close()
    with pytest.raises(SchedulerLost, match="has ended"):
        future.result(timeout=60)
    with pytest.raises(SchedulerLost, match="has ended"):
        client.submit(increment, 78)


def test_who_sends_before_the_end_was_read_hears_its_reason(client: LocalClient) -> None:
    assert client.submit(increment, 1).result(timeout=60) == 2
    link, read_on = client._session._link, threading.Event()
    check = link._check
    there = client.fake.link
    assert check is not None and there is not None

    def slowly(message: Any) -> None:
        assert read_on.wait(60)
        check(message)

    link._check = slowly
    # What its thread still writes would take this along, and the close not wait for it.
    until(lambda: not there._sending)
    client.fake._send("closed", {"why": "somebody has shut it down", "idle": False})
    there.close()
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(client.submit, increment, 2)
        until(lambda: link.closed)
        read_on.set()
        with pytest.raises(SchedulerLost, match="somebody has shut it down"):
            sending.result(60)


def test_unpicklable_argument_leaves_the_client_usable(client: LocalClient) -> None:
    with pytest.raises(TypeError, match="pickle"):
        client.submit(increment, threading.Lock(), pure=False)
    with pytest.raises(TypeError, match="pickle"):
        client.get({"x": (increment, threading.Lock())}, "x")
    assert client.submit(increment, 1).result(timeout=60) == 2


def test_memory_sampler(client: LocalClient) -> None:
    sampler = MemorySampler()
    for label in ("one", "two"):
        with sampler.sample(label, interval=0.1):
            client.submit(increment, 1).result(timeout=60)
    assert [nbytes for _, nbytes in sampler.samples["one"]] == [1000, 2000]
    assert abs(sampler.samples["one"][0][0] - time.time()) < 60
    frame = sampler.to_pandas(align=True)
    assert list(frame.columns) == ["one", "two"] and frame.index[0].total_seconds() == 0
    with pytest.raises(ValueError, match="measure"):
        sampler.sample("x", measure="nonsense")


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ([0, 0], "no limit"),
        # No line breaks inside of a figure.
        ([2**31], "2.00\xa0GiB"),
        ([2**31] * 3, "3\xa0×\xa02.00\xa0GiB"),
        ([2**31, 2**30], "3.00\xa0GiB, limits added up"),
    ],
)
def test_memory_limits_are_not_taken_for_the_machine_s_memory(limits: list[int], text: str) -> None:
    session = SimpleNamespace(
        workers_there=lambda: [{"threads": 1, "memoryLimit": each} for each in limits],
        cluster_id="c",
        name="n",
        dead=None,
    )
    assert f"memory {text}<" in cluster_facts_html(session, "running")
    # Without workers there is nothing that could have a limit.
    limits.clear()
    assert "memory" not in cluster_facts_html(session, "running")


def test_html_is_escaped(client: LocalClient) -> None:
    client._session.name = "<img src=x onerror=alert(1)>"
    html = client._repr_html_()
    assert "<img" not in html and "&lt;img" in html
    assert "spanwise:open-layout" in html and "data-commandlinker-args" in html


def test_the_button_names_the_kernel_too(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "kernel" not in client._repr_html_()
    monkeypatch.setattr("spanwise.observed.html.kernel_id", lambda: "k-1")
    assert "&quot;kernel&quot;: &quot;k-1&quot;" in client._repr_html_()


def test_threads_share_a_client(client: LocalClient) -> None:
    def use(number: int) -> int:
        return client.submit(increment, number).result(timeout=60)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(use, range(200))) == list(range(1, 201))


def test_mutated_globals_are_seen(client: LocalClient) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "factor": 2}
    exec("def scale(x): return x * factor", space)  # noqa: S102
    one = client.submit(space["scale"], 10)
    space["factor"] = 3
    two = client.submit(space["scale"], 10)
    assert (one.result(60), two.result(60)) == (20, 30)


@pytest.mark.asyncio
async def test_asynchronous(scheduler: ClientScheduler) -> None:
    async with LocalClient(scheduler, asynchronous=True) as client:
        future = client.submit(increment, 1)
        assert await future == 2
        assert await future.result() == 2
        assert await client.gather(client.map(increment, range(3))) == [1, 2, 3]
        seen = [await f async for f in as_completed(client.map(increment, range(3)))]
        assert sorted(seen) == [1, 2, 3]
        assert await client.compute(delayed(increment)(4)) == 5
        await wait([future])
        assert await client.get({"x": (increment, 1)}, "x") == 2


def test_a_lone_call_is_sent_as_one_of_several_would_be(client: LocalClient) -> None:
    """Without columns, but with the same values in them."""
    from spanwise.client.calls import _CallMessage

    calls, session = client._calls, client._session
    one, two = client.submit(increment, 5), client.submit(increment, 7)
    client.gather([one, two])
    rows: list[tuple[Any, ...]] = [
        (),
        (1,),
        (one,),
        (two, "text", one, two),
        (np.arange(1_000), b"bytes" * 100),
        (None, one, (1, 2)),
    ]
    for number, row in enumerate(rows * 2):
        # (the end of a span is sent too)
        with span("A") if number % 2 else span("A", "é"), session.sending:
            with session.lock:
                (entry,) = session.new_entries([f"{'é' * (number % 3)}lone-{number}"])

            def columns(row: Any = row, entry: Any = entry) -> Any:
                message = _CallMessage(calls, increment, {"word": 1})
                return calls._message(message, message.pack([row]), [entry], None, 7)

            def lone(row: Any = row, entry: Any = entry) -> Any:
                return calls._one(_CallMessage(calls, increment, {"word": 1}), row, entry, 7)

            columns()  # so that names, spans and templates are known to both
            several, alone = columns(), lone()
        assert {name: column[0] for name, column in several.tasks.items()} | {
            "chunk": alone.tasks["chunk"]
        } == alone.tasks
        assert (several.last_id, several.is_one) == (alone.last_id, False)
        assert (alone.tasks["chunk"] - several.tasks["chunk"][0]) == bool(
            [each for each in row if each is not one and each is not two]
        )
        chunks = [chunk | {"id": alone.tasks["chunk"]} for chunk in several.fields["chunks"]]
        assert several.fields | {"chunks": chunks} == alone.fields
        assert several.blobs == alone.blobs
        assert several.dependencies == alone.dependencies
        session.drop([entry])
