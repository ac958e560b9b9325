"""Real worker processes against a fake scheduler: results, errors, peers, ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from itertools import groupby, pairwise
from operator import add
from pathlib import Path

import pytest

from spanwise.graph.template import Part
from spanwise.records.enumerations import (
    KIND_COMPUTE,
    KIND_DISK_WRITE,
    KIND_SERIALIZE,
    KIND_TRANSFER,
    RUN_FAILED,
    RUN_MISSING,
    RUN_OK,
)
from spanwise.tests.fake_scheduler import LIMIT, FakeScheduler, task
from spanwise.tests.processes import wait_until
from spanwise.wire import payload
from spanwise.worker.__main__ import OUT_OF_MEMORY


def inc(x):
    return x + 1


class SlowToOpen:
    """A function that unpickles when it is told to, as one whose module takes long to import."""

    def __init__(self, opening, go):
        self.files = opening, go

    def __reduce__(self):
        return opened_later, self.files


def opened_later(opening, go):
    opening.touch()
    wait_until("it may go on", go.exists)
    return lambda value: value


@pytest.fixture(scope="module", params=["unix", "tcp"])
def scheduler(request, tmp_path_factory):
    with FakeScheduler(tmp_path_factory.mktemp("s"), request.param) as scheduler:
        yield scheduler


@pytest.fixture(scope="module")
def shared(scheduler):
    """One worker with two threads for tests that leave it as they found it."""
    return scheduler.start_worker(threads=2)


@pytest.fixture
def own(tmp_path):
    """A scheduler of the test's own, for tests that end workers."""
    with FakeScheduler(tmp_path) as scheduler:
        yield scheduler


class Ids:
    """Task ids that no other test of the module uses."""

    def __init__(self):
        self.next = 0

    def __call__(self, count=1):
        first = self.next
        self.next += count
        return list(range(first, first + count))


ids = Ids()


class Lazy:
    """As Dask's collections, whose `__await__` needs distributed."""

    def __dask_graph__(self):
        return {}

    def __await__(self):
        raise ModuleNotFoundError("Using async/await with dask requires the `distributed` package")


class TestResults:
    def test_chain_made_here(self, shared):
        a, b, c = ids(3)
        shared.assign([task(a, add, (1, 2)), task(b, inc, (), [a]), task(c, add, (), [a, b])])
        assert [shared.value(each) for each in (a, b, c)] == [3, 4, 7]

    def test_many_at_once(self, shared):
        tasks = ids(5000)
        before = len(shared.runs)
        shared.assign([task(each, inc, (i,)) for i, each in enumerate(tasks)])
        # The last one may end before others: there are two threads.
        shared.wait(lambda: len(shared.runs) == before + len(tasks))
        values = shared.get(tasks)
        assert [values[each] for each in tasks] == list(range(1, 5001))

    def test_wide_sum(self, shared):
        tasks = ids(2000)
        (total,) = ids()
        shared.assign(
            [task(each, inc, (i,), wanted=False) for i, each in enumerate(tasks)]
            + [task(total, lambda *values: sum(values), (), tasks)]
        )
        assert shared.value(total) == sum(range(1, 2001))

    def test_large_results_are_not_inline(self, shared):
        (a,) = ids()
        shared.assign([task(a, bytes, (100_000,))])
        run = shared.task_run(a)
        assert run.inline is None and run.nbytes == sys.getsizeof(bytes(100_000))
        assert shared.value(a) == bytes(100_000)

    def test_fused_parts_run_in_order_and_drop_what_they_no_longer_need(self, shared):
        a, b = ids(2)
        parts = (
            Part(add, (0, -1), name="add", span=5),
            Part(inc, (1,), name="inc", span=6, drops=(0, 1)),
            Part(lambda x: (x, "end"), (2,), name="end", span=5),
        )
        shared.assign([task(a, abs, (-3,)), task(b, None, (10,), [a], parts=parts)])
        assert shared.value(b) == (14, "end")
        rows = [part for part in shared.task_run(b).parts if part.kind == KIND_COMPUTE]
        assert [(shared.names[part.function], part.span) for part in rows] == [
            ("add", 5),
            ("inc", 6),
            ("end", 5),
        ]

    def test_awaitables_are_awaited(self, shared):
        async def later(x):
            import asyncio

            await asyncio.sleep(0.001)
            return x * 2

        (a,) = ids()
        shared.assign([task(a, later, (21,))])
        assert shared.value(a) == 42

    def test_a_collection_is_a_result_itself(self, shared):
        (a,) = ids()
        shared.assign([task(a, Lazy, ())])
        assert type(shared.value(a)) is Lazy

    def test_release_forgets(self, shared):
        a, b = ids(2)
        shared.assign([task(a, inc, (1,)), task(b, inc, (2,))])
        shared.value(b)
        shared.send("release", None, {"ids": [(a, 1)]})
        shared.flush()
        values = shared.get([a, b])
        assert isinstance(values[a], KeyError) and values[b] == 3

    @pytest.mark.parametrize(("literals", "inputs"), [(("given",), []), ((), [1])])
    def test_a_task_that_is_cancelled_while_it_is_opened_runs_to_its_end(
        self, own, tmp_path, literals, inputs
    ):
        """Its client lets go of the function, the arguments and the inputs: its thread was held."""
        worker = own.start_worker()
        opening, go = tmp_path / "opening", tmp_path / "go"
        if inputs:
            worker.assign([task(1, str, ("given",))])
            worker.value(1)
        worker.assign([task(0, SlowToOpen(opening, go), literals, inputs)])
        wait_until("it is being opened", opening.exists)
        worker.send("release", None, {"ids": [(0, 1), (1, 1)]})
        worker.send("dropBlobs", worker.blobs)
        # Answered after those two.
        worker.flush()
        go.touch()
        run = worker.task_run(0)
        assert run.error is None and run.status == RUN_OK
        assert payload.loads(run.inline) == "given"

    def test_priority_is_obeyed(self, own):
        worker, go = own.start_worker(), own.folder / "go"
        order = [3, 1, 4, 2, 0]
        begun = worker.assign([task(9, _hold, (go,), priority=-1.0)])
        worker.assign([task(10 + each, inc, (each,), priority=float(each)) for each in order])
        worker.flush()  # answered after those
        go.touch()
        worker.run_of(begun[9])
        for each in order:
            worker.task_run(10 + each)
        assert [run.taskId for run in worker.runs] == [9, 10, 11, 12, 13, 14]

    def test_a_short_task_behind_which_a_long_one_runs_is_reported_at_once(self, own):
        worker = own.start_worker()
        worker.assign([task(0, inc, (1,)), task(1, inc, (1,))])
        worker.task_run(1)
        # Known to be quick, so that its row could wait for more; then ten minutes of nothing.
        worker.assign([task(2, inc, (1,)), task(3, time.sleep, (600,))])
        worker.wait(lambda: any(run.taskId == 2 for run in worker.runs))

    def test_taking_back(self, own):
        worker, go = own.start_worker(), own.folder / "go"
        runs = worker.assign([task(0, _hold, (go,)), task(1, inc, (1,)), task(2, inc, (1,))])
        wait_until("it runs", lambda: worker.call(_row_of_first_executor) == 0)
        worker.send("takeBack", None, {"tasks": [(0, runs[0]), (1, runs[1]), (2, 999)]})
        worker.wait(lambda: any(m.type == "takenBack" for m in worker.messages))
        go.touch()
        answer = next(m for m in worker.messages if m.type == "takenBack")
        assert [(row[0], row[2]) for row in answer.table("tasks")] == [(0, 0), (1, 1), (2, 0)]
        worker.task_run(2)
        assert {run.taskId for run in worker.runs} == {0, 2}

    def test_what_waits_for_what_was_taken_back_is_said_after_the_answer(self, own):
        """With that the scheduler has recalled it: it is no run that lacked an input."""
        worker, go = own.start_worker(), own.folder / "go"
        runs = worker.assign([task(0, _hold, (go,)), task(1, inc, (1,)), task(2, inc, (), [1])])
        wait_until("it runs", lambda: worker.call(_row_of_first_executor) == 0)
        worker.send("takeBack", None, {"tasks": [(1, runs[1])]})
        worker.wait(lambda: any(m.type == "takenBack" for m in worker.messages))
        go.touch()
        assert worker.task_run(2).status == RUN_MISSING
        (answer,) = (m for m in worker.messages if m.type == "takenBack")
        (lacking,) = (
            m
            for m in worker.messages
            if m.type == "finished" and any(row[0] == 1 for row in m.table("missing"))
        )
        assert worker.messages.index(answer) < worker.messages.index(lacking)


def _row_of_first_executor(dask_worker):
    row = dask_worker._worker.executors[0].row
    return None if row is None else row[0]


class TestErrors:
    def test_error_with_the_users_traceback(self, shared):
        def fails():
            raise ValueError("no good")

        a, b, c = ids(3)
        shared.assign([task(a, fails), task(b, inc, (), [a]), task(c, inc, (), [b])])
        error = shared.task_run(a).error
        assert (error["type"], error["message"]) == ("ValueError", "no good")
        assert isinstance(error["exception"], ValueError)
        assert "in fails" in error["text"] and "executor.py" not in error["text"]
        # What depends on it ends too, and says what it lacked.
        assert shared.task_run(b).status == RUN_MISSING and shared.task_run(c).status == RUN_MISSING
        assert (a, shared.number) in shared.missing

    def test_exit_does_not_end_the_worker(self, shared):
        a, b, c = ids(3)

        def interrupt():
            raise KeyboardInterrupt

        shared.assign([task(a, sys.exit, (3,)), task(b, interrupt), task(c, inc, (1,))])
        assert shared.task_run(a).error["type"] == "SystemExit"
        # Raising SystemExit at the client would end the user's program.
        assert isinstance(shared.task_run(a).error["exception"], Exception)
        assert shared.task_run(b).error["type"] == "KeyboardInterrupt"
        assert shared.value(c) == 2

    def test_exceptions_that_cannot_travel_have_a_stand_in(self, shared):
        class Odd(Exception):
            def __init__(self, first, second):
                super().__init__(f"{first} and {second}")
                self.lock = threading.Lock()

        def fails():
            raise Odd(1, 2)

        (a,) = ids()
        shared.assign([task(a, fails)])
        error = shared.task_run(a).error
        assert error["type"] == "Odd" and "1 and 2" in str(error["exception"])

    def test_a_result_that_cannot_be_pickled_is_an_error_where_it_is_asked_for(self, shared):
        a, b = ids(2)
        shared.assign([task(a, threading.Lock), task(b, lambda lock: lock.locked(), (), [a])])
        assert shared.value(b) is False
        assert shared.task_run(a).status == RUN_OK
        with pytest.raises(Exception, match="cannot be pickled"):
            shared.get([a])

    def test_a_template_that_cannot_be_opened_is_an_error_with_a_sentence(self, shared):
        class Breaks:
            def __reduce__(self):
                return _not_on_workers, ()

            def __call__(self):
                return 1

        a, b = ids(2)
        shared.assign([task(a, Breaks()), task(b, inc, (1,))])
        error = shared.task_run(a).error
        assert "could not be unpickled on the worker" in error["message"]
        assert "RuntimeError: not here" in error["message"]
        assert shared.value(b) == 2

    def test_run_and_its_errors(self, shared):
        assert shared.call(add, 1, 2) == 3
        with pytest.raises(ZeroDivisionError):
            shared.call(lambda: 1 / 0)
        assert shared.call(lambda dask_worker: dask_worker.id) == shared.number


def _not_on_workers():
    raise RuntimeError("not here")


class TestPeers:
    def test_inputs_come_from_the_peer(self, scheduler):
        one, two = scheduler.start_worker(), scheduler.start_worker()
        made = ids(300)
        (total,) = ids()
        one.assign([task(each, inc, (i,), wanted=False) for i, each in enumerate(made)])
        one.task_run(made[-1])
        two.assign(
            [task(total, lambda *values: sum(values), (), made)],
            holders=dict.fromkeys(made, one.number),
        )
        assert two.value(total) == sum(range(1, 301))
        two.wait(lambda: len(two.replicas) == 300)
        assert sorted(two.replicas) == [(each, 28.0) for each in made]
        run = two.task_run(total)
        transfers = [part for part in run.parts if part.kind == KIND_TRANSFER]
        assert transfers and {part.from_ for part in transfers} == {one.number}
        # Nothing else was to be done: the thread waited for it.
        assert any(part.held for part in transfers)
        held = sum(part.duration for part in run.parts if part.held)
        assert held <= run.duration + 1e-9
        two.flush()
        assert sum(row[4] for row in two.measured["transfers"]) == 300

        def has_told() -> bool:
            # (what an answer took is noted after it has left)
            one.flush()
            fine = [(one.names[r[1]], one.names[r[4]]) for r in one.measured["fine"]]
            return ("get-data", "serialize") in fine

        one.wait(has_told)

    def test_transfers_are_told_as_they_were(self, own):
        """All columns, of two peers that send unlike amounts, against what is known here."""
        sizes = {0: [3_000_000, 700_000], 1: [20_000_000]}
        peers = [own.start_worker() for _ in sizes]
        user = own.start_worker()
        held, nbytes, holders = ids(3), {}, {}
        for number, each in zip((0, 0, 1), held, strict=True):
            size = sizes[number].pop(0)
            peers[number].assign([task(each, bytes, (size,), wanted=False)])
            peers[number].task_run(each)
            nbytes[each] = payload.nbytes(payload.dumps(bytes(size)))
            holders[each] = peers[number].number
        (opens, uses) = ids(2)
        user.assign([task(opens, _begun)])
        user.task_run(opens)
        assigned = time.perf_counter()
        user.assign([task(uses, _begun, (), held, span=5)], holders=holders)
        begun = user.value(uses)
        run = user.task_run(uses)
        user.flush()
        rows = user.measured["transfers"]
        for peer in {*holders.values()}:
            from_here = [row for row in rows if row[2] == peer]
            mine = [each for each in held if holders[each] == peer]
            assert sum(row[3] for row in from_here) == sum(nbytes[each] for each in mine)
            assert sum(row[4] for row in from_here) == len(mine)
            assert {row[5] for row in from_here} <= {*mine}
        # Nothing was on its way before it was asked for, or after the task had begun.
        assert all(assigned <= row[0] and row[1] > 0 for row in rows)
        assert all(row[0] + row[1] <= begun for row in rows)
        transfers = [part for part in run.parts if part.kind == 1]
        assert sum(part.bytes for part in transfers) == sum(user_bytes(user, held))
        assert {part.from_ for part in transfers} == {*holders.values()}
        first, last = min(row[0] for row in rows), max(row[0] + row[1] for row in rows)
        for part in transfers:
            start = run.start + part.offset
            assert first - 1e-6 <= start and start + part.duration <= last + 1e-6

    def test_large_results_both_ways_at_once(self, scheduler):
        workers = [scheduler.start_worker(), scheduler.start_worker()]
        made = [ids(4), ids(4)]
        for worker, tasks in zip(workers, made, strict=True):
            worker.assign([task(each, bytes, (20_000_000,), wanted=False) for each in tasks])
            worker.task_run(tasks[-1])
        wanted = ids(2)
        for i, worker in enumerate(workers):
            other = workers[1 - i].number
            worker.assign(
                [task(wanted[i], lambda *values: sum(map(len, values)), (), made[1 - i])],
                holders=dict.fromkeys(made[1 - i], other),
            )
        assert [w.value(t) for w, t in zip(workers, wanted, strict=True)] == [80_000_000] * 2

    def test_behind_running_work_the_transfer_is_not_held(self, own):
        one, two = own.start_worker(), own.start_worker()
        one.assign([task(0, bytes, (1_000_000,), wanted=False)])
        one.task_run(0)
        go = own.folder / "go"
        two.assign(
            [task(1, _hold, (go,), priority=0.0), task(2, len, (), [0], priority=1.0)],
            holders={0: one.number},
        )
        two.wait(lambda: any(each == 0 for each, _ in two.replicas))
        go.touch()
        assert two.value(2) == 1_000_000
        transfers = [part for part in two.task_run(2).parts if part.kind == KIND_TRANSFER]
        assert transfers and all(part.held == 0 and part.offset < 0 for part in transfers)

    def test_missing_inputs_are_reported(self, own):
        one, two = own.start_worker(), own.start_worker()
        two.assign([task(1, inc, (), [77])], holders={77: one.number})
        assert two.task_run(1).status == RUN_MISSING
        assert two.missing == [(77, one.number)]

    def test_an_unpicklable_input_fails_its_user_with_the_reason(self, own):
        one, two = own.start_worker(), own.start_worker()
        one.assign([task(0, threading.Lock)])
        one.task_run(0)
        two.assign([task(1, id, (), [0])], holders={0: one.number})
        run = two.task_run(1)
        assert run.status == RUN_FAILED and "cannot be pickled" in run.error["message"]

    def test_a_killed_peer_is_a_missing_input(self, own):
        one, two = own.start_worker(), own.start_worker()
        one.assign([task(0, inc, (1,))])
        one.task_run(0)
        os.kill(one.process.pid, signal.SIGKILL)
        one.process.wait(LIMIT)
        two.assign([task(1, inc, (), [0])], holders={0: one.number})
        assert two.task_run(1).status == RUN_MISSING
        two.assign([task(2, inc, (1,))])
        assert two.value(2) == 2

    def test_data_put_by_a_client_is_adopted(self, own):
        worker = own.start_worker()
        link = worker.peer()
        link.send("put", {"request": 1}, {"items": [(5,)]}, [payload.dumps([1, 2, 3])])
        assert link.read().type == "stored"
        worker.send("adopt", None, {"items": [(5, 0, 40, 88.0)]})
        worker.assign([task(41, sum, (), [40])])
        assert worker.value(41) == 6
        link.close()

    @pytest.mark.parametrize("seed", range(3))
    def test_random_graphs_over_two_workers(self, own, seed):
        """Layers of tasks, each with inputs of any earlier layer on any worker."""
        rng = random.Random(seed)
        workers = [own.start_worker(threads=2), own.start_worker(threads=1)]
        holders: dict[int, int] = {}
        expected: dict[int, int] = {}
        for _ in range(8):
            layers: list[list] = [[], []]
            for _ in range(40):
                task_id = len(expected)
                pool = sorted(holders)
                inputs = rng.sample(pool, min(len(pool), rng.randint(0, 6)))
                which = rng.randrange(2)
                # An input made by an earlier task of the same assignment, too.
                mine = [each.task_id for each in layers[which]]
                inputs += rng.sample(mine, min(len(mine), rng.randint(0, 2)))
                expected[task_id] = 1 + sum(expected[each] for each in inputs) % 1000
                layers[which].append(task(task_id, _one_more, (), inputs, wanted=False))
            for which, layer in enumerate(layers):
                workers[which].assign(layer, holders=holders)
            for which, layer in enumerate(layers):
                for each in layer:
                    assert workers[which].task_run(each.task_id).status == RUN_OK
                    holders[each.task_id] = which
        for worker in workers:
            mine = [task_id for task_id, which in holders.items() if which == worker.number]
            assert worker.get(mine) == {each: expected[each] for each in mine}


def _hold(go):
    """Keep the thread until the file is there."""
    while not go.exists():
        time.sleep(0.001)


def _one_more(*values):
    return 1 + sum(values) % 1000


def test_a_worker_starts_without_dask():
    # It takes 100 ms, and reads the settings that the worker makes for it.
    program = (
        "import sys, spanwise.worker.__main__; print(sorted({'dask', 'numpy'} & {*sys.modules}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.strip() == "[]"


class TestSurroundings:
    def test_a_module_beside_the_notebook_imports(self, own, tmp_path):
        beside = tmp_path / "notebooks"
        beside.mkdir()
        (beside / "beside_the_notebook.py").write_text("def answer():\n    return 42\n")

        def use():
            import beside_the_notebook

            return beside_the_notebook.answer(), str(Path.cwd())

        worker = own.start_worker()
        worker.assign([task(0, use)])
        assert worker.task_run(0).error["type"] == "ModuleNotFoundError"
        worker.assign([task(1, use)], launch={"path": ["", *sys.path], "cwd": str(beside)})
        assert worker.value(1) == (42, str(beside))

    def test_a_nested_compute_stays_in_the_tasks_thread(self, shared):
        def nested():
            import dask

            idents = dask.compute(*[dask.delayed(threading.get_ident)() for _ in range(3)])
            return set(idents) == {threading.get_ident()}

        (a,) = ids()
        shared.assign([task(a, nested)])
        assert shared.value(a) is True

    def test_tasks_see_an_empty_stdin(self, shared):
        (a,) = ids()
        shared.assign([task(a, lambda: os.read(0, 10))])
        assert shared.value(a) == b""

    def test_get_worker(self, shared):
        def who():
            from spanwise.worker import get_worker

            return get_worker().id

        (a,) = ids()
        shared.assign([task(a, who)])
        assert shared.value(a) == shared.number

    def test_two_threads_run_at_the_same_time(self, own):
        worker = own.start_worker(threads=2)

        def meet(name, folder):
            (folder / name).touch()
            other = folder / {"a": "b", "b": "a"}[name]
            end = time.monotonic() + 60
            while not other.exists():
                if time.monotonic() > end:
                    return "alone"
                time.sleep(0.001)
            return "met"

        folder = own.folder
        worker.assign([task(0, meet, ("a", folder)), task(1, meet, ("b", folder))])
        assert (worker.value(0), worker.value(1)) == ("met", "met")
        assert {worker.task_run(0).thread, worker.task_run(1).thread} == {0, 1}

    def test_memory_is_measured_less_often_without_work(self, own):
        """Until a task begins, or somebody asks for another rate."""
        worker = own.start_worker()

        def taken(since):
            return [row[0] for row in worker.measured.get("memory", ()) if row[0] > since]

        def pauses(since):
            return [after - before for before, after in pairwise(taken(since))]

        def rests(since):
            # One that comes late while the worker does not rest has the next one follow at once:
            # of four pauses, lateness lengthens two.
            return sum(each > 0.6 for each in pauses(since)[-4:]) >= 3

        begun = time.perf_counter()
        worker.wait(lambda: rests(begun))

        def is_measured_soon_again():
            # (on a busy machine all that follows one task may come late)
            (one,) = ids()
            asked = time.perf_counter()
            worker.assign([task(one, inc, (1,), wanted=False)])
            worker.task_run(one)
            worker.wait(lambda: taken(asked + 1.6))
            # While it rests two are due, the task and its result bring one each, and one was late.
            return len(taken(asked)) - len(taken(asked + 1.6)) >= 6

        wait_until("memory is measured soon again", is_measured_soon_again)
        asked = time.perf_counter()
        worker.wait(lambda: rests(asked))
        worker.send("rates", {"memorySeconds": 0.1})
        asked = time.perf_counter()
        worker.wait(lambda: sum(each < 0.4 for each in pauses(asked)) >= 20)


class TestEnds:
    def ended(self, worker):
        return worker.process.wait(LIMIT)

    def test_close(self, own):
        worker = own.start_worker()
        worker.assign([task(0, inc, (1,))])
        assert worker.value(0) == 2
        worker.send("close")
        assert self.ended(worker) == 0
        assert not list(own.folder.glob("worker-*"))

    def test_the_owners_end_of_the_lifeline(self, own):
        worker = own.start_worker()
        worker.assign([task(0, time.sleep, (60,))])
        worker.process.stdin.close()
        self.ended(worker)

    def test_a_task_that_keeps_the_interpreter_cannot_keep_the_worker(self, own):
        def keep(path):
            import ctypes

            path.touch()
            # PyDLL does not release the interpreter lock around the call.
            ctypes.PyDLL(None).sleep(120)

        worker = own.start_worker()
        mark = own.folder / "begun"
        worker.assign([task(0, keep, (mark,))])
        end = time.monotonic() + LIMIT
        while not mark.exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        worker.process.stdin.close()
        assert worker.process.wait(60) is not None

    def test_the_scheduler_is_gone(self, own):
        worker = own.start_worker()
        worker.link.close()
        self.ended(worker)

    def test_interrupts_are_for_the_client(self, own):
        worker = own.start_worker()
        os.kill(worker.process.pid, signal.SIGINT)
        worker.assign([task(0, inc, (1,))])
        assert worker.value(0) == 2

    def test_pauses_when_memory_is_short_and_goes_on(self, own):
        worker = own.start_worker(memory_limit=400 * 2**20)

        def hog(dask_worker):
            # Not a result, so that it cannot be spilled.
            dask_worker.hog = bytearray(340 * 2**20)

        worker.call(hog)
        worker.wait(lambda: [m.fields["paused"] for m in worker.messages if m.type == "state"])
        worker.assign([task(1, inc, (1,))])
        worker.flush()
        assert all(run.taskId != 1 for run in worker.runs)
        worker.call(lambda dask_worker: delattr(dask_worker, "hog"))
        assert worker.value(1) == 2

        def told():
            # (twice if it was seen paused long enough: a second look tells that nothing runs)
            states = [m.fields["paused"] for m in worker.messages if m.type == "state"]
            return [paused for paused, _ in groupby(states)]

        # (the task may be done before it is told)
        worker.wait(lambda: told() == [True, False])

    def test_ends_when_memory_is_over(self, own):
        worker = own.start_worker(memory_limit=150 * 2**20)
        worker.assign([task(0, lambda: [b"x" * (300 * 2**20), time.sleep(60)])])
        assert self.ended(worker) == OUT_OF_MEMORY
        worker.wait(lambda: worker.ended)  # what it has sent is read by another thread
        assert [m.fields["kind"] for m in worker.messages if m.type == "event"] == ["memory-limit"]


def _begun(*_inputs):
    return time.perf_counter()


def user_bytes(worker, task_ids):
    """Bytes in memory of the inputs that have come to a worker."""
    return [nbytes for each in task_ids for id_, nbytes in worker.replicas if id_ == each]


class TestSpilling:
    MIB = 2**20

    @staticmethod
    def on_disk(worker):
        return worker.call(lambda dask_worker: dask_worker._worker.spill.disk_bytes)

    def test_results_beyond_the_target_are_on_disk_and_come_back(self, own):
        """20 × 20 MiB within 500 MiB: at most 60 % of it in memory."""
        worker = own.start_worker(memory_limit=500 * self.MIB)
        count, size = 20, 20 * self.MIB
        worker.assign([task(i, _filled, (i, size), wanted=False) for i in range(count)])
        for i in range(count):
            worker.task_run(i)
        assert (
            worker.call(lambda dask_worker: dask_worker._worker.table.managed)
            <= 0.61 * 500 * self.MIB
        )
        files = own.folder / f"spill-{worker.number}"
        end = time.monotonic() + LIMIT
        while sum(file.stat().st_size for file in files.iterdir()) != self.on_disk(worker):
            assert time.monotonic() < end  # the watch thread may still be writing
        assert self.on_disk(worker) >= 4 * size
        # To a task, to a peer, and as it was.
        worker.assign([task(100 + i, _first_and_length, (), [i]) for i in range(count)])
        assert [worker.value(100 + i) for i in range(count)] == [(i, size) for i in range(count)]
        kinds = {part.kind for i in range(count) for part in worker.task_run(100 + i).parts}
        assert {2, 3} <= kinds
        assert [_first_and_length(worker.get([i])[i]) for i in range(0, count, 5)] == [
            (i, size) for i in range(0, count, 5)
        ]
        worker.wait(lambda: any(row[3] > 0 for row in worker.measured.get("memory", ())))
        worker.flush()
        fine = {
            (worker.names[r[1]], worker.names[r[4]], worker.names[r[5]])
            for r in worker.measured["fine"]
        }
        # Read for a peer: from the disk, as far as it lay there.
        assert {("get-data", "disk-read", unit) for unit in ("seconds", "bytes", "count")} <= fine
        # Written by the tasks' own thread: parts of their runs. Else outside tasks.
        parts = [part for i in range(count) for part in worker.task_run(i).parts]
        assert {KIND_SERIALIZE, KIND_DISK_WRITE} <= {part.kind for part in parts}
        outside = sum(
            row[6]
            for row in worker.measured["fine"]
            if [worker.names[row[i]] for i in (1, 4, 5)]
            == ["memory-monitor", "disk-write", "bytes"]
        )
        assert (
            outside + sum(each.bytes for each in parts if each.kind == KIND_DISK_WRITE) >= 4 * size
        )
        worker.send("release", None, {"ids": [(i, 1) for i in range(count)]})
        worker.flush()
        # (counted first, and then deleted)
        wait_until("all is deleted", lambda: not self.on_disk(worker) and not [*files.iterdir()])

    def test_what_cannot_be_written_stays(self, own):
        worker = own.start_worker(memory_limit=300 * self.MIB)
        worker.assign(
            [
                task(0, lambda: [bytes(190 * self.MIB), threading.Lock()], wanted=False),
                task(1, lambda kept: len(kept[0]), (), [0]),
            ]
        )
        assert worker.value(1) == 190 * self.MIB
        worker.assign([task(2, inc, (1,))])
        assert worker.value(2) == 2


def _filled(i, size):
    return bytearray([i]) * size


def _first_and_length(value):
    return value[0], len(value)
