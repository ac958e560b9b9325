"""How far tasks are, on real clusters, in a real terminal and in a real kernel."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask.array as da
import pytest
from dask import delayed

import spanwise
from spanwise import Client, Future, futures_of, progress, span
from spanwise.diagnostics import follower
from spanwise.diagnostics.counts import Counts, Group
from spanwise.diagnostics.followed_tasks import FollowedTasks
from spanwise.diagnostics.follower import Follower
from spanwise.errors import ClusterError
from spanwise.tests.forked_programs import START_SECONDS
from spanwise.tests.processes import wait_until
from spanwise.tests.progress_tasks import held

#: A test that waits for longer has failed.
LIMIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


def first_at_once(ran: str, go: str) -> int:
    """Return at once when it runs for the first time; later when it may go on."""
    if os.path.exists(ran):  # noqa: PTH110
        return held(2, go)
    Path(ran).touch()
    return 1


def fails(number: int) -> int:
    raise ValueError(f"no <b>{number}</b>")


def plus(*numbers: int) -> int:
    return sum(numbers)


def counted(
    futures: list[Future], group_by: Any = "prefix", complete: bool = True
) -> dict[str, Group]:
    tasks = FollowedTasks(futures, complete, group_by)
    try:
        return {group.name: group for group in tasks.open().groups}
    finally:
        tasks.close()


def test_bars_by_prefix_span_and_function(client: Client, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with span("outer"):
        ready = client.map(plus, range(5), pure=False)
        with span("inner"):
            waits = client.submit(held, 1, str(go), pure=False)
            total = client.submit(plus, *ready, waits, pure=False, key="total-1")
    client.gather(ready)
    wait_until("it runs", lambda: counted([total])["held"].running == 1)
    by_prefix = counted([total])
    assert by_prefix == {
        "plus": Group("plus", 5, done=5),
        "held": Group("held", 1, running=1),
        "total": Group("total", 1),
    }
    assert counted([total], "spans") == {
        "outer": Group("outer", 5, done=5),
        "outer › inner": Group("outer › inner", 2, running=1),
    }
    assert counted([total], lambda key: key == "total-1") == {
        "False": Group("False", 6, done=5, running=1),
        "True": Group("True", 1),
    }
    assert counted([total], None)["all"].total == 7
    assert set(counted([total, *ready], complete=False)) == {"held", "total"}
    go.touch()
    assert total.result() == 11
    assert counted([total])["held"] == Group("held", 1, done=1)


def test_what_a_collection_needs_counts_too(client: Client) -> None:
    x = da.ones((40, 40), chunks=10)
    y = (x @ x).sum().persist(optimize_graph=False)
    client.gather(futures_of(y))
    groups = counted(futures_of(y))
    # Inner tasks are gone by now, and count as done.
    assert len(groups) > 2
    assert all(group.done == group.total > 0 for group in groups.values())


def test_ends_are_told_apart(client: Client, tmp_path: Path) -> None:
    go = tmp_path / "go"
    bad = client.submit(fails, 7, pure=False)
    after = client.submit(plus, bad, pure=False)
    held_one = client.submit(held, 1, str(go), pure=False)
    cancelled = client.submit(held, held_one, str(go), pure=False, key="given-up-1")
    before = client.submit(plus, 1, pure=False, key="before-1")
    before.cancel()
    wait_until("it has failed", lambda: after.status == "error")
    tasks = FollowedTasks([after, held_one, cancelled, before], True, "prefix")
    counts = tasks.open()
    assert counts.error is not None
    assert (counts.error.type, counts.error.message) == ("ValueError", "no <b>7</b>")
    assert counts.error.key == bad.key
    cancelled.cancel()
    wait_until("it is given up", lambda: tasks.count().all.cancelled == 2)
    groups = {group.name: group for group in tasks.count().groups}
    assert groups["fails"] == Group("fails", 1, failed=1)
    assert groups["plus"] == Group("plus", 1, failed=1)
    assert groups["given-up"] == Group("given-up", 1, cancelled=1)
    assert groups["before"] == Group("before", 1, cancelled=1)
    go.touch()
    wait_until("all has ended", lambda: tasks.count().ended)
    tasks.close()


def test_what_is_made_again_after_a_loss(tmp_path: Path) -> None:
    go, ran = tmp_path / "go", tmp_path / "ran"
    with Client(n_workers=1, threads_per_worker=1) as own:
        future = own.submit(first_at_once, str(ran), str(go))
        assert future.result() == 1
        tasks = FollowedTasks([future], True, "prefix")
        assert tasks.open().all.done == 1
        own.restart_workers(list(own.nthreads()))
        wait_until("it is made again", lambda: tasks.count().all.again == 1)
        assert not tasks.count().ended
        go.touch()
        wait_until("it is there again", lambda: tasks.count().all.done == 1)


def test_placed_data_is_done_also_when_it_is_let_go(client: Client) -> None:
    future = client.scatter(5)
    tasks = FollowedTasks([future], True, "prefix")
    assert tasks.open().all.done == 1
    key = future.key
    future.release()
    wait_until("the scheduler has forgotten it", lambda: key not in client.who_has())
    assert tasks.count().all.done == 1


# -- a terminal, and none


def test_one_line_where_there_is_no_terminal(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    futures = client.map(plus, range(20), pure=False)
    assert progress(futures) is None
    assert all(future.status == "finished" for future in futures)
    progress(futures[0], {"more": futures})  # finished already
    progress()
    progress([], {})
    bad = client.submit(fails, 1, pure=False)
    progress(bad)
    said = capsys.readouterr().out.replace("\u00a0", " ").splitlines()
    assert not any("[" in line or "\r" in line or "\x1b" in line for line in said)
    begins = [re.sub(r"[\d.]+ m?s", "TIME", line) for line in said]
    assert begins == [
        "Finished: 20 of 20 tasks, TIME",
        "Finished: 20 of 20 tasks, TIME",
        "No tasks: 0 of 0 tasks, TIME",
        "No tasks: 0 of 0 tasks, TIME",
        "Failed: 0 of 1 tasks, TIME, 1 failed",
        f"First error: ValueError: no <b>1</b>, in {bad.key}",
    ]


_SCRIPT = """
import sys
from spanwise import Client, progress
from spanwise.tests.progress_tasks import held
if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1) as client:
        futures = [client.submit(held, i, f"{sys.argv[1]}/{i}", pure=False) for i in range(2)]
        try:
            progress(futures)
        except KeyboardInterrupt:
            print("PROMPT", [each.status for each in futures], flush=True)
        progress(futures)
        print("ALL", client.gather(futures), flush=True)
"""


#: Makes the terminal that of a session of its own, and becomes the program.
_OWN_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, script: Path, *arguments: str) -> None:
        self._own, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _OWN_TERMINAL, sys.executable, str(script), *arguments],
            **{"stdin": theirs, "stdout": theirs, "stderr": theirs},
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
        os.close(theirs)
        self.said = ""

    def wait_for(self, text: str, seconds: float = LIMIT_SECONDS) -> None:
        limit = time.monotonic() + seconds
        while text not in self.said:
            assert time.monotonic() < limit, self.said
            if select.select([self._own], [], [], 0.1)[0]:
                try:
                    self.said += os.read(self._own, 65536).decode("utf8", "replace")
                except OSError:  # it has ended
                    assert text in self.said, self.said

    def press(self, keys: bytes) -> None:
        os.write(self._own, keys)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.mark.timeout(900)
def test_a_bar_in_a_terminal_and_ctrl_c(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    terminal = Terminal(script, str(tmp_path))
    try:
        terminal.wait_for("0% Completed", START_SECONDS)
        (tmp_path / "0").touch()
        terminal.wait_for("] | 50% Completed")
        assert f"[{'#' * 20}{' ' * 20}]" in terminal.said
        terminal.press(b"\x03")
        terminal.wait_for("PROMPT")
        # It stands in a line of its own.
        assert "\nPROMPT" in terminal.said
        terminal.wait_for("'pending']")
        (tmp_path / "1").touch()
        terminal.wait_for("100% Completed")
        terminal.wait_for("ALL [0, 1]")
        assert terminal.process.wait(LIMIT_SECONDS) == 0
    finally:
        terminal.end()


# -- what it takes


def test_errors_say_what_to_do(client: Client) -> None:
    x = da.ones(10, chunks=5)
    with pytest.raises(ValueError, match=r"x = x\.persist\(\)"):
        progress(x)
    with pytest.raises(ValueError, match="not persisted"):
        progress([client.submit(plus, 1), [delayed(plus)(1)]])
    with pytest.raises(TypeError, match="not int"):
        progress(5)
    with pytest.raises(ValueError, match="group_by is"):
        progress(group_by="worker")
    with pytest.raises(ZeroDivisionError):
        gone = client.submit(plus, 5, pure=False)
        gone.cancel()
        progress(gone, notebook=True, group_by=lambda key: 1 / 0)


def test_futures_of_a_closed_client_and_of_two() -> None:
    with spanwise.LocalCluster(n_workers=1) as cluster:
        first = Client(cluster)
        future = first.submit(plus, 1)
        assert future.result() == 1
        first.close()
        with pytest.raises(ClusterError, match="closed"):
            progress(future)
        with Client(cluster) as second, pytest.raises(ValueError, match="several clients"):
            progress(future, second.submit(plus, 2))
    with pytest.raises(ClusterError):
        progress(future)


def test_an_asynchronous_client(capsys: pytest.CaptureFixture[str]) -> None:
    async def use() -> None:
        async with Client(n_workers=1, asynchronous=True) as own:
            futures = own.map(plus, range(3))
            await progress(futures)
            assert [each.status for each in futures] == ["finished"] * 3

    asyncio.run(use())
    assert capsys.readouterr().out.startswith("Finished: 3 of 3 tasks")


# -- a notebook


class Page:
    """Takes what is displayed, as a notebook does."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        import IPython.display

        self.shown: dict[str, list[str]] = {}
        patch.setattr(IPython.display, "display", self._display)
        patch.setattr(IPython.display, "update_display", self._update)
        self.widgets: list[Any] = []

    def _display(self, data: Any, display_id: str = "", **kwargs: Any) -> None:
        if isinstance(data, dict):
            self.shown[display_id] = [data["text/html"]]
        else:
            self.widgets.append(data)

    def _update(self, data: Any, display_id: str, **kwargs: Any) -> None:
        self.shown[display_id].append(data["text/html"])

    @property
    def newest(self) -> str:
        return next(reversed(self.shown.values()))[-1].replace("\u00a0", " ")


class FakeHTML:
    """As `ipywidgets.HTML`."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.comm: object | None = object()

    def close(self) -> None:
        self.comm = None


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    pytest.importorskip("IPython")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    return Page(monkeypatch)


def test_bars_without_widgets(client: Client, page: Page, tmp_path: Path) -> None:
    go = tmp_path / "go"
    futures = [client.submit(held, 1, str(go), pure=False), client.submit(fails, 1, pure=False)]
    bar = progress(futures, notebook=True)
    assert bar.widget is None and len(page.shown) == 1
    bar._ipython_display_()  # the last value of its cell
    assert len(page.shown) == 1
    wait_until("the error is shown", lambda: "ValueError" in page.newest)
    assert "no &lt;b&gt;1&lt;/b&gt;" in page.newest and "Computing" in page.newest
    bar._ipython_display_()  # in another cell
    assert len(page.shown) == 2
    go.touch()
    assert bar.wait(LIMIT_SECONDS)
    assert "<b>Failed</b>" in page.newest
    assert [shown[-1] for shown in page.shown.values()] == [bar._markup] * 2
    assert repr(bar).startswith("<progress: Failed: 1 of 2 tasks")


def test_bars_with_widgets_end_when_the_widget_is_closed(
    client: Client, page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", SimpleNamespace(HTML=FakeHTML))
    go = tmp_path / "go"
    future = client.submit(held, 1, str(go), pure=False)
    bar = progress(future, notebook=True)
    assert page.widgets == [bar.widget] and not page.shown
    wait_until("it is counted", lambda: "held" in bar.widget.value)
    bar.widget.close()
    assert bar.wait(LIMIT_SECONDS)
    assert future.status == "pending"
    go.touch()
    finished = progress(future, multi=False, notebook=True)
    assert finished.wait(LIMIT_SECONDS)
    assert "<b>Finished</b>" in finished.widget.value and ">all<" in finished.widget.value


def test_a_bar_that_is_closed_leaves_the_tasks(client: Client, page: Page, tmp_path: Path) -> None:
    go = tmp_path / "go"
    future = client.submit(held, 3, str(go), pure=False)
    bar = progress(future, notebook=True)
    bar.close()
    assert bar.wait(LIMIT_SECONDS)
    go.touch()
    assert future.result() == 3


def test_a_bar_ends_with_its_client(page: Page, tmp_path: Path) -> None:
    with Client(n_workers=1) as own:
        future = own.submit(held, 1, str(tmp_path / "go"))
        bar = progress(future, notebook=True)
        wait_until("it is counted", lambda: "held" in page.newest)
    assert bar.wait(LIMIT_SECONDS)
    assert "<b>Stopped</b>" in page.newest
    assert "closed" in page.newest or "has ended" in page.newest


def test_a_function_that_fails_is_told_in_the_bar(client: Client, page: Page) -> None:
    future = client.submit(plus, 1, pure=False)
    future.result()
    bar = progress(future, notebook=True, group_by=lambda key: 1 / 0)
    assert bar.wait(LIMIT_SECONDS)
    assert "ZeroDivisionError" in page.newest


_CELLS = """
import sys
from pathlib import Path
from spanwise import Client, progress
from spanwise.tests.progress_tasks import held
client = Client(n_workers=1, threads_per_worker=1)
futures = [client.submit(held, i, {go!r}, pure=False) for i in range(2)]
bar = progress(futures)
bar
"""


def _has_widgets() -> bool:
    return importlib.util.find_spec("ipywidgets") is not None


@pytest.mark.timeout(900)
@pytest.mark.parametrize("widgets", [False, True])
def test_bars_in_a_real_kernel(tmp_path: Path, widgets: bool) -> None:
    pytest.importorskip("ipykernel")
    manager = pytest.importorskip("jupyter_client.manager")
    if widgets and not _has_widgets():
        pytest.skip("needs ipywidgets")
    go = tmp_path / "go"
    code = _CELLS.format(go=str(go))
    if not widgets:
        code = f"import sys; sys.modules['ipywidgets'] = None\n{code}"
    # (it imports for seconds, on a busy machine for most of a minute)
    kernels, kernel = manager.start_new_kernel(startup_timeout=START_SECONDS, kernel_name="python3")
    try:
        shown = Shown(kernel)
        cell = kernel.execute(code)
        # It comes while the tasks wait: the cell was not held. Answers to questions of the start
        # may come before it.
        limit = time.monotonic() + START_SECONDS
        reply = kernel.get_shell_msg(timeout=START_SECONDS)
        while reply["parent_header"].get("msg_id") != cell:
            reply = kernel.get_shell_msg(timeout=max(0.1, limit - time.monotonic()))
        assert reply["content"]["status"] == "ok", reply["content"]
        shown.until(lambda: "0 / 2" in shown.newest, START_SECONDS)
        assert not go.exists()
        go.touch()
        shown.until(lambda: "<b>Finished</b>" in shown.newest)
        assert shown.cells == {cell}
        assert shown.displays == 1
        kernel.execute("client.close()")
        kernel.get_shell_msg(timeout=LIMIT_SECONDS)
    finally:
        kernel.stop_channels()
        kernels.shutdown_kernel(now=False)


class Shown:
    """What a kernel displays, by displays with an id and by widgets."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.newest = ""
        self.displays = 0
        #: Cells in which it stands.
        self.cells: set[str] = set()

    def until(self, condition: Callable[[], bool], seconds: float = LIMIT_SECONDS) -> None:
        limit = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < limit, self.newest
            with contextlib.suppress(Exception):  # nothing came
                self._take(self._kernel.get_iopub_msg(timeout=0.2))

    def _take(self, message: Any) -> None:
        content, kind = message["content"], message["msg_type"]
        if kind in ("display_data", "update_display_data"):
            self.displays += kind == "display_data"
            self.newest = content["data"].get("text/html", self.newest)
            self.cells.add(message["parent_header"].get("msg_id"))
        elif kind in ("comm_open", "comm_msg"):
            state = content["data"].get("state", {})
            self.newest = state.get("value", self.newest)


# -- what it costs


def test_looks_take_a_bounded_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    looks, pauses = [], []

    class Slow:
        """Each look takes the scheduler a second."""

        def count(self) -> Counts:
            nonlocal now
            looks.append(now)
            now += 1.0
            return Counts((Group("x", 10**6, done=10**5 * len(looks)),))

        open = count

        def close(self) -> None:
            """Nothing to close."""

    def wait(seconds: float) -> None:
        nonlocal now
        pauses.append(seconds)
        now += seconds

    monkeypatch.setattr(follower, "time", SimpleNamespace(monotonic=lambda: now))
    bar = Follower(Slow(), 0.1, lambda *shown: None)  # type: ignore[arg-type]
    bar._closed = SimpleNamespace(is_set=lambda: False, wait=wait)  # type: ignore[assignment]
    bar.run()
    # The last one without a pause, when all is done: by then it is known how the futures ended.
    assert len(looks) == 11 and len(pauses) == 9
    assert all(1.0 / (1.0 + pause) <= follower.MOST_SHARE + 1e-9 or pause >= 20 for pause in pauses)


def test_a_look_is_as_short_for_many_tasks(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    futures = client.map(plus, range(3000), pure=False)
    tasks = FollowedTasks(futures, True, "prefix")
    tasks.open()
    ask = client._session.ask

    def spy(*given: Any) -> Any:
        asked.append(given)
        return ask(*given)

    monkeypatch.setattr(client._session, "ask", spy)
    counts = tasks.count()
    tasks.close()
    assert counts.all.total == 3000
    ((_, _, tables),) = asked
    assert not len(tables["ids"]["id"]) and not len(tables["groups"]["group"])


def test_threads_end_with_their_bars(client: Client, page: Page) -> None:
    for _ in range(3):
        bar = progress(client.submit(plus, 1, pure=False), notebook=True)
        assert bar.wait(LIMIT_SECONDS)
    assert not any(each.name == "spanwise-progress" for each in threading.enumerate())


def test_names_that_existing_code_imports() -> None:
    from distributed import metrics as theirs

    import spanwise.metrics as ours
    from spanwise.diagnostics import MemorySampler
    from spanwise.diagnostics import progress as same
    from spanwise.diagnostics.progressbar import progress as there

    assert same is there is progress is spanwise.progress
    assert MemorySampler is spanwise.MemorySampler
    for name in ours.__all__:
        here, there = getattr(ours, name), getattr(theirs, name)
        # The clocks are the same functions; the meter is our own, by the same name.
        assert here is there or (name == "context_meter" and type(here) is ours.ContextMeter)
