"""The pieces of ``spanwise.local`` that are machines of their own."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.local.lanes import ProcessSlots, ThreadLanes
from spanwise.local.replay_ring import ReplayRing
from spanwise.records.block import decode_block
from spanwise.records.log_writer import SEAL_ROWS, LogWriter, SealedBlock
from spanwise.records.tables import record_tables

RUNS, NAMES = record_tables()["runs"].number, record_tables()["names"].number


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
                "lanes": (number, 1, 2),
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
    writer.add("lanes", 1, 2, 3)
    writer.commit(1.0)
    writer.commit(1.04)
    assert blocks == []
    writer.commit(1.06)
    assert len(blocks) == 1
    writer.extend("lanes", [(n, 0, 0) for n in range(SEAL_ROWS)])
    writer.commit(2.0)
    assert len(blocks) == 2


def test_a_row_of_another_length_is_refused() -> None:
    writer = LogWriter(lambda block: None)
    writer.add("lanes", 1, 2)
    with pytest.raises(ValueError, match="zip"):
        writer.seal()


# -- the ring -----------------------------------------------------------------

#: Bytes of a block, and whether its table lasts; or the observer: has it all, or begins anew.
steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(1, 40), st.booleans()),
        st.tuples(st.just("acknowledge"), st.just(0), st.just(False)),
        st.tuples(st.just("anew"), st.just(0), st.just(False)),
    ),
    max_size=60,
)


@given(steps)
@settings(max_examples=300, deadline=None)
def test_an_observer_gets_every_block_or_is_told_of_a_gap(
    taken: list[tuple[str, int, bool]],
) -> None:
    """Against a list of all blocks that keeps everything."""
    ring = ReplayRing(ring_bytes=100, lasting_bytes=60)
    pushed: list[SealedBlock] = []
    acknowledged = 0
    for step, nbytes, lasts in taken:
        if step == "push":
            block = SealedBlock(len(pushed) + 1, NAMES if lasts else RUNS, 1, bytes(nbytes))
            pushed.append(block)
            ring.push(block, float(block.seq))
        elif step == "acknowledge":
            acknowledged = len(pushed)
            ring.acknowledge(acknowledged)
        else:
            gaps = ring.resume(0)
            here = ring.after(0, 10**9)
            lost = sum(gap.rows for gap in gaps)
            assert len(here) + lost == len(pushed)
            acknowledged = 0
    # One that comes back with what it has acknowledged: all it lacks is there, or in a gap.
    gaps = ring.resume(acknowledged)
    here = ring.after(acknowledged, 10**9)
    assert [block.seq for block in here] == sorted({block.seq for block in here})
    assert all(block in pushed for block in here)
    if acknowledged or not pushed:
        assert len(here) + sum(gap.rows for gap in gaps) >= len(pushed) - acknowledged
    # The ring itself is bounded, but for a block that is larger than it.
    assert sum(len(block.data) for block in ring.after(0, 10**9)) <= 100 + 60


def test_the_newest_blocks_come_in_pieces() -> None:
    ring = ReplayRing()
    for seq in range(1, 101):
        ring.push(SealedBlock(seq, RUNS, 1, bytes(10)), 0.0)
    found: list[int] = []
    while some := ring.after(found[-1] if found else 0, 95):
        assert len(some) <= 11
        found += [block.seq for block in some]
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


def test_processes_take_slots_that_are_free() -> None:
    slots = ProcessSlots(1)
    first = slots.acquire(2)
    assert [slots.of(pid).worker for pid in (50, 60, 50)] == [1, 2, 1]
    beside = slots.acquire(1)
    assert [slot.worker for slot in beside] == [3]
    slots.release(first)
    # They live on, so they are probably of the pool that is used again.
    assert [slot.pid for slot in slots.acquire(2)] == [50, 60]
    # One more than was announced.
    assert slots.of(70).worker == 3
    assert slots.of(80).worker == 4
