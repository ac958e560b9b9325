"""Results that a client reads where they lie: what is shown, until when, and what is told of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from spanwise import Client
from spanwise.client import peers
from spanwise.records.enumerations import NONE_U32
from spanwise.tests.processes import wait_until
from spanwise.tests.test_client_any_frames import LyingScheduler
from spanwise.wire import direct, payload, sign
from spanwise.wire.errors import BrokenFrame
from spanwise.wire.link import Link
from spanwise.worker import signs
from spanwise.worker.signs import Signs

pytestmark = pytest.mark.skipif(not sign.IS_POSSIBLE, reason="process_vm_readv, on x86")

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
    made = Signs()
    monkeypatch.setattr(payload, "dumps", None)
    assert made.show(value) is None and made.count == 0


def test_a_copy_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    made, dumps = Signs(), payload.dumps
    monkeypatch.setattr(payload, "dumps", lambda value: dumps(value.copy()))
    assert made.show(array(1.0)) is None and made.count == 0


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


def test_marks_are_bounded_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "MOST_SHOWN", 3)
    made = Signs()
    for _ in range(3):
        values = [array(float(i)) for i in range(4)]
        told = [shown(made, each) for each in values]
        assert told[3] is None and made.count == 3
        assert [read(each)[0] for each in told[:3]] == [0.0, 1.0, 2.0]
        del values
        assert made.count == 0


def test_an_array_that_is_shown_keeps_its_memory() -> None:
    made = Signs()
    value = array(1.0)
    made.show(value)
    with pytest.raises(ValueError, match="resize"):
        value.resize(8 * NUMBERS, refcheck=False)


def test_two_workers_marks_differ() -> None:
    one, two, value = Signs(), Signs(), array(1.0)
    first, second = shown(one, value), shown(two, value)
    assert first is not None and second is not None and first.mark != second.mark


@pytest.mark.parametrize(
    ("mark", "nbytes", "length"), [(0, MIB, 32), (1, 1, 32), (1, 2**40, 32), (1, MIB, 31)]
)
def test_a_sign_that_cannot_be_is_refused(mark: int, nbytes: int, length: int) -> None:
    told = sign.pack(mark, 8, (0, 8, nbytes), [])
    with pytest.raises(BrokenFrame, match="sign"):
        sign.unpack(memoryview(told[:length]))


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


def test_several_at_once_come_in_their_order(cluster: Client, first: str, sent: Sent) -> None:
    futures = [
        cluster.submit(array, float(i), 1 if i % 3 else 32, workers=[first], pure=False)
        for i in range(7)
    ]
    assert [each[-1] for each in cluster.gather(futures)] == [float(i) for i in range(7)]
    # What is too large is asked for, in one go.
    assert sent["get"] == 1


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


def test_a_stopped_worker_results_are_read(cluster: Client, first: str) -> None:
    future = cluster.submit(array, 7.0, workers=[first], pure=False)
    pid = cluster.submit(own_pid, workers=[first], pure=False).result()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert (future.result() == 7.0).all()
    finally:
        os.kill(pid, signal.SIGCONT)


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


def test_workers_are_told_by_and_by(cluster: Client, first: str, sent: Sent) -> None:
    with Client(cluster.address, set_as_default=False) as other:
        count, _ = cluster.run(total_of)[first]
        futures = [
            cluster.submit(array, 1.0 * i, workers=[first], pure=False)
            for i in range(2 * peers.TELL_READS)
        ]
        sent.clear()
        for each in futures:
            each.result()
        wait_until("it is told", lambda: other.run(total_of)[first][0] == count + len(futures))
        # Many at a time.
        assert 1 <= sent["taken"] <= len(futures) // 4


def test_no_more_waits_to_be_told_than_is_bounded(
    cluster: Client, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "TELL_SECONDS", 600.0)
    monkeypatch.setattr(peers, "TELL_READS", 10**9)
    here = cluster._session.peers
    future = cluster.submit(array, 1.0, workers=[first], pure=False)
    (peer,) = [each for address, each in here._peers.items() if address == first]
    here.have_told()
    bound = peer.taken.maxlen
    assert bound is not None
    for _ in range(5):
        future.result()
    assert len(peer.taken) == 5 < bound <= 10_000
    here.have_told()
    assert not peer.taken
