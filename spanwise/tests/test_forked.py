"""A fork of the process that made a client."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask import delayed

from spanwise import MemorySampler, as_completed, span, wait
from spanwise.client.forked import ForkedSession
from spanwise.client.session import Session
from spanwise.errors import ClusterError
from spanwise.processes.fork_hook import ForkHook
from spanwise.processes.node_process import NodeProcess
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.test_client import increment
from spanwise.wire.addresses import default_transport
from spanwise.wire.schema import PROTOCOL

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    # Python 3.12 warns of what these tests are about.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]

LIMIT = 60
SENTENCE = "make a new Client() here"


def in_fork(function: Callable[[], Any], said: Path) -> None:
    """Run `function` in a fork; fail with what it raised, or if it hangs."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LIMIT)
        try:
            function()
        except BaseException:  # noqa: BLE001 (told to the parent)
            said.write_text(traceback.format_exc())
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == -signal.SIGALRM:
        pytest.fail("the fork hangs")
    assert code == 0, said.read_text()


def refused(function: Callable[[], Any]) -> None:
    try:
        function()
    except ClusterError as error:
        assert SENTENCE in str(error) and "\n" not in str(error)
    else:
        raise AssertionError("not refused")


def _async(function: Callable[[], Any]) -> Any:
    async def call() -> Any:
        return await function()

    return asyncio.run(call())


ENTRANCES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "submit": lambda c, _done, _late: c.submit(increment, 5),
    "submit what is here": lambda c, done, _late: c.submit(increment, done),
    "map": lambda c, _done, _late: c.map(increment, range(3)),
    "keywords": lambda c, done, _late: c.submit(increment, x=done),
    "result": lambda _c, done, _late: done.result(),
    "result later": lambda _c, _done, late: late.result(),
    "result in time": lambda _c, _done, late: late.result(timeout=60),
    "exception": lambda _c, _done, late: late.exception(),
    "await": lambda _c, _done, late: _async(lambda: late),
    "gather": lambda c, done, late: c.gather([done, late]),
    "wait": lambda _c, _done, late: wait([late]),
    "as_completed": lambda _c, _done, late: list(as_completed([late])),
    "cancel": lambda _c, _done, late: late.cancel(),
    "retry": lambda c, done, _late: c._session.retry([done._alive()]),
    "scatter": lambda c, _done, _late: c.scatter([1]),
    "run": lambda c, _done, _late: c.run(increment, 1),
    "get": lambda c, _done, _late: c.get({"x": (increment, 1)}, "x"),
    "compute": lambda _c, _done, _late: delayed(increment)(1).compute(),
    "persist": lambda _c, _done, _late: delayed(increment)(1).persist(),
    "fine_metrics": lambda c, _done, _late: c.fine_metrics(),
    "memory": lambda c, _done, _late: MemorySampler().sample("x", client=c).__enter__(),
    "wait_for_workers": lambda c, _done, _late: c.wait_for_workers(1),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_fork_is_refused(client: LocalClient, tmp_path: Path, entrance: str) -> None:
    done = client.submit(increment, 1)
    assert done.result(LIMIT) == 2
    client.fake.hold.clear()
    late = client.submit(increment, 2)
    in_fork(lambda: refused(lambda: ENTRANCES[entrance](client, done, late)), tmp_path / "said")
    client.fake.hold.set()
    assert late.result(LIMIT) == 3


def test_a_fork_that_ends_its_copies_leaves_the_parents(
    client: LocalClient, tmp_path: Path
) -> None:
    array = client.submit(np.arange, 100_000)
    array.result(LIMIT)  # the link to the worker is open
    futures = client.map(increment, range(3))
    client.gather(futures)

    def leave() -> None:
        nonlocal futures
        with span("in the fork"):
            futures = []
            array.release()
            gc.collect()
        assert "Client" in repr(client)
        client.close()
        client.close()

    in_fork(leave, tmp_path / "said")
    assert client.gather(futures) == [1, 2, 3]
    np.testing.assert_array_equal(array.result(LIMIT), np.arange(100_000))
    later = client.submit(increment, 7)  # (held: it would be released too)
    assert later.result(LIMIT) == 8
    assert not client.fake.released


def test_a_fork_while_other_threads_hold_the_locks(client: LocalClient, tmp_path: Path) -> None:
    future = client.submit(increment, 1)
    session = client._session
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with session.scattering, session.sending, session.lock, session._link._lock:
            held.set()
            go.wait(LIMIT)

    holding = threading.Thread(target=hold)
    holding.start()
    assert held.wait(LIMIT)

    def use() -> None:
        refused(lambda: client.submit(increment, 2))
        refused(lambda: client.scatter([1]))
        refused(future.result)
        client.close()

    in_fork(use, tmp_path / "said")
    go.set()
    holding.join(LIMIT)
    assert future.result(LIMIT) == 2


def test_a_fork_may_have_a_client_of_its_own(client: LocalClient, tmp_path: Path) -> None:
    def use() -> None:
        scheduler = ClientScheduler()
        with LocalClient(scheduler) as own:
            assert own.submit(increment, 1).result(LIMIT) == 2
            assert delayed(increment)(2).compute() == 3
        scheduler.close()

    in_fork(use, tmp_path / "said")
    assert client.submit(increment, 1).result(LIMIT) == 2


def test_every_method_of_a_session_is_refused_or_deliberately_nothing() -> None:
    public = {
        name for name, each in vars(Session).items() if callable(each) and not name.startswith("_")
    }
    here = vars(ForkedSession)
    refused = {name for name in public if here.get(name) is ForkedSession._refuse}
    nothing = {name for name in public if here.get(name) is ForkedSession._nothing}
    assert nothing == {
        "withdraw",
        "close_request",
        "unwatch",
        "unwatch_runs",
        "drop",
        "drop_later",
        "close",
        "cancel_all",
    }
    # These read what was known at the fork, and the last is what the fork itself does.
    reading = {
        "running_workers",
        "workers_there",
        "workers_called",
        "place_of",
        "last_seen",
        "shared_name",
        "entry_of",
        "too_late",
        "too_late_in_loop",
        "warn_of",
        "wall_now",
        "wall_time",
    }
    assert public - refused - nothing == {*reading, "abandon_links"}


def test_waiting_in_a_fork_does_not_use_the_parents_lock(
    client: LocalClient, tmp_path: Path
) -> None:
    session = client._session

    def look() -> None:
        with session._changed:
            assert session.lock._is_owned()

    with session._changed:
        in_fork(look, tmp_path / "said")


def test_clients_leave_no_hooks_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks: list[Any] = []
    monkeypatch.setattr(os, "register_at_fork", lambda **hook: hooks.append(hook))
    for _ in range(2):
        scheduler = ClientScheduler()
        with LocalClient(scheduler) as client:
            assert client.submit(increment, 1).result(LIMIT) == 2
        scheduler.close()
    config = {
        "protocol": PROTOCOL,
        "secretHex": bytes(32).hex(),
        "transport": default_transport(),
        "budgetBytes": 1 << 20,
    }
    NodeProcess("observer", config, bytes(32)).close()
    assert not hooks


def test_a_hook_forgets_what_is_gone_and_gives_everybody_a_turn() -> None:
    class Owner:
        turns = 0

    def after(owner: Owner) -> None:
        owner.turns += 1
        raise ValueError("no")

    hook = ForkHook(after)
    owners = [Owner(), Owner(), Owner()]
    for owner in owners:
        hook.add(owner)
    del owner, owners[0]
    gc.collect()
    with pytest.raises(ExceptionGroup) as caught:
        hook._in_fork()
    assert len(caught.value.exceptions) == 2
    assert [owner.turns for owner in owners] == [1, 1]
