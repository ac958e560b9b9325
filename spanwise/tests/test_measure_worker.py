"""What workers measure against the truth: stamps taken inside tasks, and /proc.

Bounds hold what the machine took meanwhile (``Disturbance``) where it may interfere: a task may
lose its core between its own stamp and the worker's. They are exact where arithmetic decides.
"""

from __future__ import annotations

import collections
import gc
import itertools
import math
import resource
import statistics
import sys
import threading
import time
from operator import add
from pathlib import Path

import pytest

from spanwise.client.imported import ALWAYS
from spanwise.graph.template import Part
from spanwise.measure.looks import LOOK_SECONDS
from spanwise.measure.sampler import INTERVAL
from spanwise.records.enumerations import (
    KIND_COMPUTE,
    KIND_DESERIALIZE,
    KIND_IMPORT,
    KIND_SERIALIZE,
    NONE_U32,
    SAMPLE_ON_CORE,
)
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.fake_scheduler import FakeScheduler, task
from spanwise.tests.looks import look_as_asked
from spanwise.tests.processes import wait_until
from spanwise.wire import payload
from spanwise.worker.executor import FLUSH_ROWS, FLUSH_SECONDS, QUICK_SECONDS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

#: What a worker that stands still may use of a core, where a line of Python takes 25 ns: 20 ms.
LINES_A_SECOND = 800_000
#: The same in looks of the simplest sampler, where one of them takes 100 us. (On virtual machines
#: it may be 600, of which a line of Python that runs again and again shows nothing.)
BARE_LOOKS_A_SECOND = 200
#: How often its threads may wake together: 25 looks, 10 looks for long tasks, 5 for memory, what
#: the thread of its messages does about these, and as much again.
MOST_WAKES_A_SECOND = 80
#: Reading the clocks, binding the task and storing its result, at worst, in seconds of CPU.
OVERHEAD = 0.005


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    with FakeScheduler(tmp_path_factory.mktemp("s")) as scheduler:
        yield scheduler


def import_sizes(dask_worker):
    """Wait for what it imports ahead: sizes of results are Dask's, and no run's to import."""
    import dask.sizeof  # noqa: F401


@pytest.fixture(scope="module")
def single(scheduler):
    worker = scheduler.start_worker(threads=1, modules=ALWAYS)
    worker.call(import_sizes)
    return worker


@pytest.fixture(scope="module")
def double(scheduler):
    worker = scheduler.start_worker(threads=2, modules=ALWAYS)
    worker.call(import_sizes)
    return worker


class Ids:
    def __init__(self):
        self.next = 0

    def __call__(self, count=1):
        first = self.next
        self.next += count
        return list(range(first, first + count))


ids = Ids()


def stamped(work, *args):
    """Run `work` between stamps of both clocks."""
    wall, cpu = time.perf_counter(), time.thread_time()
    work(*args)
    stop_cpu, stop = time.thread_time(), time.perf_counter()
    return wall, stop, stop_cpu - cpu, threading.get_native_id()


def burn(cpu_seconds):
    """Use the core for so long, whatever else runs."""
    end = time.thread_time() + cpu_seconds
    x = 0
    while time.thread_time() < end:
        x += 1
    return x


def process_cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def executor_cpu(dask_worker):
    """Seconds on core of each executor, as the kernel counts them."""
    found = []
    for executor in dask_worker._worker.executors:
        text = Path(f"/proc/self/task/{executor.native_id}/schedstat").read_text()
        found.append(int(text.split()[0]) * 1e-9)
    return found


def cpu_of_opening(run):
    """The first run of a function opens it, which imports this module: both have parts."""
    return sum(part.cpu for part in run.parts if part.kind in (KIND_DESERIALIZE, KIND_IMPORT))


def check_stamps(run, truth):
    start, stop, cpu, _ = truth
    assert run.start <= start and stop <= run.stop
    assert cpu <= run.cpu + 1e-6
    assert run.cpu - cpu_of_opening(run) - cpu <= OVERHEAD
    assert run.cpu <= run.duration + 1e-3
    held = [part for part in run.parts if part.held]
    assert sum(part.duration for part in held) <= run.duration * (1 + 1e-9)
    assert sum(part.cpu for part in held) <= run.cpu * (1 + 1e-9) + 1e-9
    for part in held:
        assert part.offset >= -1e-9 and part.offset + part.duration <= run.duration + 1e-9


class TestStamps:
    @pytest.mark.parametrize("work", [burn, time.sleep], ids=["cpu-bound", "sleeping"])
    def test_against_stamps_inside(self, single, work):
        tasks = ids(30)
        with Disturbance(single.process.pid) as disturbance:
            single.assign([task(each, stamped, (work, 0.01)) for each in tasks])
            truths = [single.value(each) for each in tasks]
            lost = disturbance.seconds
        runs = [single.task_run(each) for each in tasks]
        for run, truth in zip(runs, truths, strict=True):
            check_stamps(run, truth)
        gaps = [after.start - before.stop for before, after in itertools.pairwise(runs)]
        # Nothing lies between two runs but a message, and what the machine took. That is not much
        # in the best quarter; for the median to be so much longer, half of the gaps have lost it.
        assert min(gaps) >= 0
        assert sorted(gaps)[len(gaps) // 4] < 0.02
        assert statistics.median(gaps) < 0.02 + lost / (len(gaps) / 2)
        assert max(gaps) < 0.2 + lost
        if work is time.sleep:
            # 30 × 10 ms of sleep: at most 20 ms of CPU per second, measuring included.
            cpu = sum(run.cpu - cpu_of_opening(run) for run in runs)
            assert cpu <= 0.02 * sum(run.duration for run in runs) + 0.01

    def test_a_lock_bound_mix_on_two_threads(self, double):
        """Both threads compute in Python: each is on core for a part of its time only."""
        tasks = ids(20)
        double.assign([task(each, stamped, (burn, 0.03)) for each in tasks])
        truths = {each: double.value(each) for each in tasks}
        for each in tasks:
            check_stamps(double.task_run(each), truths[each])
        runs = [double.task_run(each) for each in tasks]
        assert {run.thread for run in runs} == {0, 1}
        assert len({truth[3] for truth in truths.values()}) == 2
        wall = max(run.stop for run in runs) - min(run.start for run in runs)
        # One interpreter lock: no more than one core, whatever the two threads say.
        assert sum(run.cpu for run in runs) <= wall * 1.1 + 0.05

    def test_stop_is_the_next_start(self, single):
        tasks = ids(400)
        said = len(single.messages)
        single.assign([task(each, abs, (i,), wanted=False) for i, each in enumerate(tasks)])
        runs = [single.task_run(each) for each in tasks]
        apart = sum(1 for a, b in itertools.pairwise(runs) if abs(b.start - a.stop) >= 1e-9)
        assert all(b.start >= a.stop - 1e-9 for a, b in itertools.pairwise(runs))
        # All but those before which a message left: with so many rows, after some milliseconds, or
        # after a run that is not quick, as on a machine that is busy.
        left = sum(message.type == "finished" for message in single.messages[said:])
        assert apart <= left
        slow = sum(run.duration >= QUICK_SECONDS for run in runs)
        whole = runs[-1].stop - runs[0].start
        assert left <= 2 + len(runs) / FLUSH_ROWS + whole / FLUSH_SECONDS + slow

    def test_cpu_of_runs_against_the_kernel(self, double):
        """Σ cpu of the runs is the executors' CPU time but for what lies between runs."""
        before = double.call(executor_cpu)
        tasks = ids(40)
        double.assign(
            [task(each, burn if i % 2 else time.sleep, (0.02,)) for i, each in enumerate(tasks)]
        )
        runs = [double.task_run(each) for each in tasks]
        after = double.call(executor_cpu)
        measured = sum(run.cpu for run in runs)
        true = sum(after) - sum(before)
        assert measured <= true + 1e-3
        assert true - measured <= 0.02 + 0.05 * true

    def test_cpu_of_a_short_run_is_not_that_of_the_one_before(self, single):
        """What ended before it computed, failed, slept or was of parts, and was reported later."""
        burnt, burn_parts = 0.02, (Part(burn, (-1,), name="one"), Part(time.sleep, (-2,)))
        before = [
            lambda each: task(each, burn, (burnt,), wanted=False),
            lambda each: task(each, _burn_and_fail, (burnt,), wanted=False),
            lambda each: task(each, None, (burnt, 0.001), parts=burn_parts, wanted=False),
            lambda each: task(each, stamped, (burn, burnt)),
        ]
        long, short, last = ids(4 * len(before)), ids(4 * len(before)), ids(4 * len(before))
        batch = []
        for i, each in enumerate(long):
            batch.append(before[i % len(before)](each))
            batch.append(task(short[i], abs, (i,), wanted=False))
            batch.append(task(last[i], stamped, (time.sleep, 0.001)))
        single.assign(batch)
        for each in (*long, *short, *last):
            run = single.task_run(each)
            assert run.cpu <= run.duration + 1e-3
            assert (run.cpu >= burnt) is (each in long)
            assert sum(part.cpu for part in run.parts if part.held) <= run.cpu + 1e-9
        assert max(single.task_run(each).cpu for each in (*short, *last)) <= OVERHEAD

    def test_waits(self, single):
        first, second, third = ids(3)
        single.assign(
            [
                task(first, time.sleep, (0.1,)),
                task(second, time.sleep, (0.1,)),
                task(third, lambda x: x, (), [second]),
            ]
        )
        runs = [single.task_run(each) for each in (first, second, third)]
        assert 0.09 < runs[1].waitThread < 60 and runs[1].waitInputs == 0
        # The third became runnable when the second ended, and was the next.
        assert runs[2].waitInputs == 0
        assert runs[2].waitThread == pytest.approx(runs[2].start - runs[1].stop, abs=1e-6)


class TestParts:
    def test_inner_parts_add_up(self, single):
        (fused,) = ids()
        parts = (
            Part(burn, (-1,), name="one", span=1),
            Part(time.sleep, (-2,), name="two", span=2),
            Part(burn, (-1,), name="one", span=3),
        )
        with Disturbance(single.process.pid) as disturbance:
            single.assign([task(fused, None, (0.02, 0.03), parts=parts)])
            run = single.task_run(fused)
            lost = disturbance.seconds
        inner = [part for part in run.parts if part.kind == KIND_COMPUTE]
        assert [(single.names[p.function], p.span) for p in inner] == [
            ("one", 1),
            ("two", 2),
            ("one", 3),
        ]
        assert inner[0].cpu >= 0.02 and inner[2].cpu >= 0.02
        assert inner[1].duration >= 0.03 and inner[1].cpu < OVERHEAD
        for a, b in itertools.pairwise(inner):
            assert b.offset == pytest.approx(a.offset + a.duration, abs=1e-9)
        held = sum(part.duration for part in run.parts if part.held)
        assert held <= run.duration and run.duration - held < 0.2 + lost

    def test_a_failing_inner_part_has_its_row(self, single):
        (fused,) = ids()
        parts = (
            Part(burn, (-1,), name="fine", span=1),
            Part(_burn_and_fail, (-1,), name="fails", span=2),
            Part(burn, (-1,), name="never", span=3),
        )
        single.assign([task(fused, None, (0.02,), parts=parts)])
        run = single.task_run(fused)
        inner = [part for part in run.parts if part.kind == KIND_COMPUTE]
        assert run.error["type"] == "ValueError"
        assert [(single.names[p.function], p.span) for p in inner] == [("fine", 1), ("fails", 2)]
        assert all(part.cpu >= 0.02 for part in inner)

    def test_opening_is_a_part_of_the_first_task_only(self, single):
        one, two = ids(2)

        class Slow:
            def __reduce__(self):
                return _slowly, (0.05,)

            def __call__(self):
                return 1

        slow = Slow()
        single.assign([task(one, slow), task(two, slow)])
        kinds = [[p.kind for p in single.task_run(each).parts] for each in (one, two)]
        assert kinds[0] == [3, 4]
        # Its compute part is only there if the machine made it long.
        assert kinds[1] in ([], [4])
        opening, compute = single.task_run(one).parts
        assert opening.duration >= 0.05 and opening.bytes > 0 and opening.offset == 0
        assert compute.offset == pytest.approx(opening.duration, abs=1e-9)

    def test_pickling_a_result_for_the_client_is_a_part(self, single):
        class SlowToPickle:
            def __reduce__(self):
                time.sleep(0.05)
                return int, (1,)

        (one,) = ids()
        single.assign([task(one, SlowToPickle)])
        run = single.task_run(one)
        pickling = [p for p in run.parts if p.kind == KIND_SERIALIZE]
        assert len(pickling) == 1 and pickling[0].duration >= 0.05
        (compute,) = (p for p in run.parts if p.kind == KIND_COMPUTE)
        # One after the other: it is in no other part.
        assert compute.offset + compute.duration <= pickling[0].offset + 1e-9

    def test_sizes(self, single):
        np = pytest.importorskip("numpy")
        tasks = ids(3)
        single.assign(
            [
                task(tasks[0], np.zeros, (1000,)),
                task(tasks[1], list, ()),
                task(tasks[2], str, (12,)),
            ]
        )
        sizes = [single.task_run(each).nbytes for each in tasks]
        assert sizes[0] == pytest.approx(8000, abs=200)
        assert sizes[2] == sys.getsizeof("12")


def _burn_and_fail(seconds):
    burn(seconds)
    raise ValueError


def _hold(go):
    while not go.exists():
        time.sleep(0.005)


def _slowly(seconds):
    time.sleep(seconds)
    return lambda: 1


class TestState:
    def test_a_long_task_is_told_of_while_it_runs(self, single, tmp_path):
        (long,) = ids()
        single.assign([task(long, _hold, (tmp_path / "go",), function_id=9, span=4)])
        single.wait(lambda: any(r[1] == long for r in single.measured.get("running", ())))
        row = next(r for r in single.measured["running"] if r[1] == long)
        assert not any(run.taskId == long for run in single.runs)
        (tmp_path / "go").touch()
        run = single.task_run(long)
        assert (row[0], row[2], row[3], row[4]) == (run.thread, run.runId, 9, 4)
        # The same stamp: by it the scheduler knows which runs have ended.
        assert row[5] == run.start
        single.wait(lambda: single.measured["running"][-1][1] == NONE_U32)

    def test_memory(self, single):
        (big,) = ids()
        nbytes = 60_000_000
        single.flush()
        before = single.measured["memory"][-1]
        single.assign([task(big, lambda: b"x" * nbytes, wanted=False)])
        single.task_run(big)
        at = time.perf_counter()
        single.wait(lambda: single.measured["memory"][-1][0] > at)
        after = single.measured["memory"][-1]
        assert after[1] - before[1] == pytest.approx(nbytes, rel=0.2)
        assert after[2] - before[2] == pytest.approx(nbytes, rel=0.01)
        # Kept results are managed memory, so the least unmanaged memory stays as it
        # was.
        assert after[4] <= before[4] + 5_000_000
        single.send("release", None, {"ids": [(big, 1)]})

    def test_memory_is_measured_at_the_rate_that_is_set(self, single):
        single.send("rates", {"memorySeconds": 0.05})
        at = time.perf_counter()
        single.wait(lambda: sum(r[0] > at for r in single.measured.get("memory", ())) >= 20)
        taken = [r[0] for r in single.measured["memory"] if r[0] > at]
        single.send("rates", {"memorySeconds": 0.2})
        pauses = sorted(after - before for before, after in itertools.pairwise(taken))
        # On a busy machine some are late, and the next ones sooner for that. Not half of them.
        assert pauses[len(pauses) // 2] < 0.1

    @pytest.mark.parametrize("threads_asleep", [0, 2])
    def test_standing_still_is_cheap(self, double, threads_asleep):
        """Idle, and with sleeping tasks: few wake-ups, and at most 20 ms of CPU per second.

        On a slow machine it is as much more as a line of Python takes longer there, or the simplest
        look at all threads that comes when no cache holds it. What else the machine does makes the
        same steps dearer, never cheaper: the least of three times is nearest to what they cost.
        """
        shares, wakes = [], []
        share, most = 1.0, 0.0
        while len(shares) < 3 and share > most:
            wait_until("nothing is left to do", lambda: _is_quiet(double))
            tasks = ids(threads_asleep)
            before, woken = double.call(process_cpu), double.call(process_wakes)
            begin = time.perf_counter()
            if tasks:
                double.assign([task(each, time.sleep, (2.0,)) for each in tasks])
                for each in tasks:
                    double.task_run(each)
            else:
                time.sleep(2.0)  # nothing happens, which is what is measured
            seconds = time.perf_counter() - begin
            share = (double.call(process_cpu) - before) / seconds
            wakes.append((double.call(process_wakes) - woken) / seconds)
            most = 0.02
            # (to know how slow the machine is takes a second)
            if share > most:
                most = max(
                    most,
                    LINES_A_SECOND * seconds_of_a_line(double),
                    BARE_LOOKS_A_SECOND * double.call(cpu_of_a_bare_look),
                )
            shares.append((share, most))
        assert share <= most, shares
        assert min(wakes) <= MOST_WAKES_A_SECOND, wakes


def _is_quiet(worker):
    before = worker.call(process_cpu)
    time.sleep(0.2)
    return worker.call(process_cpu) - before <= 0.02


class Tracked:
    """A result that can be found again."""


def _burn_with(_kept, seconds):
    burn(seconds)


def _without_collections():
    gc.disable()


def _tracked_alive():
    return sum(type(each) is Tracked for each in gc.get_objects())


def python_work(cpu_seconds):
    begin = time.perf_counter()
    burn(cpu_seconds)
    return time.perf_counter() - begin


def other_python_work(cpu_seconds):
    begin = time.perf_counter()
    burn(cpu_seconds)
    return time.perf_counter() - begin


def array_work(cpu_seconds):
    """Numpy that releases the interpreter lock for milliseconds at a time."""
    begin = time.perf_counter()
    import numpy as np

    a = np.random.default_rng(0).random(200_000)
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        np.sort(a)
    return time.perf_counter() - begin


class TestSampling:
    @pytest.fixture(autouse=True)
    def looks(self, single, double):
        for worker in (single, double):
            worker.call(look_as_asked)

    def mix(self, worker, spans, seconds):
        """Tasks of several spans until `seconds` have passed; CPU and samples per span.

        Functions that return their own wall seconds say how much of `wall` was theirs (`inside`):
        the rest is the worker's, which on a busy machine waits for the lock as they do.
        """
        # The first run of each function opens it, which imports this module: seconds of a span
        # that the mix is not about. An own span takes them.
        opening = [
            task(each, work, (0.001,), span=100, function_id=span, wanted=False)
            for each, (span, work, _) in zip(ids(len(spans)), spans, strict=True)
        ]
        for run_id in worker.assign(opening).values():
            worker.run_of(run_id)
        run_ids, begin = [], time.perf_counter()
        # Unequal and odd lengths, so that the 10 ms beat cannot fall into step with them.
        while time.perf_counter() - begin < seconds:
            tasks = [
                task(each, work, (cpu,), span=span, function_id=span)
                for each, (span, work, cpu) in zip(ids(len(spans)), spans, strict=True)
            ]
            started = worker.assign(tasks)
            run_ids += started.values()
            worker.run_of(started[tasks[0].task_id])
        for run_id in run_ids:
            worker.run_of(run_id)
        worker.flush()
        wanted = set(run_ids)
        cpu, wall, inside = (collections.Counter() for _ in range(3))
        span_of = dict(zip(run_ids, [s[0] for s in spans] * len(run_ids), strict=False))
        for run in worker.runs:
            if run.runId in wanted:
                cpu[span_of[run.runId]] += run.cpu
                wall[span_of[run.runId]] += run.duration
                inside[span_of[run.runId]] += payload.loads(run.inline) or 0.0
        on_core, all_samples, functions = (collections.Counter() for _ in range(3))
        for span, _, path, state, n in worker.samples():
            if span in wall:
                all_samples[span] += n
                functions[span, path[0]] += n
                if state == SAMPLE_ON_CORE:
                    on_core[span] += n
        return cpu, wall, inside, on_core, all_samples, functions

    @staticmethod
    def shares(counter):
        total = sum(counter.values())
        return {key: value / total for key, value in counter.items()}

    @staticmethod
    def bound(share, looks):
        """Four standard errors of a share that so many looks found, and a point.

        The point is for looks at a change of tasks, which are of neither. With it chance exceeds
        the bound once in 100,000 times. (One of 3 points would take 4,000 looks, which are 40 s.)
        """
        return 4 * math.sqrt(max(share * (1 - share), 1 / looks) / looks) + 0.01

    @classmethod
    def bound_of_function(cls, share, looks):
        """Some looks come as a run ends, where the stack is the worker's: up to 5 in 100.

        Chance has its four standard errors of those 5 in 100 as well: of 160 looks that is 11
        looks more. What it finds are functions of which no look knows, or whose looks another has.
        """
        return max(0.05 + 4 * math.sqrt(0.05 * 0.95 / looks), cls.bound(share, looks))

    @staticmethod
    def off_by(a, b):
        return max(abs(a.get(key, 0) - b.get(key, 0)) for key in {*a, *b})

    def test_short_tasks_between_rests_have_their_seconds(self, single):
        """Against their threads' CPU clocks: by so many chance alone is less than a fifth."""
        seconds, rest, count, span = 0.006, 0.005, 250, 120
        opening, *others = ids(count + 1)
        single.assign([task(opening, burn, (0.001,), span=100, function_id=span, wanted=False)])
        single.task_run(opening)
        run_ids = []
        with Disturbance(single.process.pid) as disturbance:
            for each in others:
                made = task(each, burn, (seconds,), span=span, function_id=span, wanted=False)
                run_ids += single.assign([made]).values()
                single.run_of(run_ids[-1])
                time.sleep(rest)
            lost = disturbance.seconds
        single.flush()
        wanted = set(run_ids)
        cpu = sum(run.cpu for run in single.runs if run.runId in wanted)
        found = INTERVAL * sum(
            n for of, _, _, state, n in single.samples() if of == span and state == SAMPLE_ON_CORE
        )
        # Of d seconds in stretches of L a look sees all or nothing, with a variance of d (L - d).
        chance = 4 * math.sqrt(count * seconds * (LOOK_SECONDS - seconds)) + 2 * INTERVAL
        assert found == pytest.approx(cpu, abs=chance + lost)

    def test_two_spans_of_python_on_one_thread(self, single):
        looks = single.call(lambda dask_worker: dask_worker._worker.watch.sampler.looks)
        with Disturbance(single.process.pid) as disturbance:
            cpu, wall, inside, on_core, samples, functions = self.mix(
                single, [(101, python_work, 0.023), (102, other_python_work, 0.011)], 5.0
            )
            lost = disturbance.seconds
        looks = single.call(lambda dask_worker: dask_worker._worker.watch.sampler.looks) - looks
        for found, true in ((on_core, cpu), (samples, wall)):
            assert self.off_by(self.shares(found), self.shares(true)) < self.bound(
                self.shares(true)[101], looks
            )
        # A sample stands for 10 ms: on core they make up the CPU time itself.
        assert sum(on_core.values()) * 0.01 == pytest.approx(sum(cpu.values()), rel=0.1)
        for span, name in ((101, "python_work"), (102, "other_python_work")):
            share = inside[span] / wall[span]
            bound = self.bound_of_function(share, looks * self.shares(wall)[span])
            assert abs(functions[span, name] / samples[span] - share) < bound
        # True looks, not what they stand for. Without a budget one is due in each 9 ms and may have
        # to wait a switch interval of 5 ms for the lock: 67 a second, less a tenth, while looker
        # and looked at have a core.
        assert looks > 60 * (sum(wall.values()) - lost)

    def test_python_and_arrays_on_two_threads(self, double):
        """One thread keeps the lock, the other needs it seldom: neither may be overlooked."""
        pytest.importorskip("numpy")
        looks = double.call(lambda dask_worker: dask_worker._worker.watch.sampler.looks)
        cpu, wall, inside, on_core, samples, functions = self.mix(
            double, [(103, python_work, 0.033), (104, array_work, 0.047)], 5.0
        )
        looks = double.call(lambda dask_worker: dask_worker._worker.watch.sampler.looks) - looks
        for found, true in ((on_core, cpu), (samples, wall)):
            assert self.off_by(self.shares(found), self.shares(true)) < self.bound(
                self.shares(true)[103], looks
            )
        for span, name in ((103, "python_work"), (104, "array_work")):
            share = inside[span] / wall[span]
            bound = self.bound_of_function(share, looks * self.shares(wall)[span])
            assert abs(functions[span, name] / samples[span] - share) < bound

    def test_sleeping_is_not_on_core(self, double):
        with Disturbance(double.process.pid) as disturbance:
            _, _, _, on_core, samples, functions = self.mix(
                double, [(105, burn, 0.1), (106, time.sleep, 0.1)], 2.0
            )
            lost = disturbance.seconds
        assert on_core[106] < 0.05 * samples[106]
        # A built-in has no Python frame; it stands for itself. A look may also fall on the few
        # microseconds before or after the call, which are the worker's own, and last as long as
        # the machine keeps the thread, or who has the lock that it wants, from a core.
        names = {name for span, name in functions if span == 106}
        assert names <= {"sleep", "(worker)", "(deserialize)"}
        assert functions[106, "sleep"] >= 0.95 * samples[106] - lost / INTERVAL

    def test_looking_does_not_keep_inputs_alive(self, single):
        """All stacks at once hold the looker's own frame: a cycle, if it is not broken."""
        kept, user = ids(2)
        single.call(_without_collections)
        single.assign([task(kept, Tracked, wanted=False), task(user, _burn_with, (0.3,), [kept])])
        single.task_run(user)
        single.send("release", None, {"ids": [(kept, 1), (user, 1)]})
        alive = single.call(_tracked_alive)
        single.call(gc.enable)
        assert alive == 0

    def test_parts_of_fused_tasks_have_their_own_samples(self, single):
        opening, fused = ids(2)
        parts = (
            Part(burn, (-1,), name="first", span=111),
            Part(burn, (-1,), name="second", span=112),
        )
        # The first run opens it, which imports this module.
        single.assign([task(opening, None, (0.0,), span=113, parts=parts)])
        single.task_run(opening)
        with Disturbance(single.process.pid) as disturbance:
            single.assign([task(fused, None, (0.5,), span=110, parts=parts)])
            single.task_run(fused)
            lost = disturbance.seconds
        single.flush()
        found = collections.Counter()
        for span, function, _, _, n in single.samples():
            found[span, single.names.get(function)] += n
        assert found[111, "first"] > 20 and found[112, "second"] > 20
        assert found[110, None] < 5 + lost / INTERVAL


def cpu_of_lines(count):
    """The time of so many simple lines of Python on this machine, now and in this process."""
    begin = time.thread_time()
    left = count // 2
    while left:
        left -= 1
    return time.thread_time() - begin


def cpu_of_a_bare_look():
    """CPU seconds of waking after 40 ms and walking the stacks of all threads, on average."""
    begin = time.thread_time()
    count = 25
    for _ in range(count):
        time.sleep(0.04)
        seen = []
        for frame in sys._current_frames().values():
            while frame is not None:
                seen.append(frame.f_code)
                frame = frame.f_back
    return (time.thread_time() - begin) / count


def process_wakes():
    """How often the threads of this process gave up their core of themselves, so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def seconds_of_a_line(worker):
    return statistics.median(worker.call(cpu_of_lines, 200_000) for _ in range(5)) / 200_000


def test_a_batch_of_tiny_tasks_costs_little_beside_the_tasks(single):
    """A bound that only a broken path exceeds; benchmarks/worker_tiny_tasks.py has the figure.

    In lines of Python, which are as much slower as the machine is: 100 us are about 4,000.
    """
    tasks = ids(4000)
    before = single.call(process_cpu)
    started = single.assign([task(each, add, (i, 1), wanted=False) for i, each in enumerate(tasks)])
    single.run_of(started[tasks[-1]])
    spent = single.call(process_cpu) - before
    assert spent / len(tasks) < 4_000 * seconds_of_a_line(single)
