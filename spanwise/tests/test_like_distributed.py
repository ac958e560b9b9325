"""The same calls to a real cluster of `distributed` and to a real one of Spanwise."""

from __future__ import annotations

import gc
import os
import pickle
import re
import subprocess
import sys
import time
import traceback
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.reduction import ForkingPickler
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import distributed
import pandas as pd
import pytest
from dask import delayed

import spanwise
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.test_exceptions import RAISE, said

Pair = namedtuple("Pair", "first second")


@pytest.fixture(scope="module")
def ours() -> Iterator[spanwise.Client]:
    with spanwise.Client(n_workers=1, threads_per_worker=2) as client:
        yield client


@pytest.fixture(scope="module")
def theirs(ours: Any) -> Iterator[distributed.Client]:
    """A cluster that was started while a client of ours was the current one."""
    with (
        distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


def increment(x: Any) -> Any:
    return x + 1


def fail(x: Any) -> None:
    raise ValueError(x)


#: Collections of equal content have equal keys, and a cluster may be late to cancel those of the
#: case before: each is made of a number of its own.
NUMBERS = count()


def array(client: Any) -> Any:
    return client.persist(da.full((4,), next(NUMBERS), chunks=2) + 1)


def frame(client: Any) -> Any:
    first = next(NUMBERS)
    rows = pd.DataFrame({"a": range(first, first + 6)})
    return client.persist(dd.from_pandas(rows, npartitions=3))


def bag(client: Any) -> Any:
    first = next(NUMBERS)
    return client.persist(db.from_sequence(range(first, first + 4), npartitions=2))


def together(client: Any) -> Any:
    return client.persist([da.full((2,), next(NUMBERS)), delayed(increment)(3)])


def one(client: Any) -> Any:
    return client.submit(increment, 1, pure=False)


def two(client: Any) -> Any:
    return client.submit(increment, 2, pure=False)


#: What holds futures, made by a client; each call makes its own.
HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a future": one,
    "a list": lambda client: [one(client), two(client)],
    "a set": lambda client: {one(client), two(client)},
    "twice the same": lambda client: [one(client)] * 2,
    "in each other": lambda client: {"a": [one(client), (two(client),)], "b": {one(client)}},
    "an array": array,
    "a dataframe": frame,
    "a bag": bag,
    "a delayed": lambda client: client.persist(delayed(increment)(3)),
    "persisted together": together,
    "all together": lambda client: [array(client), {"d": frame(client)}, (one(client), 3)],
    "made of an array": lambda client: array(client) + 1,
    "made of a dataframe": lambda client: frame(client).a + 1,
    "made of a dataframe, summed": lambda client: frame(client).a.sum(),
    "not persisted": lambda client: da.ones(3),
    "nothing": lambda client: [],
    "other things": lambda client: [3, "a", None, {"b": b""}],
}


def outcome(function: Callable[[], Any]) -> Any:
    """The value of a call, or the name of its error; ours by the name of theirs."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 (each its own)
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return "CancelledError" if "CancelledError" in kinds else kinds[0]


def keys_of(futures: Any) -> Any:
    return sorted({str(future.key).split("-")[0] for future in futures}), len(futures)


def use_futures_of(client: Any, package: Any, held: Any) -> Any:
    return keys_of(package.futures_of(held)), keys_of(client.futures_of(held))


def use_wait(client: Any, package: Any, held: Any) -> Any:
    done, not_done = package.wait(held, LIMIT_SECONDS)
    return len({future.key for future in done}), len(not_done)


def use_as_completed(client: Any, package: Any, held: Any) -> Any:
    found = package.futures_of(held)
    return keys_of(list(package.as_completed(found, timeout=LIMIT_SECONDS)))


def use_gather(client: Any, package: Any, held: Any) -> Any:
    found = client.gather(held)
    if isinstance(found, (list, dict, set)) and not package.futures_of(found):
        return found
    return type(found).__name__


def use_cancel(client: Any, package: Any, held: Any) -> Any:
    client.cancel(held)
    found = package.futures_of(held)
    statuses = sorted({future.status for future in found})
    return (
        statuses,
        outcome(lambda: len(package.wait(held, LIMIT_SECONDS).done)),
        outcome(lambda: len(client.futures_of(held))),
    )


@pytest.mark.parametrize(
    "use", [use_futures_of, use_wait, use_as_completed, use_gather, use_cancel]
)
@pytest.mark.parametrize("holder", HOLDERS)
def test_futures_are_found_in_what_holds_them(
    theirs: Any, ours: Any, use: Any, holder: str
) -> None:
    make = HOLDERS[holder]
    expected = outcome(lambda: use(theirs, distributed, make(theirs)))
    assert outcome(lambda: use(ours, spanwise, make(ours))) == expected
    assert not isinstance(expected, str) or use is use_gather, "a call that works"


MISTAKES: dict[str, Callable[[Any, Any], Any]] = {
    "wait for two arguments": lambda client, package: package.wait(one(client), two(client)),
    "wait for what": lambda client, package: package.wait([one(client)], return_when="SOME"),
    "as_completed of texts": lambda client, package: package.as_completed(["a"]),
    "as_completed of a future": lambda client, package: package.as_completed(one(client)),
    "as_completed of arrays": lambda client, package: package.as_completed([array(client)]),
    "as_completed of a delayed": lambda client, package: package.as_completed(
        client.persist(delayed(increment)(1))
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_the_same_errors(theirs: Any, ours: Any, mistake: str) -> None:
    expected = outcome(lambda: MISTAKES[mistake](theirs, distributed))
    with pytest.raises(Exception, match=r"\w+ \w+ \w+ \w+") as caught:
        MISTAKES[mistake](ours, spanwise)
    assert type(caught.value).__name__ == expected


class Model:
    """As estimators are, which learn where they are."""

    def __init__(self) -> None:
        self.seen: list[Any] = []


def learn(x: Any, model: Model, seen: list[Any], options: dict[str, int]) -> tuple[int, int, int]:
    model.seen.append(x)
    seen.append(x)
    return len(model.seen), len(seen), options.pop("step")


def test_what_a_task_changes_of_its_keywords_is_its_own(theirs: Any, ours: Any) -> None:
    def keywords() -> dict[str, Any]:
        return {"model": Model(), "seen": [], "options": {"step": 3}, "pure": False}

    for client in (theirs, ours):
        found = client.gather(client.map(learn, range(3), **keywords()))
        found += client.gather([client.submit(learn, i, **keywords()) for i in range(3)])
        assert found == [(1, 1, 3)] * 6, type(client)


def test_more_is_found_than_there(ours: Any) -> None:
    """Where `distributed` looks past futures, and a call does nothing."""
    pair = Pair(one(ours), two(ours))
    assert spanwise.futures_of([pair, frozenset([pair.first])]) == [*pair]
    assert spanwise.wait(each for each in pair).done == {*pair}
    assert spanwise.wait({"a": pair.first}.values()).done == {pair.first}
    ring: list[Any] = [pair.first]
    ring.append(ring)
    assert spanwise.futures_of(ring) == [pair.first]
    for nothing in (3, "text", None):
        with pytest.raises(TypeError, match=r"wait\(\) takes futures, persisted collections"):
            spanwise.wait(nothing)
    with pytest.raises(TypeError, match=r"futures_of\(…\) gives those within"):
        spanwise.as_completed(array(ours))


def skipped(client: Any, failed: Any, good: Any) -> list[Any]:
    return [
        client.gather(held, errors="skip")
        for held in ([failed, good], (failed, good), {"a": failed, "b": good}, failed)
    ]


def test_gathering_around_errors_and_out_of_iterators(theirs: Any, ours: Any) -> None:
    answers = []
    for client in (theirs, ours):
        failed, good = client.submit(fail, 1), client.submit(increment, 1)
        lazily = client.gather(iter([good, [good, 3]]))
        answers.append([*skipped(client, failed, good), next(lazily), [*lazily]])
    assert answers[1] == answers[0] == [[2], (None, 2), {"a": None, "b": 2}, None, 2, [[2, 3]]]


def test_wait_for_a_persisted_collection_ends_with_it(ours: Any) -> None:
    waited = ours.persist(delayed(time.sleep)(0.2))
    assert spanwise.wait(waited, LIMIT_SECONDS).not_done == set()
    assert [each.status for each in spanwise.futures_of(waited)] == ["finished"]
    slow = ours.persist([delayed(time.sleep)(30), delayed(increment)(1)])
    first = spanwise.wait(slow, LIMIT_SECONDS, return_when="FIRST_COMPLETED")
    assert (len(first.done), len(first.not_done)) == (1, 1)
    with pytest.raises(TimeoutError):
        spanwise.wait(slow, timeout="10 ms")
    ours.cancel(slow)


@pytest.mark.asyncio
async def test_waiting_in_an_event_loop() -> None:
    async with spanwise.Client(n_workers=1, asynchronous=True) as client:
        kept = client.persist([da.ones((4,), chunks=2), delayed(increment)(1)])
        done, not_done = await spanwise.wait(kept)
        assert (len(done), len(not_done)) == (3, 0)
        await client.cancel(kept)
        with pytest.raises(spanwise.CancelledError):
            await spanwise.wait(kept)


def test_what_distributed_carries_is_the_same(theirs: Any, ours: Any) -> None:
    """Each exception of the table that arrives there as it was raised."""
    # A client of theirs does not outlive the traceback of a deep recursion.
    futures = {name: theirs.submit(RAISE[name], pure=False) for name in RAISE if name != "deep"}
    for name, future in futures.items():
        told = said(future.exception(timeout=LIMIT_SECONDS))
        mine = ours.submit(RAISE[name], pure=False)
        found = said(mine.exception(LIMIT_SECONDS))
        assert found == told or name in {"slotted", "of_the_decoder"}, name
        frames = traceback.extract_tb(mine.traceback())
        pairs = zip(frames, traceback.extract_tb(future.traceback()), strict=True)
        for here, there in pairs:
            assert (here.lineno, here.name) == (there.lineno, there.name)
            # (theirs lacks the file of what goes by value, from cloudpickle 3.1.3 on)
            assert here.filename != "<dynamic-code>"
            assert there.filename in (here.filename, "<dynamic-code>")


def wait_for_file(path: str) -> None:
    while not os.path.exists(path):  # noqa: PTH110
        time.sleep(0.01)


def write_file(path: str) -> None:
    with open(path, "w"):  # noqa: PTH123
        pass


def has_task(key: str, dask_worker: Any) -> bool:
    return key in dask_worker.state.tasks


def fire(client: Any, package: Any, folder: Any, known: Any) -> tuple[list[Any], list[str]]:
    """Fill both threads, and let go of tasks behind them; the tasks that run and two keys."""
    # What nobody wants is never begun.
    busy = [client.submit(wait_for_file, str(folder / "gate"), pure=False) for _ in range(2)]
    forgotten = client.submit(write_file, str(folder / "one"), pure=False)
    parts = [delayed(write_file)(str(folder / name)) for name in ("two", "three")]
    kept = client.persist(parts)
    unwanted = client.submit(write_file, str(folder / "four"), pure=False)
    keys = {each.key for each in [*busy, forgotten, unwanted, *client.futures_of(kept)]}
    # Their scheduler may hear that a task is let go before it hears of the task.
    wait_until("the cluster has all", lambda: all(key in known for key in keys))
    package.fire_and_forget(forgotten)
    package.fire_and_forget({"kept": kept})
    return busy, [forgotten.key, unwanted.key]


@pytest.mark.parametrize("whose", ["theirs", "ours"])
def test_what_is_fired_and_forgotten_runs_when_nobody_holds_it(
    theirs: Any, ours: Any, tmp_path: Any, whose: str
) -> None:
    client, package = (theirs, distributed) if whose == "theirs" else (ours, spanwise)
    known = theirs.cluster.scheduler.tasks if whose == "theirs" else ours._session.by_key
    busy, (forgotten, unwanted) = fire(client, package, tmp_path, known)
    gc.collect()
    wait_until("its client has let go of it", lambda: unwanted not in known)
    if whose == "ours":
        # (the client tells the scheduler some milliseconds later)
        wait_until("the scheduler is told", lambda: unwanted not in ours.who_has())
        ours.run(os.getpid)  # workers are asked after they have been told
    else:
        wait_until("the worker is told", lambda: not any(theirs.run(has_task, unwanted).values()))
    # (ours is held by the scheduler, and the client has let go of it)
    assert (forgotten in known) is (whose == "theirs")
    write_file(str(tmp_path / "gate"))
    awaited = {"gate", "one", "two", "three"}
    wait_until("all have run", lambda: awaited <= {each.name for each in tmp_path.iterdir()})
    package.wait(busy, LIMIT_SECONDS)
    assert not (tmp_path / "four").exists()
    wait_until("its result is let go", lambda: forgotten not in known)


# ── names that are the same ──────────────────────────────────────────────


def failed(client: Any) -> Any:
    future = client.submit(fail, 3, pure=False)
    future.exception(LIMIT_SECONDS)
    return future


def shown(client: Any) -> list[str]:
    """How a future shows itself, as is and as HTML, without its key and the spaces."""
    future = client.submit(increment, 1, pure=False)
    future.result(LIMIT_SECONDS)
    html = re.sub(r"<[^>]*>|[\s,]", "", future._repr_html_())
    texts = [repr(future), str(future), f"{future}", str(failed(client)), html]
    return [re.sub(r"(increment|fail)-[\w-]+", r"\1-…", each) for each in texts]


def called_back(client: Any) -> Any:
    told: Queue[Any] = Queue()
    future = one(client)
    future.add_done_callback(told.put)
    return told.get(timeout=LIMIT_SECONDS) is future


@contextmanager
def held(client: Any) -> Iterator[Any]:
    """A future that is not done within the block."""
    with TemporaryDirectory() as folder:
        gate = f"{folder}/gate"
        future = client.submit(wait_for_file, gate, pure=False)
        try:
            yield future
        finally:
            write_file(gate)
            # (Who waits for the file may look for it after its folder has gone. Not by `result`:
            # behind one that timed out, that of distributed has raised an `UnboundLocalError`.)
            wait_until("it is done", future.done)


def timed_out(client: Any) -> Any:
    with held(client) as future:
        return outcome(lambda: future.result(0.01))


def is_done(client: Any) -> Any:
    with held(client) as future:
        return future.done()


def cancelled(client: Any) -> Any:
    future = client.submit(time.sleep, 0.1, pure=False)
    future.cancel()
    return future


def tried_again(client: Any) -> Any:
    future = client.submit(int, "no number", pure=False)
    before = type(future.exception(LIMIT_SECONDS)).__name__
    future.retry()
    return before, type(future.exception(LIMIT_SECONDS)).__name__


def completed(package: Any, client: Any) -> Any:
    made = package.as_completed([one(client)], timeout=LIMIT_SECONDS)
    made.add(two(client))
    made.update([one(client)])
    return made


def drained(made: Any) -> list[Any]:
    return sorted(each.result() for each in made)


def when_ready(made: Any) -> bool:
    wait_until("one is done", made.has_ready)
    return bool(made.has_ready())


def released(client: Any) -> Any:
    future = one(client)
    future.result(LIMIT_SECONDS)
    future.release()
    wait_until("that is known", future.cancelled)  # (theirs learns it in its event loop)
    return future


def current(package: Any, client: Any) -> bool:
    with client.as_current():
        return package.default_client() is client


#: Names, and what both libraries answer to them: the package and a client of it are given.
SAME: dict[str, Callable[[Any, Any], Any]] = {
    "CancelledError": lambda p, c: outcome(lambda: cancelled(c).result(LIMIT_SECONDS)),
    "TimeoutError": lambda p, c: (
        p.TimeoutError is TimeoutError,
        timed_out(c),
    ),
    "default_client": current,
    "Client.asynchronous": lambda p, c: c.asynchronous,
    "Client.ncores": lambda p, c: [*c.ncores().values()],
    "LocalCluster.asynchronous": lambda p, c: c.cluster.asynchronous,
    "LocalCluster.name": lambda p, c: type(c.cluster.name),
    "Future.add_done_callback": lambda p, c: called_back(c),
    "Future.__str__": lambda p, c: shown(c),
    "Future.cancel": lambda p, c: cancelled(c).status,
    "Future.cancelled": lambda p, c: (cancelled(c).cancelled(), one(c).cancelled()),
    "Future.client": lambda p, c: one(c).client is c,
    "Future.done": lambda p, c: (failed(c).done(), is_done(c)),
    "Future.exception": lambda p, c: (
        repr(failed(c).exception()),
        one(c).exception(LIMIT_SECONDS),
    ),
    "Future.key": lambda p, c: c.submit(increment, 1, key="of mine").key,
    "Future.release": lambda p, c: (released(c).status, released(c).cancelled()),
    "Future.result": lambda p, c: (
        one(c).result(f"{LIMIT_SECONDS} s"),
        outcome(failed(c).result),
    ),
    "Future.retry": lambda p, c: tried_again(c),
    "Future.status": lambda p, c: [failed(c).status, released(c).status],
    "Future.substitute": lambda p, c: outcome(lambda: one(c).substitute({})) is not None,
    "Future.traceback": lambda p, c: traceback.extract_tb(failed(c).traceback())[-1].line,
    "as_completed.add": lambda p, c: drained(completed(p, c)),
    "as_completed.batches": lambda p, c: sorted(
        each.result() for batch in completed(p, c).batches() for each in batch
    ),
    "as_completed.count": lambda p, c: completed(p, c).count(),
    "as_completed.has_ready": lambda p, c: when_ready(completed(p, c)),
    "as_completed.is_empty": lambda p, c: (
        completed(p, c).is_empty(),
        p.as_completed([]).is_empty(),
    ),
    "as_completed.next_batch": lambda p, c: type(completed(p, c).next_batch()),
    "as_completed.update": lambda p, c: drained(completed(p, c)),
}


@pytest.mark.parametrize("name", SAME)
def test_a_name_that_is_the_same_answers_the_same(theirs: Any, ours: Any, name: str) -> None:
    expected = SAME[name](distributed, theirs)
    assert expected is not None and SAME[name](spanwise, ours) == expected


# ── code that still calls distributed ────────────────────────────────────


def current_client() -> Any:
    return distributed.get_client()


def client_of_the_worker() -> Any:
    with distributed.worker_client() as client:
        return client


def worker() -> Any:
    return distributed.get_worker()


def leave_the_pool() -> Any:
    return distributed.secede()  # type: ignore[no-untyped-call]


def wait_for_futures() -> Any:
    return distributed.wait([1])  # type: ignore[no-untyped-call]


def iterate() -> Any:
    return distributed.as_completed([1])  # type: ignore[no-untyped-call]


def lock() -> Any:
    return distributed.Lock("name").acquire(timeout=30)  # type: ignore[no-untyped-call]


def hold_lock() -> Any:
    with distributed.Lock("name"):  # type: ignore[no-untyped-call]
        return 1


def hold_locks() -> Any:
    with distributed.MultiLock(["a", "b"]):
        return 1


def hold_lease() -> Any:
    return distributed.Semaphore(2, "name").release()  # type: ignore[no-untyped-call]


def set_event() -> Any:
    return distributed.Event("name").set()  # type: ignore[no-untyped-call]


def put() -> Any:
    return distributed.Queue("name").put(1)  # type: ignore[no-untyped-call]


def set_variable() -> Any:
    return distributed.Variable("name").set(1)  # type: ignore[no-untyped-call]


#: What they call, by what ours is named.
SHARED = {
    lock: "Lock",
    hold_lock: "Lock",
    hold_locks: "MultiLock",
    hold_lease: "Semaphore",
    set_event: "Event",
    put: "Queue",
    set_variable: "Variable",
}

CALLS = {
    current_client: (
        "get_client",
        "In a task, spanwise.get_client() and",
    ),
    client_of_the_worker: ("worker_client", "In a task, spanwise.get_client()"),
    worker: ("get_worker", "Use spanwise.get_worker()"),
    leave_the_pool: ("secede", "Use spanwise.secede() and spanwise.rejoin()"),
    wait_for_futures: ("wait", "In a task, spanwise.get_client()"),
    iterate: ("as_completed", "In a task, spanwise.get_client()"),
    **{call: (name, f"`from spanwise import {name}`") for call, name in SHARED.items()},
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_theirs_in_our_task_says_what_to_do_instead(ours: Any, call: Any) -> None:
    name, advice = CALLS[call]
    error = ours.submit(call, pure=False).exception(LIMIT_SECONDS)
    # Libraries that have another way without a cluster catch these.
    assert isinstance(error, (ValueError, RuntimeError, AttributeError))
    assert call in SHARED or type(error) is ValueError
    (note,) = error.__notes__
    assert note.startswith(f"({name}() is distributed's") and advice in note


def test_an_error_of_theirs_for_another_reason_gets_no_advice(ours: Any, theirs: Any) -> None:
    def fail_with_a_client_of_theirs(address: str) -> Any:
        with distributed.Client(address, set_as_default=True) as client:  # type: ignore[no-untyped-call]
            distributed.wait([client.submit(increment, 1)])  # type: ignore[no-untyped-call]
            distributed.as_completed([1])  # type: ignore[no-untyped-call]

    def fail() -> None:
        raise ValueError("No worker found")

    address = theirs.scheduler_info()["address"]
    for failed in (
        ours.submit(fail_with_a_client_of_theirs, address, pure=False),
        ours.submit(fail, pure=False),
    ):
        error = failed.exception(LIMIT_SECONDS)
        assert not hasattr(error, "__notes__") and isinstance(error, (TypeError, ValueError))


def compute_here() -> Any:
    return delayed(increment)(1).compute()


def test_a_cluster_of_theirs_starts_and_works_beside_a_client_of_ours(
    ours: Any, theirs: Any
) -> None:
    assert theirs.submit(increment, 1).result(LIMIT_SECONDS) == 2
    assert theirs.submit(compute_here).result(LIMIT_SECONDS) == 2
    assert ours.submit(compute_here).result(LIMIT_SECONDS) == 2
    assert theirs.compute(delayed(increment)(2)).result(LIMIT_SECONDS) == 3


def test_a_client_of_another_process_says_that_it_is_one(ours: Any) -> None:
    elsewhere = pickle.loads(bytes(ForkingPickler.dumps(ours)))
    assert not elsewhere and not hasattr(elsewhere, "_session")
    assert not pickle.loads(bytes(ForkingPickler.dumps(elsewhere)))
    with pytest.raises(AttributeError, match=f"belongs to process {os.getpid()}, which made it"):
        elsewhere.submit(increment, 1)
    with pytest.raises(TypeError, match="cannot be sent to workers"):
        pickle.dumps(ours)


BESIDE = """
import sys
early = sys.argv[1] == "early"
names = "as_completed, default_client, fire_and_forget, futures_of, get_client, get_worker, wait"
take = f"from dask.distributed import {names}, progress, secede, worker_client"
if early:
    exec(take)  # as the first cell does, before there is a client
import dask, spanwise
from dask import delayed

def of_worker():
    with worker_client():
        pass

with spanwise.Client(n_workers=1, threads_per_worker=1) as client:
    future = client.submit(abs, -1)
    kept = client.persist(delayed(abs)(-1))
    assert early or "distributed" not in sys.modules
    exec(take)
    import dask.distributed, distributed, inspect
    for name, call in {
        "wait": lambda: wait(future), " wait": lambda: wait([kept]),
        "as_completed": lambda: as_completed([future]),
        "default_client": default_client, "get_client": get_client, "get_worker": get_worker,
        "secede": secede, "worker_client": of_worker,
        " default_client": lambda: dask.distributed.default_client(),
        " get_client": lambda: distributed.get_client(),
        "spanwise.Client.current()": distributed.Client.current,
    }.items():
        try:
            call()
        except ValueError as error:
            instead = name if "." in name else f"`from spanwise import {name.strip()}`"
            assert instead in str(error) and not hasattr(error, "__notes__"), str(error)
            print(str(error).partition(":")[0])
        else:
            print("nothing said")
    for call in (progress, futures_of, fire_and_forget):
        try:
            call(kept)
        except TypeError as error:
            print("`from spanwise import wait`" in str(error))
        else:
            print("nothing said")
    for name, call in {
        "Lock": lambda: distributed.Lock("x").__enter__(),
        "Semaphore": lambda: distributed.Semaphore(2, "x").acquire(),
        "MultiLock": lambda: distributed.MultiLock(["x"]),
        "Event": lambda: distributed.Event("x").wait(),
        "Queue": lambda: distributed.Queue("x").get(),
        "Variable": lambda: distributed.Variable("x").get(),
    }.items():
        try:
            call()
        except RuntimeError as error:
            print(f"`from spanwise import {name}`" in str(error))
    # Their own code goes on as it is.
    assert "def default_client" in inspect.getsource(distributed.client)
    assert distributed.client.__spec__.loader.get_filename() == distributed.client.__file__
    print(client.gather(future))
    assert client.compute(delayed(abs)(-2)).result() == 2
try:
    get_client()
except ValueError as error:
    print(error)  # none of ours is open
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_their_functions_say_of_our_futures_where_ours_are(when: str) -> None:
    """In a process that imports distributed first or last, and has no client of theirs."""
    ran = subprocess.run(
        [sys.executable, "-c", BESIDE, when],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    none, no_worker = "No global client found and no address provided", "No worker found"
    assert ran.stdout.splitlines() == [
        *["No clients found"] * 4,
        *[none, no_worker, no_worker, no_worker],
        *["No clients found", none, "No clients found"],
        *["True"] * 9,
        "1",
        none,
    ], ran.stdout + ran.stderr


def test_nor_does_their_client_in_our_task(ours: Any, theirs: Any) -> None:
    def wait_with_a_client_of_theirs(address: str) -> str:
        mine = spanwise.get_client().submit(abs, -1, pure=False)
        with distributed.Client(address, set_as_default=True):  # type: ignore[no-untyped-call]
            try:
                distributed.wait([mine])  # type: ignore[no-untyped-call]
            except TypeError as error:
                return str(error)
        return "answered"

    address = theirs.scheduler_info()["address"]
    said = ours.submit(wait_with_a_client_of_theirs, address, pure=False).result(LIMIT_SECONDS)
    assert said.startswith("These are futures of Spanwise, not of distributed: ")


def test_nor_does_their_client_look_past_our_futures(ours: Any, theirs: Any) -> None:
    mine = one(ours)
    for held in (mine, [mine], {"a": (mine,)}, array(ours)):
        for call in (distributed.wait, distributed.futures_of, theirs.cancel):
            with pytest.raises(TypeError, match="These are futures of Spanwise"):
                call(held)
    # Of theirs, and of what holds none, they answer as before.
    assert distributed.wait(one(theirs)).not_done == set()  # type: ignore[no-untyped-call]
    assert distributed.futures_of([3, da.ones(2)]) == []  # type: ignore[no-untyped-call]
    assert distributed.default_client() is theirs  # type: ignore[no-untyped-call]


def test_a_result_that_is_there_is_given_wherever_it_may_be_computed(
    theirs: Any, ours: Any
) -> None:
    """`workers=` says where a task runs, and this one runs no more."""
    for client in (theirs, ours):
        key = f"there-{next(NUMBERS)}"
        held = client.submit(increment, 1, key=key)
        assert held.result(LIMIT_SECONDS) == 2
        again = client.submit(increment, 1, key=key, workers=99)
        assert (again.status, again.result(LIMIT_SECONDS)) == ("finished", 2)


def test_a_wait_that_was_too_long_shows_the_callers_lines_alone(ours: Any) -> None:
    slow = ours.submit(time.sleep, 2, pure=False)
    for wait in (lambda: slow.result(timeout=0.01), lambda: slow.result(timeout=-1)):
        with pytest.raises(TimeoutError, match="1 task was not done after 0") as caught:
            wait()
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert {frame.filename for frame in frames} == {__file__}
    # What a task raises has the task's lines, also of that kind.
    failed = ours.submit(_too_late, pure=False)
    with pytest.raises(TimeoutError) as caught:
        failed.result(LIMIT_SECONDS)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "_too_late"


def _too_late() -> None:
    raise TimeoutError("of the task")
