"""What came into workers and went out of them: bytes, times, keys, who, and how many there are."""

from __future__ import annotations

import re
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import dask
import numpy as np
import pytest

from spanwise import Client
from spanwise.client.launch import transfer_log_length
from spanwise.tests.marks import now_of
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.test_spill import Kept
from spanwise.tests.their_client import their_client
from spanwise.wire import direct
from spanwise.wire.clock import ClockOffset
from spanwise.wire.link import Link
from spanwise.wire.peer_answers import data_items
from spanwise.worker import transfer_log
from spanwise.worker.door import Server
from spanwise.worker.spill_file import Spilled
from spanwise.worker.transfer_log import Transfer, TransferLog, Transfers

MIB = 2**20
NOT_HERE = 99

# ── the log ───────────────────────────────────────────────────────────────


def moved(log: TransferLog, ids: list[int], who: int | None = 1) -> Transfer:
    transfer = log.begin(who, 1.0, 8.0 * len(ids))
    log.done(transfer, 3.0, [(task_id, 8.0) for task_id in ids])
    return transfer


def test_the_newest_thousand_stay() -> None:
    log = TransferLog()
    for i in range(1_002):
        moved(log, [i])
    assert [each.ids[0] for each in log.ended()] == list(range(2, 1_002))


def test_as_many_stay_as_the_user_says() -> None:
    transfers = Transfers(2)
    for log in (transfers.incoming, transfers.outgoing):
        for i in range(4):
            moved(log, [i])
        assert len(log.ended()) == 2
        entries = transfers.entries(log, lambda ids: (0.0, [f"k-{i}" for i in ids]), ClockOffset())
        assert [*map(list, (each["keys"] for each in entries))] == [["k-2"], ["k-3"]]


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "many", True, 100_001], ids=str)
def test_a_length_that_is_none_is_named(wrong: Any) -> None:
    name = "distributed.admin.low-level-log-length"
    with dask.config.set({name: 7}):
        assert transfer_log_length() == 7
    with dask.config.set({name: wrong}), pytest.raises(ValueError, match=re.escape(name)):
        transfer_log_length()


def test_the_length_reaches_workers() -> None:
    def length() -> int:
        from spanwise.shared.futures import WORKER

        return WORKER[0].transfers.incoming.length  # type: ignore[attr-defined]

    with (
        dask.config.set({"distributed.admin.low-level-log-length": 12}),
        Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client,
    ):
        assert client.submit(length).result(LIMIT_SECONDS) == 12


def test_all_entries_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_log, "MOST_RESULTS", 10)
    log = TransferLog()
    for i in range(4):
        moved(log, [i] * 4)
    assert [each.ids[0] for each in log.ended()] == [2, 3]
    # The newest stays, whatever it takes.
    moved(log, [9] * 20)
    assert [len(each.ids) for each in log.ended()] == [20]


def test_those_under_way_are_counted_until_they_end_or_fail() -> None:
    log = TransferLog()
    one, other = log.begin(1, 0.0, 8.0), log.begin(2, 0.0, 16.0)
    assert (log.count, log.count_total, log.nbytes, log.nbytes_total) == (2, 2, 24.0, 24.0)
    log.done(one, 1.0, [])
    # (an error after the end changes nothing)
    log.failed(one)
    assert (log.count, log.nbytes) == (1, 16.0)
    log.failed(other)
    assert (log.count, log.count_total, log.nbytes, log.nbytes_total) == (0, 2, 0.0, 24.0)
    assert log.ended() == [one]


def test_who_reads_waits_for_those_that_are_about_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transfer_log, "SOON_SECONDS", LIMIT_SECONDS)
    log = TransferLog()
    begun, ending = log.begin(1, 0.0, 8.0), log.begin(2, 0.0, 8.0)
    log.ends_soon(ending)
    read: list[list[Transfer]] = []
    reader = threading.Thread(target=lambda: read.append(log.ended()))
    reader.start()
    wait_until("it waits", lambda: bool(log._changed._waiters))  # type: ignore[attr-defined]
    log.done(begun, 1.0, [])
    # (one that begins meanwhile is not waited for)
    log.ends_soon(log.begin(3, 0.0, 8.0))
    log.done(ending, 1.0, [])
    reader.join(LIMIT_SECONDS)
    assert read == [[begun, ending]]


def test_who_reads_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_log, "SOON_SECONDS", 0.0)
    log = TransferLog()
    log.ends_soon(log.begin(1, 0.0, 8.0))
    assert log.ended() == []


def test_keys_are_asked_for_once_and_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_log, "MOST_KEYS_ASKED", 2)
    asked: list[list[int]] = []

    def ask(ids: list[int]) -> tuple[float, list[str]]:
        asked.append(ids)
        return 1000.0, ["" if each == NOT_HERE else f"('x', {each})" for each in ids]

    transfers = Transfers()
    assert transfers.entries(transfers.incoming, ask, ClockOffset()) == deque()
    assert not asked
    moved(transfers.incoming, [1, 2, 3])
    moved(transfers.incoming, [3, NOT_HERE])
    for _ in range(2):
        first, second = transfers.entries(transfers.incoming, ask, ClockOffset())
        assert first["keys"] == {("x", 1): 8, ("x", 2): 8, ("x", 3): 8}
        assert second["keys"] == {("x", 3): 8, f"forgotten-{NOT_HERE}": 8}
    assert sorted(map(len, asked)) == [2, 2]


def test_q09_all_times_are_the_schedulers() -> None:
    """`middle` is that of start and stop, and none of this process's own clock."""
    transfers = Transfers()
    moved(transfers.outgoing, [1])
    half_a_second = ClockOffset(9.5, 9.0, 9.0)
    (entry,) = transfers.entries(transfers.outgoing, lambda _: (1000.0, ["x"]), half_a_second)
    assert (entry["start"], entry["middle"], entry["stop"]) == (1001.5, 1002.5, 1003.5)
    assert (entry["duration"], entry["bandwidth"]) == (2.0, 4.0)


def test_nothing_is_infinitely_fast() -> None:
    transfers = Transfers()
    log = transfers.incoming
    log.done(log.begin(1, 1.0, 8.0), 1.0, [(1, 8.0)])
    (entry,) = transfers.entries(log, lambda _: (0.0, ["x"]), ClockOffset())
    assert (entry["duration"], entry["bandwidth"]) == (0.001, 8000.0)


# ── what goes out ─────────────────────────────────────────────────────────


class Counted:
    """A worker that is asked through a cable on which bytes are counted."""

    def __init__(self, folder: Path, who: int | None = None) -> None:
        self.kept = Kept(folder, 0.0)
        near, near_end = socket.socketpair()
        far_end, far = socket.socketpair()
        self.nbytes = 0
        self.asking = Link(near, "peer", "up")
        answering = Link(far, "peer", "down")
        self.asking.authenticated()
        answering.authenticated()
        answering.intro = {"worker": who}
        server = Server(self.kept.worker)
        self._ends = [near_end, far_end]
        self._threads = [
            threading.Thread(target=server.serve, args=(answering,)),
            threading.Thread(target=self._pump, args=(near_end, far_end, False)),
            threading.Thread(target=self._pump, args=(far_end, near_end, True)),
        ]
        for each in self._threads:
            each.start()

    def _pump(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        try:
            while content := source.recv(MIB):
                self.nbytes += len(content) if counts else 0
                target.sendall(content)
        except OSError:
            pass  # one side has closed: so does the other
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def ask(self, ids: list[int]) -> None:
        fields = {"request": 1, "together": True}
        self.asking.send("get", fields, {"ids": [(each,) for each in ids]})
        for _ in data_items(self.asking, 1, len(ids), together=True):
            pass

    def entries(self) -> list[dict[str, Any]]:
        transfers = self.kept.worker.transfers
        keys = transfers.entries(
            transfers.outgoing, lambda ids: (0.0, [*map(str, ids)]), ClockOffset()
        )
        return list(keys)

    def close(self) -> None:
        self.asking.close()
        for each in self._threads:
            each.join(LIMIT_SECONDS)
        for end in self._ends:
            end.close()


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    made = Counted(tmp_path)
    yield made
    made.close()


def test_bytes_are_those_of_results_and_of_the_socket(counted: Counted) -> None:
    counted.kept.keep(1, np.ones(MIB))
    counted.kept.keep(2, 7)
    begin = perf_counter()
    counted.ask([1, 2, NOT_HERE])
    (entry,) = counted.entries()
    sizes = counted.kept.worker.table.sizes
    assert entry["keys"] == {"1": int(sizes[1]), "2": int(sizes[2])}
    assert entry["total"] == sum(entry["keys"].values()) >= 8 * MIB
    assert entry["compressed"] == counted.nbytes > 8 * MIB
    assert begin <= entry["start"] <= entry["stop"] <= perf_counter()
    assert entry["who"] is None


def test_several_frames_are_one_transfer(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.worker.door.FRAME_BYTES", MIB)
    for i in range(4):
        counted.kept.keep(i, np.ones(MIB // 8))
    counted.ask([0, 1, 2, 3])
    (entry,) = counted.entries()
    assert len(entry["keys"]) == 4
    assert entry["compressed"] == counted.nbytes


def test_who_has_nothing_of_it_says_so(counted: Counted) -> None:
    counted.ask([NOT_HERE])
    (entry,) = counted.entries()
    assert (entry["keys"], entry["total"]) == ({}, 0)


def test_reading_from_disk_is_no_part_of_it(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = counted.kept
    kept.keep(1, np.ones(1000))
    spilled = kept.worker.spill.put_away(kept.worker, [b"x" * 8000])
    assert spilled is not None
    kept.worker.table.values[1] = spilled
    read, took = Spilled.read, []

    def read_slowly(self: Spilled) -> Any:
        begin = perf_counter()
        sleep(0.05)
        content = read(self)
        took.append(perf_counter() - begin)
        return content

    monkeypatch.setattr(Spilled, "read", read_slowly)
    begin = perf_counter()
    counted.ask([1])
    (entry,) = counted.entries()
    assert entry["stop"] - entry["start"] <= perf_counter() - begin - took[0]


def test_an_answer_that_breaks_is_counted_and_not_logged(tmp_path: Path) -> None:
    counted = Counted(tmp_path, who=3)
    counted.kept.keep(1, np.ones(4 * MIB))
    try:
        counted.asking.send("get", {"request": 1}, {"ids": [(1,)]})
        log = counted.kept.worker.transfers.outgoing
        wait_until("it is sent", lambda: log.count == 1 and log.nbytes >= 32 * MIB)
    finally:
        counted.close()
    assert (log.count, log.count_total, log.nbytes) == (0, 1, 0.0)
    assert counted.entries() == []


@pytest.mark.skipif(not direct.IS_POSSIBLE, reason="Linux's process_vm_readv")
def test_what_is_read_where_it_lies_ends_when_it_has_been_read(
    tmp_path: Path, ends: tuple[Link, Link]
) -> None:
    down, up = ends
    down.intro = {"worker": 3}
    kept = Kept(tmp_path, 0.0)
    kept.keep(1, np.ones(MIB))
    server = Server(kept.worker)
    up.welcome = server.welcome("peer", {})
    serving = threading.Thread(target=server.serve, args=(down,))
    serving.start()
    transfers = kept.worker.transfers
    transfers.addresses[3] = "unix:/three"
    try:
        up.send("get", {"request": 1, "direct": True}, {"ids": [(1,)], "done": []})
        for _ in data_items(up, 1, 1, direct=True):
            pass
        read = perf_counter()
        assert transfers.outgoing.count == 1
        up.send("got", {"request": 1})
        # (it is about to end: whoever reads the log waits for it)
        (entry,) = transfers.entries(transfers.outgoing, lambda _: (0.0, ["x"]), ClockOffset())
    finally:
        up.close()
        serving.join(LIMIT_SECONDS)
    assert entry["stop"] >= read and entry["who"] == "unix:/three"
    # What the other side reads in memory goes through no socket.
    assert entry["total"] >= 8 * MIB > 100 * entry["compressed"]


# ── on a cluster ──────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


def logs(client: Client) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    incoming = client.run(lambda dask_worker: list(dask_worker.transfer_incoming_log))
    outgoing = client.run(lambda dask_worker: list(dask_worker.transfer_outgoing_log))
    return incoming, outgoing


def length(value: Any) -> int:
    return len(value)


def test_both_sides_of_each_transfer(client: Client) -> None:
    """Of results that are forgotten by the time the logs are read."""
    begin = now_of(client)
    workers = list(client.nthreads())
    keys: dict[Any, int] = {}
    for i in range(6):
        here, there = workers[i % 2], workers[1 - i % 2]
        key = ("block", i, here)
        keys[key] = 8 * (MIB + i)
        made = client.submit(np.ones, MIB + i, workers=[here], key=key)
        client.submit(length, made, workers=[there], pure=False).result()
        del made
    client.submit(length, "no other", pure=False).result()
    incoming, outgoing = logs(client)
    end = now_of(client)
    pairs = 0
    for address, entries in incoming.items():
        for entry in entries:
            ((key, nbytes),) = entry["keys"].items()
            if key not in keys:
                continue
            assert key[2] == entry["who"] and address != entry["who"]
            assert keys[key] <= nbytes == entry["total"] < keys[key] + 1000
            (sent,) = [each for each in outgoing[entry["who"]] if key in each["keys"]]
            assert sent["who"] == address
            assert sent["keys"] == entry["keys"] and sent["total"] == entry["total"]
            # The answer lies within the request; both have the scheduler's clock.
            assert begin <= entry["start"] <= sent["start"] <= sent["stop"]
            assert entry["start"] <= entry["middle"] <= entry["stop"] <= end
            assert entry["bandwidth"] == entry["total"] / entry["duration"]
            pairs += 1
    assert pairs == len(keys)
    for log, name in (incoming, "incoming_transfer_log"), (outgoing, "outgoing_transfer_log"):
        older = client.run(getattr_of, name)
        assert log == {address: [*each] for address, each in older.items()}


def getattr_of(name: str, dask_worker: Any) -> Any:
    return getattr(dask_worker, name)


def test_a_client_is_no_worker(client: Client) -> None:
    key = "for-the-client"
    client.submit(np.ones, MIB, key=key).result()
    _, outgoing = logs(client)
    (entry,) = [each for log in outgoing.values() for each in log if key in each["keys"]]
    assert entry["who"] is None and entry["total"] >= 8 * MIB


def test_what_was_scattered_has_its_key(client: Client) -> None:
    here, there = client.nthreads()
    put = client.scatter(np.full(MIB, 3.0), workers=[here])
    key = put.key
    client.submit(length, put, workers=[there], pure=False).result()
    del put
    incoming, _ = logs(client)
    assert any(key in each["keys"] for each in incoming[there])


def test_nothing_is_open_when_all_has_ended(client: Client) -> None:
    here, there = client.nthreads()
    made = client.submit(np.ones, MIB, workers=[here], pure=False)
    client.submit(length, made, workers=[there], pure=False).result()
    counts = client.run(counters)
    assert all(each["open"] == (0, 0, 0, 0) for each in counts.values())
    assert counts[there]["incoming"] >= 1 and counts[here]["outgoing"] >= 1
    assert counts[here]["bytes"] >= 8 * MIB


def counters(dask_worker: Any) -> dict[str, Any]:
    # (waits for what is about to end)
    assert dask_worker.transfer_incoming_log is not None
    assert dask_worker.transfer_outgoing_log is not None
    return {
        "open": (
            dask_worker.transfer_incoming_count,
            dask_worker.transfer_incoming_bytes,
            dask_worker.transfer_outgoing_count,
            dask_worker.transfer_outgoing_bytes,
        ),
        "incoming": dask_worker.transfer_incoming_count_total,
        "outgoing": dask_worker.transfer_outgoing_count_total,
        "bytes": dask_worker.transfer_outgoing_bytes_total,
    }


def test_fields_are_those_of_distributed(client: Client) -> None:
    """And each is of the same kind."""
    with their_client(2) as theirs:
        ours, upstream = moved_once(client), moved_once(theirs)
    assert ours == upstream


def moved_once(client: Any) -> list[dict[str, type]]:
    """Names and kinds of the fields of a transfer, at both sides."""
    here, there = list(client.nthreads())[:2]
    made = client.submit(np.ones, MIB, workers=[here], pure=False)
    client.submit(length, made, workers=[there], pure=False).result()
    found = []
    for name, worker in (("transfer_incoming_log", there), ("transfer_outgoing_log", here)):
        # (`distributed` notes some time later that an answer has arrived)
        entries = wait_until("it is logged", partial(entries_of, client, name, worker))
        found.append({field: type(value) for field, value in entries[-1].items()})
    return found


def entries_of(client: Any, name: str, worker: str) -> list[dict[str, Any]]:
    return list(client.run(getattr_of, name)[worker])
