"""Data sent with tasks is freed with the last task that needs it, in every process."""

from __future__ import annotations

import errno
import gc
import os
import random
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, thread_time
from types import CodeType
from typing import Any

import dask
import psutil
import pytest

from spanwise import Client
from spanwise.client import calls
from spanwise.client.session import dump
from spanwise.graph import dictionaries
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.template import Constant, Slot, Template
from spanwise.measure import names as worker_names
from spanwise.measure import stacks
from spanwise.measure.fine import Ledger
from spanwise.records import bounded_texts
from spanwise.records.enumerations import KIND_DESERIALIZE, KIND_DISK_READ, NONE_U32
from spanwise.tests.client_scheduler import LocalClient
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import processes_of
from spanwise.tests.test_client import increment, until
from spanwise.wire import payload
from spanwise.worker import opening
from spanwise.worker.executor import Executor
from spanwise.worker.library import Kept
from spanwise.worker.spill import SpillStore
from spanwise.worker.worker import Worker

MEGABYTE = 1 << 20
#: Megabytes that go through a cluster, and how many of them may stay anywhere. Node frees
#: buffers when it collects, which it does after some tens of megabytes.
SENT, STAY = 180, 100


def size(i: int, table: bytes = b"") -> int:
    return i + len(table)


def drawn_table() -> bytes:
    """A megabyte that is no other's, of letters: to name a call Dask writes other bytes as four."""
    return os.urandom(MEGABYTE // 2).hex().encode()


def by_keyword(client: Client, i: int) -> Any:
    return client.submit(size, i, table=drawn_table())


def by_closure(client: Client, i: int) -> Any:
    table = drawn_table()
    return client.submit(lambda x: x + len(table), i)


def by_argument(client: Client, i: int) -> Any:
    return client.submit(size, i, drawn_table())


def megabytes(process: psutil.Process) -> float:
    """Its own memory, which it shares with no other process."""
    return float(process.memory_full_info().uss) / MEGABYTE


@pytest.mark.parametrize("send", [by_keyword, by_closure, by_argument])
def test_what_calls_bring_goes_with_them(send: Callable[[Client, int], Any]) -> None:
    known = set(marked_processes())
    with Client(n_workers=1, threads_per_worker=1) as client:
        kept = client.submit(size, 5)
        assert kept.result() == 5
        send(client, 0).result()
        processes = [*(processes_of(role, known)[0] for role in ("scheduler", "worker"))]
        processes.append(psutil.Process())
        before = [megabytes(process) for process in processes]
        for i in range(SENT):
            assert send(client, i).result() == i + MEGABYTE

        def is_given_back() -> bool:
            # Node collects when something comes; what leaks would grow with it.
            assert send(client, 0).result() == MEGABYTE
            gc.collect()
            grown = [megabytes(process) - b for process, b in zip(processes, before, strict=True)]
            return max(grown) < STAY

        until(is_given_back, 60)
        assert kept.result() == 5


def with_padding(i: int) -> bytes:
    """A megabyte that is no other's and costs little to make, and to name (:func:`drawn_table`)."""
    return i.to_bytes(8, "little") + b"." * (MEGABYTE - 8)


@pytest.mark.filterwarnings("ignore:A graph holds values")
def test_a_worker_takes_more_tables_than_its_memory_holds() -> None:
    known = set(marked_processes())
    # Modules that other tests have imported here would fill the worker first.
    alone = dask.config.set({"spanwise.worker.import-ahead": False})
    limit = 120 * MEGABYTE
    with alone, Client(n_workers=1, threads_per_worker=1, memory_limit=limit) as client:
        assert client.submit(size, 1).result() == 1
        (worker,) = processes_of("worker", known)
        # All are wanted, so all may have to be run again: none goes before the end.
        futures = [client.submit(size, i, table=with_padding(i)) for i in range(140)]
        futures += client.map(size, range(140), [with_padding(i) for i in range(140)])
        assert client.gather(futures) == 2 * [i + MEGABYTE for i in range(140)]
        assert processes_of("worker", known) == [worker]


def test_small_keywords_are_copied_for_each_task_and_large_ones_are_there_once(
    tmp_path: Path,
) -> None:
    library = Worker(0, "worker-0", 1, 0.0, tmp_path).library
    for template_id, (value, is_copied) in enumerate(
        [([1], True), (("a", 1), False), (b"a" * 1000, False), ([b"a" * MEGABYTE], False)]
    ):
        template = Template(size, (-1,), (Slot(-1),), {"table": Constant(value)})
        library.add_template(template_id, dump(template))
        opened, _, _ = library.open(template_id, NONE_U32, 0)
        place = opened.template.keywords["table"]
        assert place.fill((), ()) == value
        assert (place.fill((), ()) is not place.value) is is_copied


def test_what_tasks_run_counts_as_managed_and_can_be_written_to_disk(tmp_path: Path) -> None:
    worker = Worker(0, "worker-0", 1, 20 * MEGABYTE, tmp_path)
    library = worker.library
    for i in range(10):
        table = with_padding(i)
        constants = {"table": Constant(table)}
        library.add_template(i, dump(Template(size, (-1,), (Slot(-1),), constants)))
        library.add_chunk(i, dump([(table,)]))
    assert worker.managed == worker.spill.held_beside() == pytest.approx(20 * MEGABYTE, rel=0.01)
    for i in range(5):
        opened, (table,), _ = library.open(i, i, 0)
        assert opened.template.keywords["table"].value == table == with_padding(i)
    assert worker.managed == pytest.approx(20 * MEGABYTE, rel=0.01)
    # Of what nothing here will run, opened or not, the oldest go; what is queued goes last.
    worker.table.assign([(0, 0, 3, 3, 0, 0, 0, 0, 0.0, 0.0, 0)])
    worker.pinned.keep_bound()
    assert worker.managed <= 0.6 * 20 * MEGABYTE
    assert 3 in library.templates and 3 in library.chunks
    assert worker.pinned.give_up(100 * MEGABYTE) > 0
    assert worker.managed == 0.0 and not library.templates and not library.chunks
    assert worker.spill.disk_bytes == pytest.approx(20 * MEGABYTE, rel=0.01)
    for i in range(10):
        opened, (table,), _ = library.open(i, i, 0)
        assert opened.template.keywords["table"].value == table == with_padding(i)
    files = set(tmp_path.rglob("spill*/*"))
    assert worker.pinned.give_up(100 * MEGABYTE) > 0
    assert set(tmp_path.rglob("spill*/*")) == files  # they were there already
    library.drop(range(10), range(10))
    assert worker.managed == worker.spill.disk_bytes == 0
    assert not list(tmp_path.rglob("spill*/*"))


def test_what_cannot_be_pickled_again_stays_and_small_ones_are_left_alone(tmp_path: Path) -> None:
    worker = Worker(0, "worker-0", 1, 10 * MEGABYTE, tmp_path)
    worker.library.add_chunk(0, dump([(PicklesOnce(bytes(MEGABYTE)),)]))
    worker.library.add_chunk(1, dump([(bytes(1000),)]))
    for chunk in (0, 1):
        worker.library.add_template(chunk, dump(Template(size, (-1,))))
        worker.library.open(chunk, chunk, 0)
    assert worker.pinned.give_up(100 * MEGABYTE) == 0.0
    assert worker.pinned.give_up(100 * MEGABYTE) == 0.0
    assert set(worker.library.chunks) == {0, 1}


def test_while_the_disk_is_full_only_what_is_there_already_leaves_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(0, "worker-0", 1, 20 * MEGABYTE, tmp_path)
    worker.connect(lambda *_: None, lambda _: None)
    for i in range(4):
        worker.library.add_chunk(i, dump([(with_padding(i),)]))
        worker.library.add_template(i, dump(Template(size, (-1,))))
    assert worker.pinned.give_up(1.5 * MEGABYTE) > 0
    on_disk = {0, 1}
    for i in range(4):
        worker.library.open(i, i, 0)

    def full(pieces: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    pickled: list[Any] = []
    dumps = payload.dumps
    monkeypatch.setattr(worker.spill.files, "write", full)
    monkeypatch.setattr(payload, "dumps", lambda each: (pickled.append(each), dumps(each))[1])
    # (on a slow machine the pause before another try may be over when it is looked at)
    monkeypatch.setattr(worker.spill, "_retry_seconds", float("inf"))
    assert worker.pinned.give_up(100 * MEGABYTE) == pytest.approx(2 * MEGABYTE, rel=0.01)
    assert set(worker.library.chunks) == {0, 1, 2, 3} - on_disk
    assert worker.spill.failing and not worker.spill.may_write
    pickled.clear()
    for _ in range(10):  # tasks that end meanwhile
        assert worker.pinned.give_up(100 * MEGABYTE) == 0.0
    assert pickled == []


class PicklesOnce:
    def __init__(self, content: bytes) -> None:
        self.content = content

    def __reduce__(self) -> Any:
        return _opened_once, (self.content,)


def _opened_once(content: bytes) -> Any:
    made = PicklesOnce(content)
    made.__class__ = type("Opened", (), {"__reduce__": None})
    return made


@pytest.mark.parametrize("seed", range(3))
def test_blobs_open_right_whatever_comes_goes_and_is_put_away(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    store = SpillStore(tmp_path, 1e6, Ledger())
    worker = Worker(0, "worker-0", 1, 1e6, tmp_path)
    kept: Kept[Any] = Kept("The blob", payload.loads)
    expected: dict[int, bytes] = {}
    claims: list[tuple[int, Any, bytes]] = []
    for number in range(600):
        blob_id = chance.choice(list(expected)) if expected else -1
        match chance.randrange(6):
            case 0 | 1:
                expected[number] = bytes([number % 256]) * chance.choice([10, 70_000, 200_000])
                frame = bytearray(chance.choice([0, 300_000])) + dump(expected[number])
                start = len(frame) - len(dump(expected[number]))
                kept.add(number, memoryview(frame)[start:])
            case 2 if blob_id >= 0 and len(expected) > 5:
                del expected[blob_id]
                kept.drop([blob_id])
            case 3 if blob_id >= 0:
                claims.append((blob_id, kept.claim(blob_id), expected[blob_id]))
            case 4 if blob_id >= 0:
                kept.put_away(blob_id, lambda buffers: store.put_away(worker, buffers))
            case 5 if claims:
                # Claimed before, perhaps put away or dropped since.
                _, open_it, value = claims.pop(chance.randrange(len(claims)))
                assert open_it()[0] == value
        assert kept.nbytes == pytest.approx(sum(kept._sizes.values()))
        assert set(kept._sizes) | set(kept._blobs) | set(kept.opened) <= set(expected)
    claims.clear()
    for blob_id, value in expected.items():
        assert kept.claim(blob_id)()[0] == value
    kept.drop(list(expected))
    assert kept.nbytes == 0.0 and store.disk_bytes == 0


def _unused(client: LocalClient, generation: int, templates: list[int]) -> None:
    assert client.fake.link is not None
    client.fake.link.send("unused", {"generation": generation, "templates": templates})


def test_a_template_that_the_scheduler_has_freed_is_sent_again(client: LocalClient) -> None:
    assert client.submit(increment, 1).result(60) == 2
    assert client.submit(increment, 2).result(60) == 3
    assert list(client.fake.templates) == [0]
    # Said before the second call had come: the client has named it since.
    _unused(client, 0, [0])
    _unused(client, 1, [0, 77])
    until(lambda: client.fake.forgotten == [0])
    client.fake.templates.clear()
    assert client.submit(increment, 3).result(60) == 4
    assert list(client.fake.templates) == [1]


def test_a_graph_that_fails_half_way_gives_its_templates_back(client: LocalClient) -> None:
    class Unpicklable:
        def __reduce__(self) -> Any:
            raise ValueError("not this")

    assert client.submit(increment, 1).result(60) == 2
    with pytest.raises(ValueError, match="not this"):
        client.submit(increment, Unpicklable())
    until(lambda: client.fake.forgotten == [0])
    assert client.submit(increment, 2).result(60) == 3
    assert sorted(client.fake.templates) == [0, 1]


def test_the_client_s_pickles_are_bounded_by_bytes_and_keep_no_function(
    client: LocalClient,
) -> None:
    kept = client._calls._kept
    references = []
    for i in range(40):
        text = f"{i}" * 500_000
        function: Any = lambda x, text=text: x + len(text)  # noqa: E731
        references.append(weakref.ref(function))
        assert client.submit(function, i).result(60) == i + len(text)
    assert kept.nbytes == sum(len(each.blob) for each in kept._kept)
    assert len(kept) > 0 and kept.nbytes <= calls._KEPT_BYTES
    del function
    until(lambda: gc.collect() >= 0 and all(reference() is None for reference in references))


def test_names_are_bounded_by_number_and_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_texts, "MOST_CHARACTERS", 5_000)
    names = dictionaries.Names()
    long_group = "g" * 2_000
    number, rest = names.group(long_group, "-1")
    assert (names._texts[number], rest) == ("", f"{long_group}-1")
    assert names._texts[names.id_of("f" * 2_000)] == "f" * 999 + "…"
    assert names.id_of("f" * 2_000) == names.id_of("f" * 3_000)
    for i in range(100):
        names.id_of(f"{i:0900}")
    assert names._texts[names.id_of("one more")] == bounded_texts.OTHERS
    assert names.group("one more", "-1") == (names.id_of(""), "one more-1")
    assert sum(map(len, names._texts)) < 5_000 + bounded_texts.LONGEST + 100


def test_a_worker_s_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_names, "MOST_NAMES", 10)
    names = worker_names.Names()
    ids = [names.id_of(f"{i}" * 900) for i in range(30)]
    assert len(set(ids[:10])) == 10 and len(set(ids[10:])) == 1
    assert names.id_of("0" * 900) == ids[0]
    assert names.announcement()["names"][-1] == worker_names.OTHERS  # type: ignore[index]
    monkeypatch.setattr(worker_names, "MOST_NAMES", 1_000)
    monkeypatch.setattr(worker_names, "MOST_CHARACTERS", 3_000)
    names = worker_names.Names()
    assert len({names.id_of(f"{i}" * 2_000) for i in range(30)}) <= 5


def test_what_is_known_of_stacks_keeps_few_functions_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stacks, "CODES", 5)
    monkeypatch.setattr(stacks, "FRAMES", 20)
    tree = stacks.StackTree(worker_names.Names(), by_keyword.__code__)
    for i in range(50):
        scope: dict[str, Any] = {"sys": sys}
        exec(f"def function_{i}(): return sys._getframe()", scope)  # noqa: S102
        tree.stack_of(tree.codes_of(scope[f"function_{i}"]()), None)
        assert len(tree._frame_of_code) <= 5
    assert len(tree._frames) <= 21


def _code_of(i: int) -> CodeType:
    """A function's code that goes with its last name; a circle goes when Python looks for such."""
    consts = compile(f"def function_{i}(): pass", "drawn.py", "exec").co_consts
    return next(each for each in consts if isinstance(each, CodeType))


def test_a_function_in_the_place_of_one_that_is_gone_has_a_stack_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stacks, "CODES", 3)
    tree = stacks.StackTree(worker_names.Names(), by_keyword.__code__)
    places, found = set(), []
    for i in range(50):
        code = _code_of(i)
        places.add(id(code))
        first = tree.stack_of([code], None)
        assert tree.stack_of([code], None) == first
        found.append(first)
        del code
    assert len(places) < 50
    assert len(set(found)) == 50


def test_a_stack_that_has_forgotten_some_of_its_codes_is_not_known_by_their_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stacks, "CODES", 1)
    tree = stacks.StackTree(worker_names.Names(), by_keyword.__code__)
    outer, places, found = _code_of(999), set(), []
    for i in range(50):
        code = _code_of(i)
        places.add(id(code))
        found.append(tree.stack_of([code, outer], None))
        del code
    assert len(places) < 50
    assert len(set(found)) == 50


def test_delayed_calls_leave_little_in_the_register_of_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compute(start: int, stop: int) -> None:
        calls_made = [dask.delayed(size)(i) for i in range(start, stop)]
        assert dask.delayed(sum)(calls_made).compute(scheduler="sync") == sum(range(start, stop))

    provenance = remember_provenance()
    # A table that other tests have filled doubles at any name.
    monkeypatch.setattr(provenance, "_layers", {})
    count = 1_000
    compute(-100, 0)
    names = len(provenance._layers)
    tracemalloc.start()
    try:
        compute(0, count)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    added = len(provenance._layers) - names
    assert added >= 2 * count
    # 128; with the names themselves and a source for each it was 234.
    assert grown < 180 * added, grown / added


def test_what_a_task_runs_is_read_from_disk_before_it_is_unpickled(tmp_path: Path) -> None:
    worker = Worker(0, "worker-0", 1, 20 * MEGABYTE, tmp_path)
    constants = {"table": Constant(bytes(4 * MEGABYTE))}
    worker.library.add_template(0, dump(Template(size, (-1,), (Slot(-1),), constants)))
    worker.library.add_chunk(0, dump([(bytes(2 * MEGABYTE),)]))
    row: Any = (0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0)

    def opened() -> list[tuple[int, float]]:
        start, cpu = perf_counter(), thread_time()
        lane = Executor(worker, 0)
        *_, end, end_cpu, parts = opening.open_blobs(worker.library, lane, row, start, start, cpu)
        assert sum(part[4] for part in parts) == pytest.approx(end - start)
        assert sum(part[5] for part in parts) == pytest.approx(end_cpu - cpu)
        return [(part[0], part[7]) for part in parts]

    unpickled = pytest.approx(6 * MEGABYTE, rel=0.01)
    assert opened() == [(KIND_DESERIALIZE, unpickled)]
    assert worker.pinned.give_up(100 * MEGABYTE) > 0
    assert opened() == [(KIND_DISK_READ, unpickled), (KIND_DESERIALIZE, unpickled)]
