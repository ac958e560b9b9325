"""The pieces of ``spanwise.local`` that are machines of their own."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from dask.utils import key_split
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.graph import dictionaries
from spanwise.graph.key_text import KeyTexts
from spanwise.local import meter
from spanwise.local.lanes import Processes, ProcessSlots, ThreadLanes
from spanwise.local.meter import Lane
from spanwise.local.work import Done
from spanwise.measure.fine import Ledger
from spanwise.records import bounded_texts
from spanwise.records.block import decode_block
from spanwise.records.log_writer import SEAL_ROWS, LogWriter, SealedBlock
from spanwise.records.tables import record_tables
from spanwise.source.replay_ring import ReplayRing
from spanwise.tests.checkout import CHECKOUT

RUNS, NAMES, GAPS = (record_tables()[name].number for name in ("runs", "names", "gaps"))


# -- the writer ---------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from(["names", "lanes", "gaps"]), st.integers(1, 1500))))
@settings(max_examples=30, deadline=None)
def test_what_is_written_is_read_in_the_order_of_the_tables(
    additions: list[tuple[str, int]],
) -> None:
    blocks: list[SealedBlock] = []
    writer = LogWriter(blocks.append)
    written: dict[str, list[tuple[Any, ...]]] = {"names": [], "lanes": [], "gaps": []}
    for table, count in additions:
        for number in range(count):
            row = {
                "names": (number, f"é{number}"),
                "lanes": (number, 1, 2, 2.0**47, 0.5),
                "gaps": (9, 0.5, 1.5, number, "why"),
            }[table]
            writer.add(table, *row)
            written[table].append(row)
    assert writer.seal() == len(blocks) == writer.seal()
    assert [block.seq for block in blocks] == list(range(1, len(blocks) + 1))
    assert [block.table for block in blocks] == sorted(block.table for block in blocks)
    read: dict[str, list[tuple[Any, ...]]] = {"names": [], "lanes": [], "gaps": []}
    for sealed in blocks:
        block = decode_block(sealed.data)
        assert (block.seq, block.rows) == (sealed.seq, sealed.rows)
        assert block.rows <= SEAL_ROWS
        columns = [block.column(name) for name in block.table.columns]
        read[block.table.name] += zip(*columns, strict=True)
    assert read == written


def test_rows_wait_for_more_of_them_but_not_for_long() -> None:
    blocks: list[SealedBlock] = []
    writer = LogWriter(blocks.append)
    writer.commit(0.0)
    writer.add("lanes", 1, 2, 3, 4.0, 5.0)
    writer.commit(1.0)
    writer.commit(1.04)
    assert blocks == []
    writer.commit(1.06)
    assert len(blocks) == 1
    writer.extend("lanes", [(n, 0, 0, 0.0, 0.0) for n in range(SEAL_ROWS)])
    writer.commit(2.0)
    assert len(blocks) == 2


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 1500)), min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_columns_come_behind_the_rows_of_their_table(batches: list[tuple[bool, int]]) -> None:
    blocks: list[SealedBlock] = []
    writer = LogWriter(blocks.append)
    rows: list[tuple[int, str]] = []
    columns: list[tuple[int, str]] = []
    for in_columns, count in batches:
        batch = [(number, f"é{number}" if number % 2 else "e") for number in range(count)]
        if in_columns:
            numbers, texts = zip(*batch, strict=True)
            writer.extend_columns("names", {"id": iter(numbers), "text": texts})
            columns += batch
        else:
            writer.extend("names", batch)
            rows += batch
    writer.seal()
    read = [decode_block(block.data) for block in blocks]
    assert max(block.rows for block in read) <= SEAL_ROWS
    told = [
        row for block in read for row in zip(block.column("id"), block.column("text"), strict=True)
    ]
    assert told == rows + columns


@given(
    st.lists(
        st.one_of(
            st.from_regex(r"(inc|x|read-csv)(-[0-9a]{1,3}){0,2}", fullmatch=True),
            st.tuples(st.sampled_from(["inc-1", "x"]), st.integers(0, 3)),
        ),
        max_size=12,
    )
)
def test_a_key_is_cut_alike_whatever_was_cut_before(keys: list[Any]) -> None:
    texts = KeyTexts()
    for key in keys:
        group, rest, function = texts.cut(key)
        assert group + rest == str(key)
        assert function == key_split(key) == texts.function(key)


def test_a_row_of_another_length_is_refused() -> None:
    writer = LogWriter(lambda block: None)
    writer.add("lanes", 1, 2)
    with pytest.raises(ValueError, match="zip"):
        writer.seal()


# -- names --------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.text(max_size=3)), max_size=40))
def test_names_are_bounded_and_keys_keep_their_text(
    keys: list[tuple[str, str]],
) -> None:
    texts: list[str] = []
    coined: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_texts, "MOST_NAMES", 4)
        names = bounded_texts.BoundedTexts(
            lambda number, text: (coined.append(number), texts.append(text))
        )
        for group, rest in keys:
            number, left = names.group(group, rest)
            assert texts[number] + left == group + rest
            assert names.group(group, rest) == (number, left)
            function = names.id_of(rest)
            assert texts[function] in (rest, "(others)") and names.id_of(rest) == function
    assert coined == list(range(len(texts))) and len(set(texts)) == len(texts) <= 6


@given(st.lists(st.one_of(st.sampled_from("abcdef"), st.none()), max_size=40))
def test_names_are_announced_once_in_their_order(texts: list[str | None]) -> None:
    """None: a message leaves."""
    names, told = dictionaries.Names(), []
    for text in [*texts, None]:
        if text is not None:
            assert names.id_of(text) <= len(set(texts))
            continue
        new = names.take_new()
        assert new["firstName"] == len(told)
        told += new["names"]
        assert names.announced == len(told)
    assert told == list(dict.fromkeys(text for text in texts if text is not None))


def test_of_heads_of_keys_only_so_many_are_remembered() -> None:
    texts = KeyTexts()
    for number in range(50_000):
        assert texts.cut((f"x{number}", 0)) == (f"('x{number}'", ", 0)", f"x{number}")
    assert len(texts._tuples) <= 20_000


# -- the meter ------------------------------------------------------------------


def test_a_task_too_short_to_leave_its_core_is_not_asked_for_its_cpu_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[Done] = []
    lane = Lane(0, Ledger())
    measuring = meter.Meter(lambda work: lane, lambda values: done.append(Done(*values)))
    walls = iter([10.0, 10.0 + 3e-6, 20.0, 20.0 + 8e-6])
    cpus = iter([1.0, 2.0, 2.0 + 5e-6])
    monkeypatch.setattr(meter, "perf_counter", lambda: next(walls))
    monkeypatch.setattr(meter, "thread_time", lambda: next(cpus))
    for number in range(2):
        work = (number, lambda values: 7, 0.0, 0.0, None, 0, 0, None, measuring)
        assert measuring.run(work, {}) == 7
    assert [each.duration for each in done] == pytest.approx([3e-6, 8e-6], abs=1e-12)
    assert [each.cpu for each in done] == pytest.approx([3e-6, 5e-6], abs=1e-12)


class FakeWaits:
    """Notes what a task's thread is asked for."""

    def __init__(self) -> None:
        self.marked = 0.0
        self.calls: list[str] = []
        self.now = 0.0

    def mark(self) -> float:
        self.calls.append("mark")
        self.marked = self.now
        return 0.25

    def of_part(self, function: int, span: int, seconds: float, cpu: float) -> float:
        self.calls.append(f"part of {function} in {span}")
        return self.mark()


def test_what_a_task_waited_for_is_told_only_if_it_was_read_as_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[Done] = []
    lane = Lane(0, Ledger())
    waits: Any = FakeWaits()
    lane.waits = lane.core_wait = waits
    measuring = meter.Meter(lambda work: lane, lambda values: done.append(Done(*values)))

    def run(function: int, start: float, seconds: float) -> list[str]:
        walls = iter([start, start + seconds])

        def now() -> float:
            waits.now = next(walls)
            return waits.now

        monkeypatch.setattr(meter, "perf_counter", now)
        waits.calls.clear()
        work = (0, lambda values: 7, 0.0, 0.0, None, function, 2, None, measuring)
        assert measuring.run(work, {}) == 7
        return list(waits.calls)

    # A function that nobody knows may be a long one.
    assert run(1, 1.0, 0.0001) == ["mark"]
    # Of one whose tasks are short it is read now and then.
    assert run(1, 1.001, 0.0001) == []
    assert run(1, 1.0055, 0.0001) == ["mark"]
    # One of them is long. What it waited for may be what the others did.
    assert run(1, 1.008, 0.01) == ["mark"]
    (part,) = done[-1].parts or []
    assert part[6] != part[6]
    # From then on it is read, and told; who has just read it need not again.
    for start in (1.019, 1.0291):
        calls = run(1, start, 0.01)
        assert calls[-2:] == ["part of 1 in 2", "mark"]
        assert calls[:-2] == (["mark"] if start == 1.019 else [])
        (part,) = done[-1].parts or []
        assert part[6] == 0.25
    assert run(1, 1.04, 0.0001) == ["mark"]
    assert run(1, 1.041, 0.0001) == ["mark"]


# -- the ring -----------------------------------------------------------------


class Observers:
    """One observer after another, and the log that they are told; the ring has to serve each.

    Blocks hold one row. A new observer has nothing; one that comes back has what
    it had acknowledged, and perhaps more, but not all that was on its way.
    """

    def __init__(self, ring_bytes: int, lasting_bytes: int) -> None:
        self.ring = ReplayRing(ring_bytes, lasting_bytes)
        #: Of each block but those of gaps: its number.
        self.written: set[int] = set()
        #: Of each block of gaps: the rows of which it tells.
        self.tells: dict[int, int] = {}
        self._newest = 0
        self.begin_anew()

    def push(self, table: int, nbytes: int) -> None:
        self._newest += 1
        self.ring.push(SealedBlock(self._newest, table, 1, bytes(nbytes)), float(self._newest))
        if table != GAPS:
            self.written.add(self._newest)

    def begin_anew(self) -> None:
        self.got: set[int] = set()
        self._acknowledged = 0
        self.ring.resume(0)

    def come_back(self, share: float) -> None:
        some = sorted(each for each in self.got if each > self._acknowledged)
        self.got -= set(some[round(share * len(some)) :])
        self._acknowledged = max(self.got, default=0)
        self.ring.resume(self._acknowledged)

    def take(self, most_bytes: int, nbytes_of_gap: int) -> bool:
        """Get some blocks, or be told of gaps; whether there was anything."""
        blocks = self.ring.take(most_bytes)
        assert [block.seq for block in blocks] == sorted({block.seq for block in blocks})
        assert not self.got & {block.seq for block in blocks}
        self.got |= {block.seq for block in blocks}
        gaps = self.ring.take_gaps()
        if gaps:
            self.push(GAPS, nbytes_of_gap)
            self.tells[self._newest] = sum(gap.rows for gap in gaps)
        return bool(blocks or gaps)

    def acknowledge(self) -> None:
        self._acknowledged = max(self.got, default=0)
        self.ring.acknowledge(self._acknowledged)

    def drain(self) -> None:
        """Get all there is."""
        for _ in range(100):
            if not self.take(10**9, nbytes_of_gap=1):
                return
        pytest.fail("it is told for ever")


#: What happens, bytes, and which table.
steps = st.lists(
    st.tuples(
        st.sampled_from(["push", "push", "push", "take", "drain", "acknowledge", "anew", "back"]),
        st.integers(1, 60),
        st.sampled_from([NAMES, RUNS]),
    ),
    max_size=80,
)


@given(steps)
@settings(max_examples=500, deadline=None)
def test_an_observer_gets_each_row_or_is_told_of_it_once(
    taken: list[tuple[str, int, int]],
) -> None:
    observers = Observers(ring_bytes=100, lasting_bytes=60)
    for step, nbytes, table in taken:
        if step == "push":
            observers.push(table, nbytes)
        elif step == "take":
            observers.take(2 * nbytes, nbytes_of_gap=nbytes)
        elif step == "drain":
            observers.drain()
        elif step == "acknowledge":
            observers.acknowledge()
        elif step == "anew":
            observers.begin_anew()
        else:
            observers.come_back(share=nbytes / 60)
    observers.drain()
    rows = observers.written & observers.got
    told = sum(n for seq, n in observers.tells.items() if seq in observers.got)
    assert len(rows) + told == len(observers.written)
    # The ring itself is bounded, but for a block that is larger than it.
    observers.begin_anew()
    assert sum(len(block.data) for block in observers.ring.take(10**9)) <= 100 + 60


def test_a_new_observer_gets_the_rows_that_tell_of_gaps() -> None:
    """Also when they have left the ring: names would be known, but not what is missing."""
    observers = Observers(ring_bytes=100, lasting_bytes=60)
    for _ in range(5):
        observers.push(RUNS, 40)
    while observers.take(10**9, nbytes_of_gap=10):
        observers.acknowledge()
    (told,) = observers.tells
    for _ in range(5):
        observers.push(RUNS, 40)
    observers.begin_anew()
    assert observers.take(10**9, nbytes_of_gap=10)
    assert told in observers.got


def test_the_ring_does_what_the_common_trace_says() -> None:
    """Drawn and replayed in TypeScript too: ``src/testing/replay-trace.ts``."""
    trace = json.loads((CHECKOUT / "src/link/replay-trace.json").read_text())
    for number, run in enumerate(trace["runs"]):
        ring = ReplayRing(run["ringBytes"], run["lastingBytes"], run["mostUncertain"])
        pushed = 0
        for place, (what, *args) in enumerate(run["steps"]):
            where = f"run {number}, step {place}"
            if what == "push":
                pushed += 1
                table, rows, nbytes, at = args
                ring.push(SealedBlock(pushed, table, rows, bytes(nbytes)), at)
            elif what == "take":
                assert [block.seq for block in ring.take(args[0])] == args[1], where
            elif what == "gaps":
                gaps = [[gap.table, gap.rows, gap.start, gap.stop] for gap in ring.take_gaps()]
                assert gaps == args[0], where
            elif what == "acknowledge":
                ring.acknowledge(args[0])
            else:
                assert what == "resume", where
                ring.resume(args[0])
    assert number > 20


def test_the_newest_blocks_come_in_pieces() -> None:
    ring = ReplayRing()
    for seq in range(1, 101):
        ring.push(SealedBlock(seq, RUNS, 1, bytes(10)), 0.0)
    found: list[int] = []
    while some := ring.take(95):
        assert len(some) <= 11
        found += [block.seq for block in some]
        assert ring.sent == found[-1]
    assert found == list(range(1, 101))


# -- lanes --------------------------------------------------------------------


class Pool:
    """Stands for an executor."""


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5), st.booleans()), max_size=40))
@settings(max_examples=200, deadline=None)
def test_runs_at_the_same_time_share_no_lane(runs: list[tuple[int, int, bool]]) -> None:
    lanes = ThreadLanes()
    pools = [Pool() for _ in range(5)]
    active: list[Any] = []
    for number, size, ends in runs:
        if ends and active:
            lanes.release(active.pop(0))
        else:
            active.append(lanes.acquire(pools[number], size))
        taken: set[int] = set()
        for threads in {id(each): each for each in active}.values():
            mine = set(range(threads.base, threads.base + threads.size))
            assert not mine & taken
            taken |= mine
        assert lanes.count == max(taken, default=-1) + 1
    while active:
        lanes.release(active.pop())
    assert lanes.count == 0


def test_a_thread_keeps_its_place_until_it_ends() -> None:
    threads = ThreadLanes().acquire(Pool(), 2)
    found: list[int] = []

    def place() -> None:
        found.append(threads.place())
        found.append(threads.place())

    assert threads.place() == 0
    for _ in range(3):
        one = threading.Thread(target=place)
        one.start()
        one.join()
    assert found == [1] * 6
    assert threads.place() == 0


def pids_of(slots: ProcessSlots, pool: Processes, *pids: int) -> list[int]:
    """Workers that the processes are."""
    return [slots.of(pool.number, pid).worker for pid in pids]


def test_a_pool_keeps_its_workers_and_a_new_one_takes_what_is_free() -> None:
    slots = ProcessSlots(1)
    one, two, three = Pool(), Pool(), Pool()
    first = slots.acquire(one, 2)
    assert pids_of(slots, first, 50, 60, 50) == [1, 2, 1]
    # A run beside it on the same pool, and one on another.
    assert slots.acquire(one, 2) is first
    beside = slots.acquire(two, 1)
    assert [slot.worker for slot in beside.slots] == [3]
    for pool in (first, first, beside):
        slots.release(pool)
    # Nobody has seen the other pool's process; the first pool's live on.
    third = slots.acquire(three, 2)
    assert [slot.worker for slot in third.slots] == [3, 4]
    assert [slot.pid for slot in slots.acquire(one, 2).slots] == [50, 60]
    # One more than was announced.
    assert pids_of(slots, first, 70, 80) == [5, 6]
    # One that has ended is followed by another while the pool is used …
    slots.ended(first.slots[0])
    assert pids_of(slots, first, 90) == [1]
    # … and leaves its place to other pools when it is not.
    slots.release(first)
    slots.ended(first.slots[1])
    assert [slot.worker for slot in slots.acquire(two, 1).slots] == [2]
    # One that speaks when its pool is gone.
    assert slots.of(99, 1000).worker == 7


@given(
    st.lists(
        st.tuples(st.sampled_from(["begin", "end", "speak", "die"]), st.integers(0, 9)),
        max_size=60,
    )
)
@settings(max_examples=300, deadline=None)
def test_no_two_pools_share_a_worker(steps: list[tuple[str, int]]) -> None:
    slots = ProcessSlots(1)
    pools = [Pool() for _ in range(3)]
    runs: list[Processes] = []
    pid = 100
    for step, number in steps:
        if step == "begin":
            runs.append(slots.acquire(pools[number % 3], 2))
        elif step == "end" and runs:
            slots.release(runs.pop(number % len(runs)))
        elif step == "speak" and runs:
            pool = runs[number % len(runs)]
            pid += 1
            assert slots.of(pool.number, pid) in pool.slots
        elif step == "die":
            living = [slot for slot in slots.all if slot.pid is not None]
            if living:
                slots.ended(living[number % len(living)])
        assert [slot.worker for slot in slots.all] == list(range(1, len(slots.all) + 1))
        for slot in slots.all:
            assert (slot.pool is None) or slot in slot.pool.slots
            assert slot.pool is not None or slot.pid is None
        for pool in runs:
            assert len(pool.slots) >= 2 and all(slot.pool is pool for slot in pool.slots)
    while runs:
        slots.release(runs.pop())
    for slot in list(slots.all):
        if slot.pid is not None:
            slots.ended(slot)
    assert all(slot.pool is None for slot in slots.all)
