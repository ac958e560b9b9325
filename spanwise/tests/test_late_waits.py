"""What the error of a wait says that was in vain: why the tasks are not done, on real clusters."""

from __future__ import annotations

import asyncio
import builtins
import os
import re
import signal
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import pytest

from spanwise import Client, LocalCluster, as_completed, get_client, wait
from spanwise.client import late
from spanwise.client.entries import Waiter
from spanwise.client.late import LEAST_SECONDS, Late
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until
from spanwise.tests.told_to_pages import notices
from spanwise.tests.told_to_pages import waiting as waiting_in_panels

WORKERS = 2
#: Of 240 MiB, beside what the worker itself takes.
PAUSING = 190 * 2**20


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    """Two workers of one thread, each with one GPU."""
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, resources={"GPU": 1}) as cluster,
        Client(cluster) as client,
    ):
        yield client


class Tasks:
    """Tasks that stay until they are let go."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self._end = uuid.uuid4().hex

    def stay(self, name: str, *inputs: Any, **options: Any) -> Any:
        return self.client.submit(
            stays, str(self.folder), name, *inputs, key=f"{name}-{self._end}", **options
        )

    def use(self, name: str, *inputs: Any, **options: Any) -> Any:
        """One that needs no time."""
        return self.client.submit(no_time, *inputs, key=f"{name}-{self._end}", **options)

    def begun(self, *names: str) -> None:
        """Wait until these run."""
        for name in names:
            wait_until(f"{name} runs", (self.folder / f"began-{name}").exists)

    def let_go(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def tasks(shared: Client, tmp_path: Path) -> Iterator[Tasks]:
    tasks = Tasks(shared, tmp_path)
    yield tasks
    tasks.let_go()
    wait_until("nothing runs", lambda: not any(shared.processing().values()))
    # What was cancelled holds its thread until it has ended.
    assert shared.gather(shared.map(abs, range(8), pure=False)) == [*range(8)]


def stays(folder: str, name: str, *inputs: Any) -> int:
    Path(folder, f"began-{name}").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.01)
    return 1


def no_time(*_: Any) -> int:
    return 1


def keep(nbytes: int) -> None:
    builtins.kept = bytearray(nbytes)  # type: ignore[attr-defined]


def let_go() -> None:
    del builtins.kept  # type: ignore[attr-defined]


def said(call: Callable[[float], Any], pattern: str, seconds: float = LEAST_SECONDS) -> str:
    """Wait in vain until the error matches: workers tell of what they run a moment later."""
    errors: list[str] = []

    def found() -> bool:
        with pytest.raises(TimeoutError) as caught:
            call(seconds)
        errors[:] = [str(caught.value)]
        return re.search(pattern, errors[0]) is not None

    try:
        wait_until(f"an error that matches {pattern!r}", found, 20.0)
    except AssertionError as error:
        raise AssertionError(f"{error}; it said {errors}") from None
    return errors[0]


def test_of_one_that_runs_where_and_for_how_long(tasks: Tasks) -> None:
    future = tasks.stay("slow")
    key = re.escape(future.key)
    sentence = said(future.result, rf"^1 task was not done after 0\.25 s\. {key} has run for .*\.$")
    (seconds, worker) = re.search(r"for ([\d.]+) s on worker-(\d+)\.$", sentence).groups()
    assert 0 < float(seconds) < LIMIT_SECONDS
    assert int(worker) in tasks.client._session.workers
    user = tasks.use("user", future)
    said(user.result, rf"user-\w+ waits for {key}, which has run for [\d.]+ s on worker-\d+\.$")


def test_of_many_how_many_run_and_which_runs_longest(tasks: Tasks) -> None:
    slow = tasks.stay("slow")
    tasks.begun("slow")
    more = [tasks.stay(f"more-{i}") for i in range(5)]
    total = tasks.use("sum", slow, *more)
    key = re.escape(slow.key)
    longest = rf"; {key} has run longest, for [\d.]+ s on worker-\d+\.$"
    said(total.result, rf"sum-\w+ waits for 6 tasks; of these 2 run(, and \d more .*)?{longest}")
    both = [total, slow]
    said(
        lambda seconds: wait(both, seconds),
        r"^2 of 2 tasks were not done after 0\.25 s\. They wait for 5 others; of all these 2 run"
        rf"(, and \d more .*)?{longest}",
    )
    said(
        lambda seconds: next(as_completed([slow, *more], timeout=seconds)),
        rf"^6 tasks were not done after 0\.25 s\. Of them 2 run(, and \d more .*)?{longest}",
    )


def test_cancelled_tasks_that_hold_threads_are_named(tasks: Tasks) -> None:
    former, other = tasks.stay("former"), tasks.stay("other")
    tasks.begun("former", "other")
    waiting = tasks.use("waiting")
    former.cancel()
    said(
        waiting.result,
        r"waiting-\w+ waits .*for a thread\. All 2 threads of the cluster are held by 1 task that "
        r"was cancelled or released and still runs \(former\) and 1 other task \(other\)\. A "
        r'thread cannot be stopped: client\.restart_workers\(\["worker-\d+"\]\) ends what it '
        r"runs\.$",
    )
    del other  # (nobody holds it any more)
    said(
        waiting.result,
        r"All 2 threads of the cluster are held by 2 tasks that were cancelled or released and "
        r"still run \((former, other|other, former)\)\. ",
    )
    # Which concerns those that may run there alone.
    there = tasks.use("there", workers=["worker-0"])
    said(
        there.result,
        r"The only thread of worker-0 is held by 1 task that was cancelled or released",
    )


def test_other_tasks_that_hold_the_threads_are_named(tasks: Tasks) -> None:
    others = [tasks.stay(f"other-{i}") for i in "ab"]
    tasks.begun("other-a", "other-b")
    waiting = tasks.use("waiting")
    sentence = said(waiting.result, r"All 2 threads of the cluster are held by 2 other tasks \(")
    assert "stopped" not in sentence
    del others


def test_tasks_that_wait_for_their_own_tasks_hold_no_thread(tasks: Tasks) -> None:
    def waits(folder: str) -> int:
        inner = get_client().submit(stays, folder, "inner", key="inner-1", workers=["worker-0"])
        return inner.result()

    outer = tasks.client.submit(waits, str(tasks.folder), key="outer-1", workers=["worker-0"])
    tasks.begun("inner")
    waiting = tasks.use("waiting", workers=["worker-0"])
    said(waiting.result, r"The only thread of worker-0 is held by 1 other task \(inner\)\.$")
    tasks.let_go()
    assert outer.result(LIMIT_SECONDS) == 1


def test_nothing_is_said_of_threads_that_the_tasks_hold_themselves(tasks: Tasks) -> None:
    own = [tasks.stay(f"own-{i}") for i in "abc"]
    sentence = said(lambda seconds: wait(own, seconds), r"has run longest")
    assert "held" not in sentence


def test_resources_that_others_hold_and_that_no_worker_has(tasks: Tasks) -> None:
    holders = [tasks.stay(f"holder-{i}", resources={"GPU": 1}) for i in "ab"]
    tasks.begun("holder-a", "holder-b")
    waiting = tasks.use("waiting", resources={"GPU": 1})
    said(
        waiting.result,
        r"waiting-\w+ waits for GPU=1\. GPU is held by 2 tasks \(holder.*\)\.$",
    )
    holders[0].cancel()
    said(
        waiting.result,
        r"GPU is held by 1 task that was cancelled or released and still runs \(holder-a\) and "
        r"1 task \(holder-b\)\. A thread cannot be stopped: client\.restart_workers"
        r'\(\["worker-\d+"\]\) ends what it runs\.',
    )
    never = tasks.use("never", resources={"GPU": 2})
    said(
        never.result,
        r"never-\w+ waits for a worker\. No worker that takes tasks has GPU=2, as never-\w+ needs "
        r"it\. In a terminal, `spanwise worker unix:\S+ --resources GPU=2` starts one\.$",
    )
    user = tasks.use("user", never)
    said(
        user.result, r"user-\w+ waits for never-\w+, which waits for a worker\. No worker .* GPU=2,"
    )
    never.cancel()


def test_workers_that_are_named_and_not_there(tasks: Tasks) -> None:
    with pytest.warns(RuntimeWarning, match="There is no worker 'gpu-box'"):
        future = tasks.use("bound", workers=["gpu-box"])
    said(
        future.result,
        r"bound-\w+ waits for a worker\. No worker that takes tasks is named by "
        r"workers=\['gpu-box'\], as bound-\w+ needs it\. In a terminal, `spanwise worker unix:\S+ "
        r"--name gpu-box` starts one\.$",
    )
    future.cancel()


def test_a_cluster_without_workers() -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        client.cluster.scale(0)
        wait_until("it has gone", lambda: not client._session.workers)
        future = client.submit(abs, -1, key="alone-1")
        said(
            future.result,
            r"alone-1 waits for a worker\. The cluster has no worker that takes tasks: "
            r"client\.scale\(1\), or more, starts some\.$",
        )


def test_a_worker_that_is_short_of_memory() -> None:
    with (
        # (modules that other tests have imported here would fill the worker first)
        dask.config.set({"spanwise.worker.import-ahead": False}),
        Client(n_workers=1, threads_per_worker=1, memory_limit="240MiB") as client,
    ):
        client.run(keep, PAUSING)
        wait_until(
            "the pause",
            lambda: [row["state"] for row in client._session.workers.values()] == ["paused"],
        )
        future = client.submit(abs, -1, key="later-1")
        said(
            future.result,
            r"later-1 waits for a worker that begins tasks\. worker-0 begins no task, for it is "
            r"short of memory: \d+ MiB of 240 MiB are in use \(.*\)\.$",
        )
        client.run(let_go)
        assert future.result(LIMIT_SECONDS) == 1


def test_a_worker_that_is_stopped(tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        tasks = Tasks(client, tmp_path)
        future = tasks.stay("slow")
        tasks.begun("slow")
        (row,) = client.scheduler_info()["workers"].values()
        os.kill(row["pid"], signal.SIGSTOP)
        try:
            said(
                future.result,
                r"\. worker-0 is stopped \(SIGSTOP or a debugger\): continue it, or "
                r'client\.restart_workers\(\["worker-0"\]\) replaces it\.$',
            )
        finally:
            os.kill(row["pid"], signal.SIGCONT)
        tasks.let_go()
        assert future.result(LIMIT_SECONDS) == 1


def test_a_scheduler_that_does_not_answer_holds_no_error_up(tmp_path: Path) -> None:
    before = {process.pid for process in processes_of("scheduler")}
    with Client(n_workers=1, threads_per_worker=1) as client:
        (scheduler,) = processes_of("scheduler", before)
        tasks = Tasks(client, tmp_path)
        future = tasks.stay("slow")
        tasks.begun("slow")
        os.kill(scheduler.pid, signal.SIGSTOP)
        try:
            # (it has no answer to wait for: that comes when the scheduler goes on, below)
            with pytest.raises(TimeoutError, match=r"^1 task was not done after 0\.25 s$"):
                future.result(LEAST_SECONDS)
        finally:
            os.kill(scheduler.pid, signal.SIGCONT)
        tasks.let_go()
        assert future.result(LIMIT_SECONDS) == 1


def test_who_looks_over_and_over_whether_it_is_done_asks_nothing(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    future = tasks.stay("slow")
    asked: list[Any] = []
    session = tasks.client._session
    ask = session.late._send
    monkeypatch.setattr(session.late, "_send", lambda each: (asked.append(each), ask(each)))
    for _ in range(20):
        with pytest.raises(TimeoutError, match=r"^1 task was not done after 0\.001 s$"):
            future.result(0.001)
    assert asked == []
    with pytest.raises(TimeoutError):
        future.result(LEAST_SECONDS)
    assert len(asked) == 1
    # Nor does who gets the result.
    tasks.let_go()
    assert future.result(LIMIT_SECONDS) == 1
    assert len(asked) == 1
    assert not session._answers


@pytest.mark.asyncio
async def test_coroutines_are_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # (the answer to those that ask at once may take longer than users are kept waiting)
    monkeypatch.setattr(late, "ANSWER_SECONDS", LIMIT_SECONDS)
    async with (
        LocalCluster(n_workers=1, threads_per_worker=1, asynchronous=True) as cluster,
        Client(cluster, asynchronous=True) as client,
    ):
        Tasks(client, tmp_path)
        future = client.submit(stays, str(tmp_path), "slow", key="slow-1")
        end = time.monotonic() + LIMIT_SECONDS
        while not (tmp_path / "began-slow").exists():
            assert time.monotonic() < end
            await asyncio.sleep(0.01)

        async def next_of() -> Any:
            async for each in as_completed([future], timeout=1):
                return each

        calls: list[Callable[[], Any]] = [
            lambda: future.result(timeout=1),
            lambda: future.exception(timeout=1),
            lambda: wait([future], timeout=1),
            next_of,
        ]
        for call in calls:
            # The loop goes on meanwhile: all ask at the same time, and each is answered.
            answers = await asyncio.gather(*(call() for _ in range(20)), return_exceptions=True)
            assert all(isinstance(each, TimeoutError) for each in answers)
            said = [str(each) for each in answers]
            assert all(re.search(r"slow-1 has run for|slow-1 was given to", each) for each in said)
        (tmp_path / "go").touch()
        assert await future.result(timeout=LIMIT_SECONDS) == 1


def test_a_task_that_waits_for_its_own_tasks_is_told(tasks: Tasks) -> None:
    def waits(folder: str, patience: float) -> str:
        from spanwise.client import late

        client = get_client()
        inner = client.submit(stays, folder, "inner", key="inner-1")
        usual, late.ANSWER_SECONDS = late.ANSWER_SECONDS, patience
        try:
            inner.result(timeout=1)
        except TimeoutError as error:
            return str(error)
        finally:
            late.ANSWER_SECONDS = usual
        return ""

    answer = tasks.client.submit(waits, str(tasks.folder), LIMIT_SECONDS, pure=False).result(
        LIMIT_SECONDS
    )
    assert re.search(r"1 task was not done after 1 s\. inner-1 (has run|was given)", answer)


def said_in_panels(client: Client, reason: str, told: Any) -> None:
    """Panels have the warning too, of the tasks that wait for this reason."""
    (warning,) = [str(each.message) for each in told if "10 s" in str(each.message)]
    wait_until("panels say the same", lambda: notices(client) == {reason: warning})


def test_threads_that_only_cancelled_tasks_hold_are_told_of_without_a_limit(tasks: Tasks) -> None:
    former = [tasks.stay(f"former-{i}") for i in "ab"]
    tasks.begun("former-a", "former-b")
    for each in former:
        each.cancel()
    waiting = tasks.use("waiting")
    with pytest.warns(
        RuntimeWarning,
        match=r"^1 task waits for a thread, and for 10 s none has come free\. All 2 threads of the "
        r"cluster are held by 2 tasks that were cancelled or released and still run \(.*\)\. .*"
        r"restart_workers",
    ) as told:
        wait_until("a warning", lambda: any("10 s" in str(each.message) for each in told))
    said_in_panels(tasks.client, "thread", told)
    tasks.let_go()
    assert waiting.result(LIMIT_SECONDS) == 1
    wait_until("panels say no more of it", lambda: waiting_in_panels(tasks.client) == {})


def test_what_was_told_before_a_wait_is_told_in_it_while_it_is_so(tasks: Tasks) -> None:
    former = [tasks.stay(f"former-{i}") for i in "ab"]
    tasks.begun("former-a", "former-b")
    for each in former:
        each.cancel()
    waiting = [tasks.use(f"waiting-{i}") for i in "ab"]
    told_once = pytest.warns(RuntimeWarning, match="waits? for a thread, and for 10 s none has")
    # As while no cell runs: in the thread that reads, and of the last cell.
    with told_once as told:
        wait_until("a warning", lambda: any("10 s" in str(each.message) for each in told))

    def as_completed_gives() -> None:
        for each in as_completed(waiting):
            each.result()

    waits: list[Callable[[], Any]] = [
        lambda: waiting[0].result(),
        lambda: waiting[0].exception(),
        lambda: wait(waiting),
        lambda: wait(waiting, return_when="FIRST_COMPLETED"),
        lambda: tasks.client.gather(waiting, asynchronous=False),
        as_completed_gives,
        lambda: waiting[1].result(timeout=LIMIT_SECONDS),
    ]
    with warnings.catch_warnings(record=True) as repeated:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=each) for each in waits]
        for thread in threads:
            thread.start()
        # All at the same time, for each takes some seconds.
        wait_until("each wait is told", lambda: len(repeated) >= len(waits))
        tasks.let_go()
        for thread in threads:
            thread.join(LIMIT_SECONDS)
            assert not thread.is_alive()
    sentences = [str(each.message) for each in repeated]
    assert len(sentences) == len(waits), sentences
    assert all(
        each.startswith("2 tasks wait for a thread") and "restart_workers" in each
        for each in sentences
    )
    # At the line of the user's that waits, and not at one of ours.
    assert {each.filename for each in repeated} == {__file__}


def test_a_wait_that_only_lasts_is_told_nothing(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "REMIND_SECONDS", LEAST_SECONDS)
    slow = tasks.stay("slow")
    asked: list[Any] = []
    session_late = tasks.client._session.late
    taken = session_late.taken
    monkeypatch.setattr(
        session_late, "taken", lambda *args: [found := taken(*args), asked.append(found)][0]
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        thread = threading.Thread(target=slow.result)
        thread.start()
        wait_until("the scheduler has answered", lambda: asked)
        tasks.let_go()
        thread.join(LIMIT_SECONDS)
    assert not thread.is_alive() and told == []


def test_a_scheduler_that_does_not_answer_holds_no_long_wait_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "REMIND_SECONDS", LEAST_SECONDS)
    # (else it would not be seen who waits for the answer)
    monkeypatch.setattr(late, "ANSWER_SECONDS", 10 * LIMIT_SECONDS)
    before = {process.pid for process in processes_of("scheduler")}
    with Client(n_workers=1, threads_per_worker=1) as client:
        (scheduler,) = processes_of("scheduler", before)
        tasks = Tasks(client, tmp_path)
        future = tasks.stay("slow")
        tasks.begun("slow")
        session = client._session
        asked: list[Any] = []
        ask = session.late._send
        monkeypatch.setattr(session.late, "_send", lambda each: (asked.append(each), ask(each)))
        entries = [future._entry]
        came: list[bool] = []

        async def in_loop() -> None:
            woken = asyncio.Event()
            coming = asyncio.create_task(session.sleep_in_loop(woken, lambda: entries))
            while len(asked) < 3:
                await asyncio.sleep(0.01)
            woken.set()
            await coming
            came.append(True)

        waiter = Waiter(1)

        def woken() -> None:
            came.append(session.sleep(waiter, None, lambda: entries))

        def at_the_limit() -> None:
            came.append(session.sleep(Waiter(1), LEAST_SECONDS + 0.1, lambda: entries))

        def run(call: Callable[[], object]) -> threading.Thread:
            thread = threading.Thread(target=call, daemon=True)
            thread.start()
            return thread

        os.kill(scheduler.pid, signal.SIGSTOP)
        try:
            threads = [run(woken)]
            wait_until("the question", lambda: len(asked) == 1)
            with session.lock:
                waiter.one_done()
            threads.append(run(at_the_limit))
            wait_until("the second question", lambda: len(asked) == 2)
            threads.append(run(lambda: asyncio.run(in_loop())))
            for thread, is_in_time in zip(threads, (True, False, True), strict=True):
                thread.join(LIMIT_SECONDS)
                assert not thread.is_alive()
                assert came.pop(0) is is_in_time
        finally:
            os.kill(scheduler.pid, signal.SIGCONT)
        tasks.let_go()
        assert future.result(LIMIT_SECONDS) == 1


def test_resources_that_only_cancelled_tasks_hold_are_told_of_without_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reminded: list[float] = []
    remind = Late._remind

    def remind_and_count(self: Late, standing: str, began: float) -> None:
        remind(self, standing, began)
        reminded.append(began)

    monkeypatch.setattr(Late, "_remind", remind_and_count)
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, resources={"GPU": 1}) as cluster,
        Client(cluster) as client,
    ):
        tasks = Tasks(client, tmp_path)
        former = tasks.stay("former", resources={"GPU": 1})
        tasks.begun("former")
        former.cancel()
        waiting = tasks.use("waiting", resources={"GPU": 1})
        with pytest.warns(
            RuntimeWarning,
            match=r"^1 task waits for GPU, and for 10 s too little has come free\. GPU is held by "
            r"1 task that was cancelled or released and still runs \(former\)\. .*restart_workers",
        ) as told:
            wait_until("a warning", lambda: any("10 s" in str(each.message) for each in told))
        said_in_panels(client, "resource", told)

        async def results() -> Any:
            async with Client(cluster, asynchronous=True) as other:
                # One that came later, and was told nothing.
                also = other.submit(no_time, key="also", resources={"GPU": 1})
                free = other.submit(stays, str(tmp_path), "free")
                with pytest.warns(RuntimeWarning, match="^2 tasks wait for GPU") as told:
                    calls = [asyncio.create_task(each) for each in (also.result(), free.result())]
                    while len(reminded) < len(calls):
                        await asyncio.sleep(0.01)
                    tasks.let_go()
                    assert await asyncio.gather(*calls) == [1, 1]
                return told.list

        # (whoever waits for what needs no GPU is told nothing of it)
        assert len(asyncio.run(results())) == 1
        assert waiting.result(LIMIT_SECONDS) == 1
