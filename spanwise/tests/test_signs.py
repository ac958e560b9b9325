"""Results that a client reads where they lie: what is shown, until when, and what is told of it."""

from __future__ import annotations

import copyreg
import mmap
import os
import secrets
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import Client, wait
from spanwise.client import peers
from spanwise.client.peers import Peers
from spanwise.client.session import dump
from spanwise.records.enumerations import NONE_U32
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.test_client_any_frames import LyingScheduler
from spanwise.wire import direct, payload, raw_memory, sign
from spanwise.wire import link as wire_link
from spanwise.wire.door import listen
from spanwise.wire.errors import BrokenFrame, LinkError
from spanwise.wire.handshake import new_secret
from spanwise.wire.link import Link
from spanwise.worker import signs
from spanwise.worker.door import Server
from spanwise.worker.errors import CannotPickle
from spanwise.worker.signs import Signs

reads = pytest.mark.skipif(not sign.IS_POSSIBLE, reason="process_vm_readv, on x86")

MIB = 2**20
NUMBERS = MIB // 8


def array(value: float, mib: int = 1) -> Any:
    return np.full(mib * NUMBERS, value)


def shown(made: Signs, value: Any) -> sign.Sign | None:
    told = made.show(value)
    return None if told is None else sign.unpack(memoryview(told))


def read(told: sign.Sign | None) -> Any:
    """What this process reads in its own memory; None: nothing."""
    assert told is not None
    came = sign.read(os.getpid(), told, lambda: True)
    return None if came is None else payload.loads(came)


# ── marks ─────────────────────────────────────────────────────────────────

base = np.arange(4 * NUMBERS, dtype="f8")


@reads
@pytest.mark.parametrize(
    "value",
    [
        base,
        base[NUMBERS : 2 * NUMBERS],
        base.reshape(4, -1),
        np.asfortranarray(base.reshape(512, -1)),
        base.view("c16"),
        base.astype("i1"),
        base > 1000.0,
        base[: sign.LEAST_BYTES // 8],
    ],
    ids=["whole", "part", "rows", "columns", "complex", "bytes", "truths", "least"],
)
def test_an_array_is_read_as_it_is(value: Any) -> None:
    made = Signs()
    found = read(shown(made, value))
    assert found.dtype == value.dtype and found.shape == value.shape
    assert found.flags.c_contiguous == value.flags.c_contiguous and (found == value).all()
    assert found.flags.writeable and made.count == 1


KINDS = ["i1", "<u2", ">u2", "f4", ">f4", "f8", "g", "c8", "?"]


def laid_out(shape: tuple[int, ...], dtype: str, order: Any, writeable: bool, first: int) -> Any:
    """An array of numbers that follow one another in memory, from one on."""
    made = np.empty(shape, dtype, order)
    made.ravel("K")[:] = np.arange(first, first + made.size) % 100
    made.flags.writeable = writeable
    return made


def orders(value: Any) -> tuple[bool, bool]:
    return value.flags.c_contiguous, value.flags.f_contiguous


@reads
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.builds(
            laid_out,
            st.sampled_from([(2**17,), (2**9, 2**8), (2**8, 2**9), (1, 2**17), (2**8, 2**4, 2**5)]),
            st.sampled_from(KINDS),
            st.sampled_from("CF"),
            st.booleans(),
            st.integers(0, 99),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_an_array_is_read_as_it_is_whatever_was_shown_before(values: list[Any]) -> None:
    """Those that are alike are pickled once."""
    made = Signs()
    for value in values * 2:
        told = shown(made, value)
        found = read(told)
        assert type(found) is np.ndarray and found.dtype == value.dtype
        assert found.shape == value.shape and orders(found) == orders(value)
        assert (found == value).all() and found.flags.writeable == value.flags.writeable
        assert told is not None
        assert told.small == b"".join(direct.split(payload.dumps(value))[0])


@reads
def test_arrays_that_are_alike_are_pickled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, dumps, pickled = Signs(), payload.dumps, list[Any]()
    monkeypatch.setattr(payload, "dumps", lambda value: pickled.append(value) or dumps(value))
    monkeypatch.setattr(signs, "MOST_KINDS", 2)
    values = [array(float(i)) for i in range(4)]
    for value in values:
        assert (read(shown(made, value)) == value).all()
    assert len(pickled) == 1
    for each in (values[0].view("i8"), values[0].view("u8"), values[0]):
        assert (read(shown(made, each)) == each).all()
    assert len(pickled) == 4, "only so many kinds are known"
    # What somebody has set up for arrays meanwhile counts.
    monkeypatch.setitem(copyreg.dispatch_table, np.ndarray, lambda _: (int, (5,)))
    assert made.show(values[0]) is None
    assert len(pickled) == 5


@reads
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.filterwarnings("error")
def test_a_broadcast_array_is_read_only_and_none_beside_it(first: int) -> None:
    """`flags.writeable` says otherwise, with a warning that is the user's."""
    plain = np.ones((1, 2**17))
    broadcast = np.broadcast_arrays(plain[0], np.ones((1, 1)))[0]
    assert broadcast.shape == plain.shape
    made = Signs()
    for value in [broadcast, plain, broadcast, plain][first:]:
        assert read(shown(made, value)).flags.writeable == (value is plain)


class Own(np.ndarray):
    """Pickles as it likes."""


@pytest.mark.parametrize(
    "value",
    [
        base[::2],
        base.view(Own),
        np.array([object()] * 100_000),
        np.zeros(100_000, dtype=[("a", "f8")]),
        np.zeros(100_000, dtype="S8"),
        base[: sign.LEAST_BYTES // 8 - 1],
        np.zeros(sign.MOST_BYTES // 8 + 1),
        bytes(MIB),
        [base],
    ],
    ids=["steps", "subclass", "objects", "fields", "texts", "small", "large", "bytes", "list"],
)
def test_other_values_are_asked_for(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And are not pickled to find that out, which may copy them."""
    made, pickled = Signs(), list[Any]()
    monkeypatch.setattr(payload, "dumps", pickled.append)
    assert made.show(value) is None and made.count == 0
    assert not pickled


def test_a_copy_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    made, dumps = Signs(), payload.dumps
    monkeypatch.setattr(payload, "dumps", lambda value: dumps(value.copy()))
    assert made.show(array(1.0)) is None and made.count == 0


@reads
def test_an_array_that_has_ended_is_not_read() -> None:
    made = Signs()
    value = array(1.0)
    before = shown(made, value)
    view = value[:100_000]
    del value
    # (a view holds the array that it is one of)
    assert (read(before) == 1.0).all()
    del view
    others = [array(float(i)) for i in range(8)]
    told = [shown(made, each) for each in others]
    try:
        assert read(before) is None
    except OSError:
        pass  # nothing is mapped there
    assert [read(each)[0] for each in told] == [float(i) for i in range(8)]
    # The place of its mark is another's now: the number tells them apart.
    assert before is not None
    assert before.mark_address in [each.mark_address for each in told if each is not None]


@reads
def test_the_mark_goes_before_the_memory() -> None:
    marks: list[int] = []

    class Memory(bytearray):
        def __del__(self) -> None:
            marks.append(direct.number_at(os.getpid(), address))

    made = Signs()
    value = np.frombuffer(Memory(MIB))
    told = shown(made, value)
    assert told is not None
    address = told.mark_address
    assert direct.number_at(os.getpid(), address) == told.mark
    del value
    assert marks == [0]


@reads
def test_what_ends_while_it_is_read_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Signs()
    values = [array(1.0)]
    told = shown(made, values[0])
    copy = direct.Direct.read

    def read_late(self: direct.Direct) -> memoryview:
        came = copy(self)
        values.clear()
        return came

    monkeypatch.setattr(direct.Direct, "read", read_late)
    assert read(told) is None


@reads
def test_marks_are_bounded_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "MOST_SHOWN", 3)
    made = Signs()
    for _ in range(3):
        values = [array(float(i)) for i in range(5)]
        told = [shown(made, each) for each in values]
        assert made.count == 3
        # The oldest are asked for: their places are others'.
        assert [read(each) for each in told[:2]] == [None, None]
        assert [read(each)[0] for each in told[2:]] == [2.0, 3.0, 4.0]
        del values[:2]
        assert made.count == 3
        assert [read(each)[0] for each in told[2:]] == [2.0, 3.0, 4.0]
        del values
        assert made.count == 0


@reads
def test_what_ends_while_its_place_is_taken_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of a worker do both at the same time."""
    monkeypatch.setattr(signs, "MOST_SHOWN", 1)
    made = Signs()
    values = [array(1.0)]
    told = shown(made, values[0])
    assert told is not None
    at = told.mark_address

    class Taken(dict[int, Any]):
        """The oldest array ends when its place is just being taken."""

        def pop(self, *args: Any) -> Any:
            made._watched = dict(self)
            found = made._watched.pop(*args)
            values.clear()
            assert direct.number_at(os.getpid(), at) == 0
            return found

    made._watched = Taken(made._watched)
    other = array(2.0)
    assert read(shown(made, other))[0] == 2.0 and made.count == 1
    del other
    assert made.count == 0 and made._free == [0]


@reads
def test_an_array_that_is_shown_keeps_its_memory() -> None:
    made = Signs()
    value = array(1.0)
    made.show(value)
    with pytest.raises(ValueError, match="resize"):
        value.resize(8 * NUMBERS, refcheck=False)


@reads
def test_two_workers_marks_differ() -> None:
    one, two, value = Signs(), Signs(), array(1.0)
    first, second = shown(one, value), shown(two, value)
    assert first is not None and second is not None and first.mark != second.mark


@reads
def test_memory_that_is_not_there_is_not_read() -> None:
    # (large: what is read goes to the end of the gap, if to that)
    with mmap.mmap(-1, 64 * MIB) as memory:
        address = raw_memory.address_of(memory)
    made, value = Signs(), array(1.0)
    told = shown(made, value)
    assert told is not None
    for wrong in (told._replace(address=address), told._replace(mark_address=address)):
        with pytest.raises(OSError, match="address"):
            read(wrong)


@pytest.mark.parametrize(
    "metadata", [{"lock": threading.Lock()}, {"unit": "m"}], ids=["a lock", "a unit"]
)
def test_what_a_dtype_brings_along_is_not_pickled(
    metadata: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pickled: list[Any] = []
    monkeypatch.setattr(payload, "dumps", pickled.append)
    assert Signs().show(np.full(NUMBERS, 1.0, np.dtype("f8", metadata=metadata))) is None
    assert not pickled


@pytest.mark.parametrize("error", [TypeError, SystemExit, KeyboardInterrupt])
def test_what_cannot_be_pickled_is_not_shown(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any) -> Any:
        raise error

    monkeypatch.setattr(payload, "dumps", refuse)
    made = Signs()
    assert made.show(array(1.0)) is None and made.count == 0


@pytest.mark.parametrize(
    ("told", "length"),
    [
        ((0, 8, 8, MIB, 0), 32),
        ((1, 8, 8, 1, 0), 32),
        ((1, 8, 8, 2**40, 0), 32),
        ((1, 8, 8, MIB, 0), 31),
        ((1, 0, 8, MIB, 0), 32),
        ((1, 8, 0, MIB, 0), 32),
        ((1, 2**63, 8, MIB, 0), 32),
        ((1, 8, 2**64 - 1, MIB, 0), 32),
        ((1, 8, 8, MIB, sign.MOST_SMALL_BYTES + 1), 2**20),
    ],
)
def test_a_sign_that_cannot_be_is_refused(
    told: tuple[int, int, int, int, int], length: int
) -> None:
    mark, mark_address, address, nbytes, small = told
    packed = sign.pack(mark, mark_address, address, nbytes, bytes(small))
    with pytest.raises(BrokenFrame, match="sign"):
        sign.unpack(memoryview(packed[:length]))


def test_a_sign_keeps_nothing_of_the_report_that_brought_it() -> None:
    report = bytearray(sign.pack(1, 8, 8, MIB, b"described") + bytes(MIB))
    with memoryview(report)[: 32 + 9] as came:
        told = sign.unpack(came)
    report.clear()  # (an error while somebody sees it)
    assert told.small == b"described"


def test_what_is_cancelled_keeps_no_sign() -> None:
    scheduler = LyingScheduler()
    told = sign.pack(1, 8, 8, MIB, b"")
    tasks = [(0, 0, 1, 0, 8.0, 0, len(told), NONE_U32)]
    scheduler.link.send("report", None, {"tasks": tasks, "signs": [(0,)]}, [told])
    assert scheduler.lives()
    (entry,) = [each for each in scheduler.entries if each.id == 0]
    assert [entry.sign] == [sign.unpack(memoryview(told))]
    scheduler.session.cancel([entry], False, "by a test")
    assert entry.sign is None
    scheduler.close()


@pytest.mark.parametrize("row", [0, 1], ids=["too short", "of no task"])
def test_a_report_with_a_sign_that_cannot_be_is_refused(row: int) -> None:
    scheduler = LyingScheduler()
    tasks = [(0, 0, 1, 0, 8.0, 0, 5, NONE_U32)]
    scheduler.link.send("report", None, {"tasks": tasks, "signs": [(row,)]}, [b"12345"])
    assert not scheduler.lives()
    assert scheduler.session.dead is not None and '"report".signs.row' in scheduler.session.dead
    scheduler.close()


# ── clusters ──────────────────────────────────────────────────────────────


class Sent(Counter[str]):
    """Counts what this process says at workers' doors."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    counted = Sent()
    send = Link.send

    def count(self: Link, kind: str, *args: Any, **kwargs: Any) -> None:
        if self.role == "peer":
            counted[kind] += 1
        send(self, kind, *args, **kwargs)

    monkeypatch.setattr(Link, "send", count)
    return counted


@pytest.fixture
def first(cluster: Client) -> Iterator[str]:
    """A worker whose door this client has been at."""
    (address, *_) = cluster.nthreads()
    cluster.submit(array, 0.5, workers=[address], pure=False).result()
    yield address


def count_of(dask_worker: Any) -> int:
    return int(dask_worker._worker.signs.count)


def wait_until_nothing_is_shown(cluster: Client) -> None:
    wait_until("nothing is shown", lambda: not any(cluster.run(count_of).values()))


@reads
def test_clients_do_not_ask(cluster: Client, first: str, sent: Sent) -> None:
    for i in range(10):
        future = cluster.submit(array, float(i), workers=[first], pure=False)
        found = future.result()
        assert found.shape == (NUMBERS,) and (found == float(i)).all()
        # (and once more, of an array that was changed here)
        found[:] = -1.0
        assert (future.result() == float(i)).all()
        del future
    assert sent["get"] == sent["got"] == 0
    wait_until_nothing_is_shown(cluster)


@reads
def test_several_at_once_come_in_their_order(cluster: Client, first: str, sent: Sent) -> None:
    futures = [
        cluster.submit(array, float(i), 1 if i % 3 else 32, workers=[first], pure=False)
        for i in range(7)
    ]
    assert [each[-1] for each in cluster.gather(futures)] == [float(i) for i in range(7)]
    # What is too large is asked for, in one go.
    assert sent["get"] == 1


@reads
def test_what_another_worker_has_moved_is_asked_for(
    cluster: Client, first: str, sent: Sent
) -> None:
    (other,) = set(cluster.nthreads()) - {first}
    future = cluster.submit(array, 3.0, 2, workers=[first], pure=False)
    # A copy in shared memory, into which the result itself moves.
    total = cluster.submit(np.sum, future, workers=[other], pure=False).result()
    assert total == 3.0 * 2 * NUMBERS
    wait_until_nothing_is_shown(cluster)
    sent.clear()
    assert (future.result() == 3.0).all() and sent["get"] == 1


@reads
def test_what_goes_while_it_is_read_is_asked_for(
    cluster: Client, first: str, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    future = cluster.submit(array, 4.0, workers=[first], pure=False)
    copy = direct.Direct.read

    def replace(dask_worker: Any) -> None:
        values = dask_worker._worker.table.values
        for task_id, value in list(values.items()):
            if type(value) is np.ndarray:
                values[task_id] = value.copy()

    def read_late(self: direct.Direct) -> memoryview:
        came = copy(self)
        monkeypatch.setattr(direct.Direct, "read", copy)
        cluster.run(replace)
        sent.clear()
        return memoryview(bytearray(came.nbytes))

    monkeypatch.setattr(direct.Direct, "read", read_late)
    assert (future.result() == 4.0).all() and sent["get"] == 1


@reads
def test_memory_that_must_not_be_read_is_asked_for(
    cluster: Client, first: str, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    future = cluster.submit(array, 5.0, workers=[first], pure=False)

    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(direct, "_copy", refuse)
        assert (future.result() == 5.0).all()
    assert sent["get"] >= 1
    # (nor tried again at this worker)
    sent.clear()
    assert (future.result() == 5.0).all() and sent["get"] == 1
    for peer in cluster._session.peers._peers.values():
        peer.reads = True


@reads
def test_another_worker_s_memory_is_not_taken_for_the_result(
    cluster: Client, first: str, sent: Sent
) -> None:
    (other,) = set(cluster.nthreads()) - {first}
    cluster.submit(array, 0.5, workers=[other], pure=False).result()
    future = cluster.submit(array, 8.0, workers=[first], pure=False)
    wait(future)
    entry = future._entry
    assert entry is not None and entry.sign is not None
    (number,) = [row["id"] for row in cluster._session.running_workers() if row["address"] == other]
    entry.worker = number
    sent.clear()
    assert (future.result() == 8.0).all() and sent["get"] >= 1


def with_a_lock() -> Any:
    return np.ones(NUMBERS, dtype=np.dtype("f8", metadata={"lock": threading.Lock()}))


def refuse_arrays(refuses: bool) -> None:
    def refuse(_: Any) -> Any:
        raise TypeError("No arrays.")

    if refuses:
        copyreg.pickle(np.ndarray, refuse)
    else:
        del copyreg.dispatch_table[np.ndarray]


def test_a_result_that_cannot_be_pickled_is_an_error_only_for_who_asks(
    cluster: Client, first: str
) -> None:
    future = cluster.submit(with_a_lock, workers=[first], pure=False)
    assert cluster.submit(np.sum, future, workers=[first], pure=False).result() == NUMBERS
    assert future.status == "finished"
    with pytest.raises(CannotPickle, match="lock"):
        future.result()
    cluster.run(refuse_arrays, True)
    try:
        future = cluster.submit(array, 1.0, workers=[first], pure=False)
        assert cluster.submit(np.sum, future, workers=[first], pure=False).result() == NUMBERS
        assert future.status == "finished"
        with pytest.raises(CannotPickle, match="No arrays"):
            future.result()
    finally:
        cluster.run(refuse_arrays, False)
    assert (future.result() == 1.0).all()


def own_pid() -> int:
    return os.getpid()


def test_a_killed_worker_result_is_made_again() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        client.submit(array, 0.5).result()
        future = client.submit(array, 6.0)
        assert (future.result() == 6.0).all()
        pid = client.submit(own_pid, pure=False).result()
        os.kill(pid, signal.SIGKILL)
        assert (future.result() == 6.0).all()
        assert client.submit(own_pid, pure=False).result() != pid
        assert (future.result() == 6.0).all()


@reads
def test_a_stopped_worker_results_are_read(cluster: Client, first: str) -> None:
    future = cluster.submit(array, 7.0, workers=[first], pure=False)
    pid = cluster.submit(own_pid, workers=[first], pure=False).result()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert (future.result() == 7.0).all()
    finally:
        os.kill(pid, signal.SIGCONT)


@reads
def test_a_killed_client_leaves_nothing(cluster: Client) -> None:
    program = """
        import sys, time
        import numpy as np
        from spanwise import Client

        client = Client(sys.argv[1])
        held = [client.submit(np.full, 131072, float(i), pure=False) for i in range(5)]
        print(sum(each.result()[0] for each in held), flush=True)
        time.sleep(600)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), cluster.address],
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "10.0\n"
            assert sum(cluster.run(count_of).values()) == 5
        finally:
            other.kill()
    wait_until_nothing_is_shown(cluster)


# ── what is told of it ────────────────────────────────────────────────────


def outgoing(dask_worker: Any) -> list[tuple[Any, int]]:
    return [
        (key, nbytes)
        for each in dask_worker.transfer_outgoing_log
        if each["who"] is None
        for key, nbytes in each["keys"].items()
    ]


def total_of(dask_worker: Any) -> tuple[int, int]:
    count = dask_worker.transfer_outgoing_count_total
    return count, dask_worker.transfer_outgoing_bytes_total


def test_who_asks_finds_all_in_the_log(cluster: Client, first: str) -> None:
    count, nbytes = cluster.run(total_of)[first]
    names = [f"logged-{i}" for i in range(5)]
    for name in names:
        cluster.submit(array, 1.0, workers=[first], key=name).result()
    log = cluster.run(outgoing)[first]
    assert [each for each in log if each[0] in names] == [(name, MIB) for name in names]
    assert cluster.run(total_of)[first] == (count + 5, nbytes + 5 * MIB)


@reads
def test_workers_are_told_by_and_by(cluster: Client, first: str, sent: Sent) -> None:
    with Client(cluster.address, set_as_default=False) as other:
        count, _ = cluster.run(total_of)[first]
        futures = [
            cluster.submit(array, 1.0 * i, workers=[first], pure=False)
            for i in range(2 * peers.TELL_READS)
        ]
        sent.clear()
        began = time.monotonic()
        for each in futures:
            each.result()
        wait_until("it is told", lambda: other.run(total_of)[first][0] == count + len(futures))
        # Many at a time: it is told after so many reads, and so long after the first of fewer.
        by_number = len(futures) / peers.TELL_READS
        by_time = (time.monotonic() - began) / peers.TELL_SECONDS
        assert 1 <= sent["taken"] <= by_number + by_time + 1


@reads
def test_what_is_read_while_workers_are_told_is_told_the_next_time(
    cluster: Client, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "TELL_SECONDS", 600.0)
    here = cluster._session.peers
    wait_until("nothing is to be told", lambda: here.tell_after() is None)
    future = cluster.submit(array, 1.0, workers=[first], pure=False)
    send, told = Link.send, []

    def read_meanwhile(self: Link, kind: str, *args: Any) -> None:
        if kind == "taken":
            told.append(len(args[1]["reads"]))
            future.result()
        send(self, kind, *args)

    for _ in range(3):
        future.result()
    monkeypatch.setattr(Link, "send", read_meanwhile)
    here.tell()
    assert told == [3]
    here.tell()
    assert told == [3, 1]


@reads
def test_no_more_waits_to_be_told_than_is_bounded(
    cluster: Client, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "TELL_SECONDS", 600.0)
    monkeypatch.setattr(peers, "TELL_READS", 10**9)
    here = cluster._session.peers
    future = cluster.submit(array, 1.0, workers=[first], pure=False)
    (peer,) = [each for address, each in here._peers.items() if address == first]
    here.have_told([first], time.monotonic() + LIMIT_SECONDS)
    bound = peer.taken.maxlen
    assert bound is not None
    for _ in range(5):
        future.result()
    assert len(peer.taken) == 5 < bound <= 10_000
    here.have_told([first], time.monotonic() + LIMIT_SECONDS)
    assert not peer.taken


def test_only_those_are_waited_for_that_run_it_and_not_for_long(
    cluster: Client, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped worker took two seconds of each call, each of them, and its link was dropped."""
    asked: list[list[str]] = []
    limit = peers.TOLD_SECONDS

    def have_told(_: Peers, addresses: Iterable[str], until: float) -> None:
        assert until <= time.monotonic() + limit
        asked.append(sorted(addresses))

    monkeypatch.setattr(Peers, "have_told", have_told)
    (other,) = set(cluster.nthreads()) - {first}
    cluster.run(own_pid, workers=[other])
    cluster.run(own_pid)
    cluster.run(own_pid, wait=False)
    assert asked == [[other], sorted([first, other])]
    cluster._run(dump((own_pid, (), {})), None, True, "ignore", 60.0)
    # Those that answer have the other half of the limit.
    limit = 0.5
    cluster._run(dump((own_pid, (), {})), None, True, "ignore", 2 * limit)
    assert len(asked) == 4


# ── doors that do not answer at once ──────────────────────────────────────


class HearingDoor:
    """Stands for a worker's door, in this process: hears what was read, answers if it may.

    Parameters
    ----------
    answers
        Waited for before each answer.
    listens
        Waited for before anything is read.
    """

    def __init__(self, folder: Path, name: str, secret: bytes, answers: Any, listens: Any) -> None:
        self.proof = secrets.token_bytes(direct.PROOF_BYTES)
        self.called, self.may_enter = threading.Event(), threading.Event()
        self.may_enter.set()
        self.answers, self.listens = answers, listens
        #: Task ids of which it was told.
        self.heard: list[int] = []
        self.asked = threading.Event()
        self.door = listen(folder, name, secret, ["peer"], self._hear, self._welcome)
        self.here = Peers(secret)

    def _welcome(self, *_: Any) -> dict[str, Any]:
        self.called.set()
        self.may_enter.wait(LIMIT_SECONDS)
        return {"proof": self.proof.hex(), "proofAt": raw_memory.address_of(self.proof)}

    def _hear(self, link: Link) -> None:
        if self.listens is not None:
            self.listens.wait(LIMIT_SECONDS)
        with suppress(LinkError):
            while True:
                message = link.read()
                if message.type == "taken":
                    self.heard += [row[0] for row in message.table("reads")]
                elif message.type == "get":
                    self.asked.set()
                    self.answers.wait(LIMIT_SECONDS)
                    link.send("data", {"request": message.fields["request"]})

    def peer(self, here: Peers | None = None) -> Any:
        """What is known here of the door."""
        return (here or self.here)._peer(self.door.address)


def untold(task_id: int) -> tuple[int, float, float, float]:
    return task_id, 8.0, time.monotonic(), 0.0


def may() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Callable[..., HearingDoor]]:
    made: list[HearingDoor] = []
    tmp_path.chmod(0o700)
    secret = new_secret()

    def make(answers: Any, listens: Any = None) -> HearingDoor:
        made.append(HearingDoor(tmp_path, f"door-{len(made)}", secret, answers, listens))
        return made[-1]

    yield make
    for each in made:
        each.may_enter.set()
        for event in (each.answers, each.listens):
            if isinstance(event, threading.Event):
                event.set()
        each.here.close()
        each.door.close()


@reads
def test_who_looks_while_another_thread_is_let_in_spoils_nothing(
    doors: Callable[..., HearingDoor],
) -> None:
    """The process was seen before it had shown its memory, and never read from then on."""
    made, value = Signs(), array(3.0)
    told = shown(made, value)
    assert told is not None
    door = doors(may())
    here, address = door.here, door.door.address
    door.may_enter.clear()
    asking = threading.Thread(target=here.get, args=(address, []))
    asking.start()
    assert door.called.wait(LIMIT_SECONDS)
    link = door.peer().link
    assert here.look(address, 1, MIB, told) is None
    assert link.peer == 0 and door.peer().open is None
    door.may_enter.set()
    asking.join(LIMIT_SECONDS)
    came = here.look(address, 1, MIB, told)
    assert came is not None and (payload.loads(came) == 3.0).all()


@reads
def test_a_sign_of_nothing_is_asked_for(doors: Callable[..., HearingDoor]) -> None:
    """And raises nothing from `result`."""
    door = doors(may())
    door.here.get(door.door.address, [])
    for told in (sign.Sign(1, 8, 0, MIB, b""), sign.Sign(1, 8, 8, MIB, b"")):
        assert door.here.look(door.door.address, 1, MIB, told) is None


def test_all_are_told_before_one_is_waited_for(doors: Callable[..., HearingDoor]) -> None:
    all_asked = threading.Barrier(3)
    made = [doors(all_asked) for _ in range(3)]
    here = made[0].here
    links = []
    for number, each in enumerate(made):
        peer = each.peer(here)
        here._open(peer, each.door.address)
        links.append(peer.link)
        peer.taken.append(untold(number))
    here.have_told([each.door.address for each in made], time.monotonic() + LIMIT_SECONDS)
    assert [each.heard for each in made] == [[0], [1], [2]]
    assert [each.peer(here).link for each in made] == links
    assert not any(each.peer(here).unanswered for each in made)


def test_who_does_not_answer_in_time_keeps_its_link(doors: Callable[..., HearingDoor]) -> None:
    door = doors(threading.Event())
    here, address, peer = door.here, door.door.address, door.peer()
    link = here._open(peer, address)
    for number in range(2):
        peer.taken.append(untold(number))
        here.have_told([address], time.monotonic() + 0.05)
    assert len(peer.unanswered) == 2 and door.asked.wait(LIMIT_SECONDS)
    door.answers.set()
    # Its answers are not taken for that to the next question.
    assert here.get(address, []) == {}
    assert peer.link is link and not peer.unanswered and door.heard == [0, 1]


def test_what_was_read_is_told_over_the_next_link(doors: Callable[..., HearingDoor]) -> None:
    door = doors(may())
    here, address, peer = door.here, door.door.address, door.peer()
    for number in range(2):
        peer.taken.append(untold(number))
        here.tell()
        assert len(peer.taken) == 1 and here.tell_after() is None
        here.get(address, [])
        assert door.heard == list(range(number + 1)) and not peer.taken
        peer.link.close()


def test_who_reads_nothing_holds_nobody_up(
    doors: Callable[..., HearingDoor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases to the whole cluster waited for one stopped worker."""
    monkeypatch.setattr(wire_link, "STALL_SECONDS", 5.0)
    door = doors(may(), threading.Event())
    here, peer = door.here, door.peer()
    link = here._open(peer, door.door.address)
    told = 0
    for _ in range(100):
        room = peer.taken.maxlen - len(peer.taken)
        peer.taken.extend(untold(told + row) for row in range(room))
        told += room
        here.tell()
    assert peer.open is link and not link.closed
    assert peer.taken and here.tell_after() is not None
    # (nor who closes the client, nor who asks for an answer)
    here.have_told([door.door.address], time.monotonic() + 0.05)
    assert peer.open is link and peer.taken
    door.listens.set()

    def is_told() -> bool:
        here.tell()
        return not peer.taken

    wait_until("all is told", is_told)
    here.have_told([door.door.address], time.monotonic() + LIMIT_SECONDS)
    wait_until("all is heard", lambda: len(door.heard) == told)
    assert door.heard == list(range(told))


def test_all_links_are_closed_whoever_tells_meanwhile(doors: Callable[..., HearingDoor]) -> None:
    class Emptied(deque[Any]):
        """Another thread has just told what is there."""

        def __len__(self) -> int:
            return 1

    made = [doors(may()) for _ in range(2)]
    here = made[0].here
    links = []
    for each in made:
        links.append(here._open(each.peer(here), each.door.address))
    made[0].peer(here).taken = Emptied()
    here.close()
    assert [each.closed for each in links] == [True, True]


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ((1, -1.0, 0.0, 0.0), "nbytes"),
        ((1, 8.0, -1.0, 0.0), "ago"),
        ((1, 8.0, 0.0, -1.0), "seconds"),
        ((1, 8.0, float("nan"), 0.0), "ago"),
    ],
)
def test_what_cannot_have_been_read_is_refused(
    ends: tuple[Link, Link], row: tuple[int, float, float, float], column: str
) -> None:
    down, up = ends
    worker: Any = SimpleNamespace(transfers=SimpleNamespace(outgoing=None), ledger=None)
    up.send("taken", {}, {"reads": [row]})
    with pytest.raises(BrokenFrame, match=f"reads.{column}"):
        Server(worker)._taken(down, down.read())
