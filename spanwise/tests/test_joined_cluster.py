"""Clients of clusters that another client started, on real processes and sockets."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import pytest
from dask import delayed

import spanwise
from spanwise import Client, Future, LocalCluster, span
from spanwise.client import joined_cluster, private_cluster
from spanwise.client.cluster_file import find_cluster
from spanwise.client.private_cluster import how_ended
from spanwise.errors import CancelledError, ClusterError, SchedulerLost
from spanwise.processes.process_state import is_stopped, lives
from spanwise.tests.processes import LIMIT_SECONDS, wait_until

#: Evaluates each line that it gets, and answers with a line.
_PROGRAM = """
import json, sys
import dask, dask.array as da
from spanwise import Client, span
from spanwise.tests.test_joined_cluster import *
for line in sys.stdin:
    try:
        answer = eval(line, globals())
    except BaseException as error:
        answer = type(error).__name__ + ": " + str(error)
    print(json.dumps(answer, default=str), flush=True)
"""


class Program:
    """Another program with a client, which does what it is told."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __call__(self, expression: str) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(expression + "\n")
        line = self.process.stdout.readline()
        assert line, f"the program ended at {expression}"
        return json.loads(line)

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.end()


@pytest.fixture(scope="module")
def owner() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1, name="shared") as made:
        yield made


def kept_values() -> int:
    return len(threading.current_thread().worker.table.values)  # type: ignore[attr-defined]


def long_sleep() -> str:
    for _ in range(60_000):
        time.sleep(0.01)
    return "never"


def mark_and_wait(folder: str, number: int) -> None:
    (Path(folder) / str(number)).touch()
    while not (Path(folder) / "gate").exists():
        time.sleep(0.01)


def folder_of(client: Client) -> Path:
    return Path(client.address.removeprefix("unix:")).parent


def test_two_programs_compute_on_one_cluster(owner: Client, program: Program) -> None:
    mine = owner.submit(lambda: "the owner's", key="same")
    assert mine.result(LIMIT_SECONDS) == "the owner's"
    address = owner.scheduler_info()["address"]
    assert program(f"(client := Client({address!r})).status") == "running"
    assert program("client.cluster is None and Client.current() is client")
    assert program("client.scheduler_info()['id']") == owner.id
    assert program("(future := client.submit(lambda: 'the guest\\'s', key='same')).result(60)") == (
        "the guest's"
    )
    with span("ours"):
        total = da.ones((40,), chunks=10).sum().compute()
    assert total == 40 == program("int(da.ones((40,), chunks=10).sum().compute())")
    assert program("client.gather(client.map(abs, range(-9, 0)))") == [*range(9, 0, -1)]
    assert program("client.gather(client.scatter([1, 2]))") == [1, 2]
    assert program("len(client.fine_metrics()) > 0"), "the cluster's observer answers guests"
    assert mine.result(LIMIT_SECONDS) == "the owner's"
    assert program("client.close()") is None
    assert "closed" in program("client.submit(abs, -1)")
    wait_until("what it held is freed", lambda: sum(owner.run(kept_values).values()) == 1)
    assert mine.result(LIMIT_SECONDS) == "the owner's"
    assert owner.submit(abs, -1).result(LIMIT_SECONDS) == 1


def test_a_killed_guest_s_tasks_and_results_go(
    owner: Client, program: Program, tmp_path: Path
) -> None:
    assert program(f"(client := Client({owner.address!r})).status") == "running"
    assert program("(held := client.submit(bytes, 100_000)).result(60) == bytes(100_000)")
    tasks = f"client.map(mark_and_wait, [{str(tmp_path)!r}] * 50, range(50), priority=1)"
    assert program(f"len(tasks := {tasks})") == 50
    wait_until("both workers are busy", lambda: len([*tmp_path.iterdir()]) == 2)
    assert sum(owner.run(kept_values).values()) >= 1
    waits = owner.submit(abs, -1, pure=False)
    program.process.kill()
    program.process.wait()
    # Who comes later is let in later; then the workers, too, have heard of it.
    Client(owner.address, set_as_default=False).close()
    assert len(owner.run(kept_values)) == 2
    (tmp_path / "gate").touch()
    assert waits.result(LIMIT_SECONDS) == 1
    wait_until("its results are gone", lambda: sum(owner.run(kept_values).values()) <= 1)
    assert owner.gather(owner.map(abs, range(-9, 0))) == [*range(9, 0, -1)]
    ran = {each.name for each in tmp_path.iterdir()} - {"gate"}
    assert len(ran) == 2, "of its tasks none ran that had not begun"


def test_a_killed_owner_ends_its_guests_waits(program: Program) -> None:
    start = "(client := Client(n_workers=1, threads_per_worker=1, name='theirs')).address"
    address = program(start)
    with Client(address) as guest:
        pids = [each["pid"] for each in guest.scheduler_info()["workers"].values()]
        done, waits = guest.submit(abs, -1), guest.submit(long_sleep)
        assert done.result(LIMIT_SECONDS) == 1
        program.process.kill()
        program.process.wait()
        why = "cluster 'theirs' has ended .the program that started it has ended.*make a new"
        for asked in (
            lambda: waits.result(LIMIT_SECONDS),
            lambda: guest.submit(abs, -2).result(LIMIT_SECONDS),
            guest.who_has,
            lambda: guest.scale(2),
        ):
            with pytest.raises(SchedulerLost, match=why):
                asked()
        observer = guest._observer
        assert observer is not None
        socket_of = Path(observer.address.removeprefix("unix:"))
        wait_until("its observer ends", lambda: not socket_of.exists())
        for ask in (guest.spans, guest.fine_metrics, guest.get_task_stream, guest.profile):
            with pytest.raises(SchedulerLost, match=f"{why}.*the observer has ended too"):
                ask()
        assert repr(guest) == f"<Client: {address!r} not connected>"
    wait_until("workers end", lambda: not any(lives(pid) for pid in pids))
    folder = Path(address.removeprefix("unix:")).parent
    wait_until("nothing is left of it", lambda: not folder.exists())
    with pytest.raises(ClusterError, match=r"There is no cluster at .*Client\(\) starts"):
        Client(address)


def test_clients_of_a_cluster_that_has_ended_do_not_look_alive() -> None:
    def looks(client: Client) -> tuple[Any, ...]:
        info = client.scheduler_info()
        return client.status, client.nthreads(), info["n_workers"], info["workers"]

    ended = ("closed", {}, 0, {})
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as owner:
        cluster = owner.cluster
        assert cluster is not None
        with Client(owner.address, set_as_default=False) as guest:
            assert looks(guest)[0] == "running" and looks(guest)[2] == 1
            assert owner._scheduler is not None
            owner._scheduler.process.kill()
            for each in (owner, guest):
                wait_until("it knows", lambda each=each: each.status == "closed")
                assert looks(each) == ended
                assert repr(each) == f"<Client: {owner.address!r} not connected>"
                assert ">ended<" in each._repr_html_() and "0 workers" in each._repr_html_()
            assert cluster.workers == {} and repr(cluster).endswith("not connected)")
        for each in (guest, owner):
            each.close()
            assert looks(each) == ended and repr(each) == "<Client: closed>"


def test_a_killed_scheduler_is_told_to_guests_too() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as owner:
        with Client(owner.address, set_as_default=False) as guest:
            waits = guest.submit(long_sleep)
            assert owner._scheduler is not None
            pid = owner._scheduler.process.pid
            owner._scheduler.process.kill()
            wait_until("it ends", lambda: not lives(pid))
            with pytest.raises(SchedulerLost, match="make a new cluster"):
                waits.result(LIMIT_SECONDS)
        with pytest.raises(ClusterError, match="has ended: its scheduler, process"):
            Client(owner.address)


def test_how_a_scheduler_ended_is_known_though_its_process_ends_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its connection breaks first; on a busy machine that was told without the signal."""
    monkeypatch.setattr(private_cluster, "_EXIT_SECONDS", LIMIT_SECONDS)
    with subprocess.Popen(["sh", "-c", "sleep 1; kill -KILL $$"]) as process:
        assert how_ended(process) == f"its process {process.pid} was ended by SIGKILL"


def test_a_cluster_has_several_clients() -> None:
    with LocalCluster(n_workers=1, threads_per_worker=1, name="ours") as cluster:
        first = Client(cluster)
        second = Client(cluster)
        assert cluster.get_client() is first and second.cluster is cluster
        assert Client.current() is second
        keys = [each.submit(lambda i: i, i, key="k") for i, each in enumerate((first, second))]
        assert [each.result(LIMIT_SECONDS) for each in keys] == [0, 1]
        assert dask.delayed(abs)(-3).compute() == 3
        second.close()
        assert Client.current() is first and keys[0].result(LIMIT_SECONDS) == 0
        third = Client(cluster, set_as_default=False)
        first.close()
        own = third.submit(abs, -1)
        assert own.result(LIMIT_SECONDS) == 1 and cluster.status == "running"
        with pytest.raises(CancelledError, match=r"its client was closed\. Make a new client"):
            third.gather([own, keys[0]])
        assert third.gather([own, keys[0]], errors="skip") == [1]
        third.cancel([keys[0]])
        with Client(cluster) as fourth:
            assert cluster.get_client() is fourth
            assert fourth.submit(abs, -1).result(LIMIT_SECONDS) == 1
        waits = third.submit(long_sleep)
    assert third.status == "closed"
    with pytest.raises(CancelledError, match="when its client was closed"):
        waits.result(LIMIT_SECONDS)


def test_a_client_that_is_forgotten_leaves(owner: Client) -> None:
    guest = Client(owner.address, set_as_default=False)
    assert guest.submit(bytes, 10).result(LIMIT_SECONDS) == bytes(10)
    reader = guest._session._reader
    del guest
    wait_until("it leaves", lambda: gc.collect() >= 0 and not reader.is_alive())
    wait_until("what it held goes", lambda: not any(owner.run(kept_values).values()))


def test_asynchronous_clients_join() -> None:
    async def both() -> list[int]:
        async with LocalCluster(n_workers=1, threads_per_worker=1, asynchronous=True) as cluster:
            where = cluster.scheduler_address
            async with (
                Client(cluster, asynchronous=True) as first,
                Client(where, asynchronous=True) as second,
            ):
                futures = [each.submit(abs, -i, key="k") for i, each in enumerate((first, second))]
                with Client(where, set_as_default=False) as third:
                    mixed = [futures[0], third.submit(abs, -3)]
                    with pytest.raises(TypeError, match="wait for each kind by itself"):
                        spanwise.wait(mixed)
                return [await each for each in futures]

    assert asyncio.run(both()) == [0, 1]


def test_a_restart_by_a_guest_computes_again_what_others_hold(owner: Client) -> None:
    kept = owner.submit(abs, -7)
    assert kept.result(LIMIT_SECONDS) == 7
    before = {*owner.scheduler_info()["workers"]}
    with Client(owner.address, set_as_default=False) as guest:
        mine = guest.submit(abs, -8)
        assert mine.result(LIMIT_SECONDS) == 8
        with pytest.raises(ClusterError, match=r"another client uses it.*restart\(force=True\)"):
            guest.restart()
        assert mine.status == "finished", "nothing was done"
        guest.restart(force=True)
        assert mine.status == "cancelled"
        assert guest.submit(abs, -9).result(LIMIT_SECONDS) == 9
    wait_until(
        "its owner sees other workers", lambda: not before & {*owner.scheduler_info()["workers"]}
    )
    assert owner.submit(str, kept).result(LIMIT_SECONDS) == "7"


def test_futures_of_another_client_are_taken_by_all_calls(owner: Client, tmp_path: Path) -> None:
    with Client(owner.address, set_as_default=False) as guest:
        theirs = owner.submit(abs, -7, pure=False)
        # At once, while it may not have run.
        assert guest.submit(str, theirs).result(LIMIT_SECONDS) == "7"
        assert guest.submit(sum, [theirs, 1]).result(LIMIT_SECONDS) == 8
        assert guest.submit(dict, x=theirs).result(LIMIT_SECONDS) == {"x": 7}
        assert guest.gather(guest.map(abs, [theirs])) == [7]
        own = guest.submit(abs, -8, pure=False)
        assert guest.gather({"a": theirs, "b": [own]}) == {"a": 7, "b": [8]}
        assert spanwise.wait([theirs, own], LIMIT_SECONDS).done == {theirs, own}
        first = spanwise.wait([theirs, own], LIMIT_SECONDS, return_when="FIRST_COMPLETED")
        assert first.done
        ones = owner.persist(da.ones(4, chunks=2))
        assert guest.compute(ones.sum(), sync=True) == 4
        assert guest.persist(ones + 1).compute(scheduler=guest.get).sum() == 8
        assert guest.compute(delayed(abs)(theirs)).result(LIMIT_SECONDS) == 7
        # What is missed by one kind of collection, and then by another.
        ones = owner.persist(da.ones(6, chunks=3))
        assert guest.gather(guest.compute([ones.sum(), delayed(abs)(theirs)])) == [6, 7]
        assert guest.submit(partial(max, theirs), 1).result(LIMIT_SECONDS) == 7
        assert guest.gather(guest.map(partial(max, theirs), [1, 9])) == [7, 9]
        # Keys are each client's own too, whatever is made of them.
        xs = [each.submit(abs, n, key="x") for n, each in ((-1, owner), (-2, guest))]
        assert guest.gather(guest.map(str, xs[::-1])) == ["2", "1"]
        assert guest.gather(guest.map(sum, [[each] for each in xs])) == [1, 2]
        given = Future(guest._session.adopt("x", *xs[0]._shared_name()), guest)
        assert guest.submit(sum, [given]).result(LIMIT_SECONDS) == 1
        block = owner.submit(abs, -3, key=("y", 0))
        both = [guest.submit(str, block), guest.submit(abs, -9, key=("y", 0))]
        assert guest.gather(both) == ["3", 9]
        with pytest.raises(ClusterError, match=r"of another client: ask that one, future\.client"):
            guest.who_has([theirs])
        gate = owner.submit(mark_and_wait, str(tmp_path), 0)
        late = owner.map(max, range(1_000), [gate] * 1_000)
        with pytest.MonkeyPatch.context() as patch:
            asked, sent = _counted(patch, owner, "ask"), _counted(patch, guest, "send")
            waits = guest.map(str, late)
        assert asked == ["question"] and sent.count("adopt") == 1
        assert len({each.key for each in waits}) == 1_000
        owner.cancel(late)
        (tmp_path / "gate").touch()
        # Ids are each client's own: neither takes a task of its own for the other's.
        # What has begun keeps its thread, also when it is cancelled: a gate lets it end.
        (apart := tmp_path / "apart").mkdir()
        runs, mine = (
            each.submit(mark_and_wait, str(apart), i) for i, each in enumerate((owner, guest))
        )
        guest.cancel([runs])
        assert (runs.status, mine.status) == ("cancelled", "pending")
        mine.cancel()
        (apart / "gate").touch()
    # Of another cluster there is only the value.
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as other:
        for call in (
            lambda: other.submit(str, theirs),
            lambda: other.compute(delayed(abs)(theirs)),
        ):
            with pytest.raises(ClusterError, match=r"is of the cluster.*what future\.result\(\)"):
                call()
        assert other.gather([theirs]) == [7]
        kill = other._private.scheduler.process.kill  # type: ignore[union-attr]
        lost = other.submit(long_sleep)
        kill()
        with pytest.raises(SchedulerLost, match=r"was ended by SIGKILL.*new cluster with Client"):
            lost.result(LIMIT_SECONDS)


def _counted(patch: pytest.MonkeyPatch, client: Client, name: str) -> list[str]:
    """The kinds of what the client's session asks or sends from now on."""
    kinds: list[str] = []
    calls = getattr(client._session, name)

    def counts(kind: str, *args: Any, **options: Any) -> Any:
        kinds.append(kind)
        return calls(kind, *args, **options)

    patch.setattr(client._session, name, counts)
    return kinds


def test_a_guest_may_shut_the_cluster_down() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as owner:
        waits = owner.submit(long_sleep)
        guest = Client(owner.address, set_as_default=False)
        guest.shutdown()
        guest.shutdown()
        assert guest.status == "closed"
        with pytest.raises(SchedulerLost, match="another of its clients has shut it down"):
            waits.result(LIMIT_SECONDS)


def test_joining_by_file(owner: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(owner)
    for name in ("cluster.json", "secret"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    copy = tmp_path / "scheduler.json"
    copy.write_text("of a cluster that has ended")
    owner.write_scheduler_file(str(copy))
    assert copy.stat().st_mode & 0o777 == 0o600
    assert (folder / "secret").read_text() not in copy.read_text()
    for given in (folder, folder / "cluster.json", str(copy)):
        with Client(given, set_as_default=False) as guest:
            assert guest.submit(abs, -1).result(LIMIT_SECONDS) == 1
    with Client(scheduler_file=copy, set_as_default=False) as guest:
        assert guest.id == owner.id
        guest.write_scheduler_file(copy)
    monkeypatch.setenv("SPANWISE_TRANSPORT", "tcp")
    with (
        Client(n_workers=1, threads_per_worker=1, set_as_default=False) as by_port,
        Client(by_port.address, set_as_default=False) as guest,
    ):
        assert by_port.address.startswith("tcp:127.0.0.1:") and guest.id == by_port.id
        assert guest.submit(abs, -1).result(LIMIT_SECONDS) == 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("unix:/nowhere/scheduler.sock", r"no cluster at .*Client\(\) starts"),
        ("tcp:127.0.0.1:1", r"No cluster of this user has the address tcp:127\.0\.0\.1:1"),
        ("/nowhere/cluster.json", "/nowhere/cluster.json does not exist"),
    ],
)
def test_an_address_of_no_cluster(given: str, why: str) -> None:
    with pytest.raises(ClusterError, match=why):
        Client(given)


def test_what_is_no_address() -> None:
    with pytest.raises(TypeError, match=r"takes a spanwise\.LocalCluster, .* not 5"):
        Client(5)
    with pytest.raises(TypeError, match="not both"):
        Client("a", scheduler_file="b")
    with pytest.raises(TypeError, match=r"give n_workers.* to LocalCluster"):
        Client("unix:/nowhere", n_workers=2)


def described(tmp_path: Path, **fields: Any) -> Path:
    """A cluster's file, made by hand."""
    secret = tmp_path / "secret"
    if not secret.exists():
        secret.write_text("07" * 32)
    path = tmp_path / "cluster.json"
    said = {"name": "old", "address": f"unix:{tmp_path}/scheduler.sock", "observer": None}
    path.write_text(json.dumps({**said, "secretFile": str(secret), "pid": 1, **fields}))
    return path


def test_a_file_of_a_cluster_that_was_killed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    path = described(tmp_path, pid=ended.pid)
    with pytest.raises(
        ClusterError, match=rf"'old' .*has ended: its scheduler, process {ended.pid}"
    ):
        Client(path)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "scheduler.sock"))
    with pytest.raises(ClusterError, match=r"has ended.* Client\(\) starts a new one"):
        Client(f"unix:{tmp_path}/scheduler.sock")


def test_files_that_are_none_of_ours(tmp_path: Path) -> None:
    path = described(tmp_path)
    path.write_text('{"type": "Scheduler", "address": "tcp://127.0.0.1:8786"}')
    with pytest.raises(ClusterError, match=r"use distributed\.Client\(scheduler_file"):
        Client(scheduler_file=str(path))
    for text in ("", "[]", "{}", "5", '{"name": 1}'):
        path.write_text(text)
        with pytest.raises(ClusterError, match="does not describe a Spanwise cluster"):
            Client(path)
    described(tmp_path)
    (tmp_path / "secret").write_text("short")
    with pytest.raises(ClusterError, match="does not describe a Spanwise cluster"):
        Client(path)


def test_another_user_s_cluster(tmp_path: Path) -> None:
    path = described(tmp_path)
    path.chmod(0o620)
    with pytest.raises(ClusterError, match="others may change it: a cluster serves only the user"):
        Client(path)
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(tmp_path / "secret", 65534, 65534)
    else:
        (tmp_path / "secret").chmod(0)
    with pytest.raises(ClusterError, match="secret belongs to another user"):
        Client(path)


def test_what_another_user_may_have_put_there(tmp_path: Path) -> None:
    path = described(tmp_path)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    with pytest.raises(ClusterError, match=r"link\.json is a symbolic link"):
        find_cluster(link)
    (tmp_path / "kept").write_text("07" * 32)
    (tmp_path / "secret").unlink()
    (tmp_path / "secret").symlink_to(tmp_path / "kept")
    with pytest.raises(ClusterError, match="secret is a symbolic link"):
        find_cluster(path)
    path.write_bytes(b" " * (1024 * 1024 + 1))
    with pytest.raises(ClusterError, match="does not describe a Spanwise cluster"):
        find_cluster(path)
    described(tmp_path, address="unix:/elsewhere/scheduler.sock")
    with pytest.raises(ClusterError, match="it names the address unix:/elsewhere/"):
        find_cluster(f"unix:{tmp_path}/scheduler.sock")


def test_what_is_checked_is_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    path, other = described(ours), described(theirs, name="another's")
    check, inode = os.fstat, path.stat().st_ino

    def exchange_after_check(descriptor: int) -> os.stat_result:
        found = check(descriptor)
        if found.st_ino == inode:
            other.replace(path)
        return found

    monkeypatch.setattr(os, "fstat", exchange_after_check)
    assert find_cluster(path).name == "old"
    assert not other.exists(), "it was checked by its descriptor"


def test_a_pipe_at_the_place_of_a_file_lets_nobody_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = described(tmp_path)
    opens = os.open

    def open_a_pipe(opened: Any, flags: int, *args: Any, **named: Any) -> int:
        if opened == path:
            assert flags & os.O_NONBLOCK, "it would wait for ever"
            path.unlink()
            os.mkfifo(path, 0o600)
        return opens(opened, flags, *args, **named)

    monkeypatch.setattr(os, "open", open_a_pipe)
    with pytest.raises(ClusterError, match="it is no file of text"):
        find_cluster(path)


def test_an_address_of_tcp_is_sought_in_own_folders_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    address = "tcp:127.0.0.1:2"  # nobody listens there, and only this test's files name it
    folder = tmp_path / "spanwise-own"
    folder.mkdir(mode=0o700)
    described(folder, address=address)
    assert find_cluster(address).address == address
    folder.chmod(0o777)
    with pytest.raises(ClusterError, match="No cluster of this user has the address"):
        find_cluster(address)
    folder.chmod(0o700)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ClusterError, match="No cluster of this user has the address"):
        find_cluster(address)


#: Root may look into every folder, so it becomes nobody.
_NOT_ALLOWED = """
import os, sys
from spanwise.client.cluster_file import find_cluster
from spanwise.errors import ClusterError
if os.geteuid() == 0:
    os.seteuid(65534)
for given in sys.argv[1:]:
    try:
        find_cluster(given)
    except ClusterError as error:
        print(error)
"""


def test_a_folder_that_this_user_may_not_look_into(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0)
    command = [sys.executable, "-c", _NOT_ALLOWED, folder / "in", f"unix:{folder}/scheduler.sock"]
    said = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=LIMIT_SECONDS
    ).stdout
    assert said.count("belongs to another user, or others may change it") == 2


def test_a_file_that_cannot_be_put_in_place_leaves_nothing(owner: Client, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    another_s = tmp_path / f"target.{os.getpid()}"
    another_s.write_text("another writer's")
    with pytest.raises(IsADirectoryError):
        owner.write_scheduler_file(tmp_path / "target")
    assert {each.name for each in tmp_path.iterdir()} == {"target", another_s.name}


def test_a_secret_that_is_not_the_cluster_s(owner: Client, tmp_path: Path) -> None:
    path = described(tmp_path, address=owner.address, name="shared")
    with pytest.raises(ClusterError, match=r"does not have the secret of the cluster 'shared'"):
        Client(path)
    assert owner.submit(abs, -1).result(LIMIT_SECONDS) == 1


def test_another_environment_is_refused_with_both(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    intro = joined_cluster.intro_of_client()
    versions = {**intro["launch"]["versions"], "dask": "1.0"}
    intro["launch"] = {**intro["launch"], "versions": versions}
    monkeypatch.setattr(joined_cluster, "intro_of_client", lambda *_: intro)
    here = rf"another environment.*dask {dask.__version__}.*dask 1\.0.*cluster of your own"
    with pytest.raises(ClusterError, match=here):
        Client(owner.address)


def test_a_stopped_scheduler_lets_nobody_wait() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as owner:
        assert owner._scheduler is not None
        guest = Client(owner.address, set_as_default=False)
        pid = owner._scheduler.process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_until("it is stopped", lambda: is_stopped(pid))
            with pytest.raises(ClusterError, match=rf"process {pid}, is stopped .*continue it"):
                Client(owner.address, timeout=1)
            guest.close()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert owner.submit(abs, -1).result(LIMIT_SECONDS) == 1
