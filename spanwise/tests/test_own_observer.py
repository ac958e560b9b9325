"""The observer of a script, which dies: by its own fault, by a signal, at a bad moment."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import spanwise
from spanwise import Client
from spanwise.errors import ClusterError
from spanwise.observed import own_observer
from spanwise.observed.own_observer import OwnObserver
from spanwise.processes import node_process, restarts
from spanwise.processes.node import node_program
from spanwise.processes.process_state import is_stopped
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until


@pytest.fixture
def known() -> set[int]:
    """Pids that lived before the test."""
    return set(marked_processes())


@pytest.fixture(autouse=True)
def outside_jupyter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPANWISE_CONNECTION", raising=False)


@pytest.fixture
def observer(known: set[int]) -> Iterator[OwnObserver]:
    observer = OwnObserver()
    yield observer
    observer.close()


def fails_from_now_on(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The next observers end before they listen; returns when each was started."""
    starts: list[float] = []

    def program(_role: str) -> list[str]:
        starts.append(time.monotonic())
        return [sys.executable, "-c", "import sys; sys.exit('out of luck')"]

    monkeypatch.setattr(node_process, "node_program", program)
    return starts


def test_the_next_one_has_the_secret_and_says_where_it_listens(
    observer: OwnObserver, known: set[int]
) -> None:
    first, secret_file = observer.process, Path(observer.secret_file)
    secret = secret_file.read_text()
    # By a gentle signal it removes its own folder: the next one has it all the same.
    for end in (first.process.kill, lambda: observer.process.process.terminate()):
        before = observer.process
        end()
        wait_until("another one runs", lambda before=before: observer.process is not before)
        assert secret_file.read_text() == secret
        assert (secret_file.parent / "address").read_text() == observer.process.address
        assert secret_file.stat().st_mode & 0o777 == 0o600
        assert secret_file.parent.stat().st_mode & 0o777 == 0o700
        assert len(processes_of("observer", known)) == 1
    observer.close()
    assert not processes_of("observer", known)
    assert not secret_file.parent.exists()


def test_one_that_keeps_dying_is_given_up_and_questions_say_so(
    known: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "FIRST_PAUSE_SECONDS", 0.02)
    with Client(n_workers=1, threads_per_worker=1) as client:
        assert client.submit(abs, -1).result(timeout=LIMIT_SECONDS) == 1
        starts = fails_from_now_on(monkeypatch)
        processes_of("observer", known)[0].kill()

        def told() -> str:
            try:
                client.spans()
            except ClusterError as error:
                return str(error)
            raise AssertionError("no observer, and an answer")

        sentence = wait_until("it is said", lambda: "not started again" in (s := told()) and s)
        assert f"ended {own_observer.MOST_QUICK_DEATHS} times" in sentence
        assert "Your computation goes on" in sentence
        assert "out of luck" in sentence
        assert len(starts) == own_observer.MOST_QUICK_DEATHS - 1
        pauses = [after - before for before, after in itertools.pairwise(starts)]
        assert pauses[-1] > 0.02 * 2 ** (own_observer.MOST_QUICK_DEATHS - 2)
        # The caller does not wait; it would wait until the test ends.
        monkeypatch.setattr(own_observer, "PATIENCE_SECONDS", 1000.0)
        assert told() == sentence
        assert client.submit(abs, -2).result(timeout=LIMIT_SECONDS) == 2
        # A later observation is not affected.
        monkeypatch.setattr(node_process, "node_program", node_program)
        with spanwise.observe("anew") as seen:
            assert seen.spans() is not None
        seen.close()
    wait_until("all have ended", lambda: not set(marked_processes()) - known)


def test_who_asks_in_a_long_pause_is_told_how_long(
    observer: OwnObserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "FIRST_PAUSE_SECONDS", 1000.0)
    observer._restarts = restarts.Restarts()
    observer.process.process.kill()

    def told() -> str:
        try:
            observer.address_to_ask()
        except ClusterError as error:
            return str(error)
        return ""

    said = re.search(r"started again in (\d+) s", wait_until("it is said", told))
    assert said is not None and 1000 - LIMIT_SECONDS <= int(said[1]) <= 1000
    # This waits for no pause; it would wait until the test ends.
    observer.close()
    assert not Path(observer.secret_file).parent.exists()


def dies_in_a_pause(monkeypatch: pytest.MonkeyPatch, observer: OwnObserver, seconds: float) -> None:
    monkeypatch.setattr(restarts, "FIRST_PAUSE_SECONDS", seconds)
    observer._restarts = restarts.Restarts()
    folder = Path(observer.secret_file).parent
    observer.process.process.kill()
    wait_until("what it left is removed", lambda: not folder.exists())


def test_one_that_is_forgotten_in_a_pause_is_not_started(
    known: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = OwnObserver()
    dies_in_a_pause(monkeypatch, observer, 1000.0)
    starts = fails_from_now_on(monkeypatch)
    del observer
    gc.collect()
    wait_until("its thread ends", lambda: "spanwise-death" not in _threads())
    assert not starts


def _threads() -> list[str]:
    return [each.name for each in threading.enumerate()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_starts_none(
    observer: OwnObserver, known: set[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, is_there = observer.process, tmp_path / "there"
    go_on = threading.Event()
    pauses = SimpleNamespace(wait=lambda seconds: not go_on.wait(LIMIT_SECONDS), set=go_on.set)
    observer._closing, closing = pauses, observer._closing  # type: ignore[assignment]
    dies_in_a_pause(monkeypatch, observer, 1.0)
    pid = os.fork()
    if pid == 0:
        # The pause goes on here until the parent's is there; there is no second one.
        for _ in range(int(100 * LIMIT_SECONDS)):
            if is_there.exists():
                break
            time.sleep(0.01)
        observer.close()
        os._exit(0 if observer.process.process.returncode is not None else 1)
    observer._closing = closing
    go_on.set()
    wait_until("the parent starts one", lambda: observer.process is not first)
    is_there.touch()
    replaced = observer.process
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert observer.process is replaced and replaced.process.poll() is None
    assert len(processes_of("observer", known)) == 1


SCRIPT = """
    import os, signal, sys, time
    import dask, spanwise
    from spanwise.processes import restarts
    restarts.FIRST_PAUSE_SECONDS = {pause}
    if __name__ == "__main__":
        {begin}
        os.kill(observer.process.process.pid, signal.SIGKILL)
        time.sleep({seconds})
        print("ends", flush=True)
"""

BEGINNINGS = {
    "client": "client = spanwise.Client(n_workers=1, threads_per_worker=1); "
    "observer = client._observer; assert client.submit(abs, -1).result() == 1",
    "observe": "seen = spanwise.observe(); observer = seen._observer; "
    "dask.delayed(abs)(-1).compute(scheduler='sync')",
}


@pytest.mark.parametrize("begin", BEGINNINGS)
@pytest.mark.parametrize(
    ("pause", "seconds"), [(0.01, 0.0), (0.01, 0.15), (1000.0, 0.3)], ids=["dead", "start", "pause"]
)
def test_the_interpreter_ends_at_any_moment(
    known: set[int], tmp_path: Path, begin: str, pause: float, seconds: float
) -> None:
    program = textwrap.dedent(SCRIPT).format(pause=pause, seconds=seconds, begin=BEGINNINGS[begin])
    (tmp_path / "tmp").mkdir()
    script = tmp_path / "script.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=120,  # whoever waited for the long pause would do so for longer
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "ends", "")
    wait_until("all have ended", lambda: not set(marked_processes()) - known)
    wait_until("its folders are gone", lambda: not list((tmp_path / "tmp").glob("spanwise-*")))


def test_ending_one_that_is_stopped_starts_no_other(observer: OwnObserver, known: set[int]) -> None:
    pid = observer.process.process.pid
    os.kill(pid, signal.SIGSTOP)
    wait_until("it is stopped", lambda: is_stopped(pid))
    observer.kill_if_stopped()
    wait_until("its thread ends", lambda: "spanwise-death" not in _threads())
    assert not processes_of("observer", known)
