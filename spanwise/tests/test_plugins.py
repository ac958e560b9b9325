"""Plugins of workers: on those that are there, and on others before their first task."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
import threading
import time
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import distributed
import pytest

import spanwise
from spanwise import Client, Environ, PipInstall, UploadFile, WorkerPlugin, get_worker, plugins
from spanwise.client.their_plugins import ours_of
from spanwise.errors import SchedulerLost
from spanwise.processes.process_state import lives
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.warned import of_the_block
from spanwise.worker.worker import Worker


class Marks(WorkerPlugin):
    """Writes into a file what becomes of it."""

    def __init__(self, path: Path, mark: str, fails_at: str = "") -> None:
        self.path = path
        self.mark = mark
        self.fails_at = fails_at

    def _write(self, what: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{what} {self.mark}\n")
        if what == self.fails_at:
            raise KeyError(what, self.mark)

    def setup(self, worker: Any) -> None:
        assert get_worker() is worker
        self._write("setup")
        worker.mark = self.mark

    async def teardown(self, worker: Any) -> None:
        await asyncio.sleep(0)
        self._write("teardown")
        del worker.mark


class TheirMarks(distributed.WorkerPlugin):
    """The same for `distributed`."""

    def __init__(self, path: Path, mark: str) -> None:
        self.marks = Marks(path, mark)

    def setup(self, worker: Any) -> None:
        self.marks._write("setup")

    def teardown(self, worker: Any) -> None:
        self.marks._write("teardown")


def plugins_of(client: Client) -> list[list[str]]:
    return [*client.run(lambda dask_worker: sorted(dask_worker.plugins)).values()]


def test_a_plugin_is_set_up_replaced_and_torn_down_as_theirs(
    cluster: Client, theirs: distributed.Client, tmp_path: Path
) -> None:
    said = []
    cases: list[tuple[Any, type]] = [(cluster, Marks), (theirs, TheirMarks)]
    for client, made in cases:
        path = tmp_path / made.__name__
        answers = [client.register_plugin(made(path, "a"), name="marks")]
        answers.append(client.register_plugin(made(path, "b"), name="marks"))
        answers.append(client.unregister_worker_plugin("marks"))
        addresses = {*client.nthreads()}
        assert answers == [{address: {"status": "OK"} for address in addresses}] * 3
        said.append(path.read_text().split("\n"))
        with pytest.raises(ValueError, match="marks"):
            client.unregister_worker_plugin("marks")
    once = ["setup a", "teardown a", "setup b", "teardown b"]
    assert said[1] == [*once, ""]
    # Two workers, each in this order.
    assert sorted(said[0]) == sorted([*once, *once, ""])
    assert [*dict.fromkeys(said[0])] == [*once, ""]
    assert plugins_of(cluster) == [[], []]


def test_of_an_idempotent_one_the_first_stays(cluster: Client, tmp_path: Path) -> None:
    path = tmp_path / "marks"
    cluster.register_plugin(Marks(path, "a"), name="marks")
    cluster.register_plugin(Marks(path, "b"), name="marks", idempotent=True)
    again = Marks(path, "c")
    again.name = "marks"  # type: ignore[attr-defined]
    again.idempotent = True
    cluster.register_plugin(again)
    assert [*cluster.run(lambda dask_worker: dask_worker.mark).values()] == ["a", "a"]
    cluster.unregister_worker_plugin("marks")


def test_what_setup_raises_comes_and_nothing_stays(cluster: Client, tmp_path: Path) -> None:
    path = tmp_path / "marks"
    with pytest.raises(KeyError, match="'setup', 'bad'"):
        cluster.register_plugin(Marks(path, "bad", "setup"), name="bad")
    assert plugins_of(cluster) == [[], []]
    with pytest.raises(ValueError, match="There is no plugin 'bad'"):
        cluster.unregister_worker_plugin("bad")
    cluster.register_plugin(Marks(path, "late", "teardown"), name="late")
    with pytest.raises(KeyError, match="'teardown', 'late'"):
        cluster.unregister_worker_plugin("late")
    assert plugins_of(cluster) == [[], []]


def test_a_teardown_that_fails_is_told_and_the_next_plugin_stays(
    cluster: Client, tmp_path: Path
) -> None:
    path = tmp_path / "marks"
    cluster.register_plugin(Marks(path, "old", "teardown"), name="marks")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        answer = cluster.register_plugin(Marks(path, "new"), name="marks")
        wait_until(
            "it is told", lambda: any('called "marks"' in str(each.message) for each in told)
        )
    assert {*answer} == {*cluster.scheduler_info()["workers"]}
    assert plugins_of(cluster) == [["marks"]] * 2
    assert [*cluster.run(lambda dask_worker: dask_worker.mark).values()] == ["new"] * 2
    cluster.unregister_worker_plugin("marks")


class Waits(WorkerPlugin):
    """Is set up once a file is there."""

    def __init__(self, go: Path) -> None:
        self.go = go

    def setup(self, worker: Any) -> None:
        while not self.go.exists():
            time.sleep(0.01)


def test_a_setup_that_does_not_end_is_told_with_its_workers(tmp_path: Path) -> None:
    """Half a minute: that is how soon users are told."""
    with Client(n_workers=2, threads_per_worker=1) as client:
        waits = Waits(tmp_path / "go")
        answers: list[dict[str, Any]] = []
        registering = threading.Thread(
            target=lambda: answers.append(client.register_plugin(waits, name="waits"))
        )
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            registering.start()

            def said() -> list[str]:
                return [text for each in told if '"waits"' in (text := str(each.message))]

            wait_until("it is told", said, limit=2 * LIMIT_SECONDS)
        assert said()[0].startswith("worker-0, worker-1 have been setting up the plugin")
        assert 'client.restart_workers(["worker-0", "worker-1"]) ends it there' in said()[0]
        waits.go.touch()
        registering.join(LIMIT_SECONDS)
        assert {*answers[0]} == {*client.scheduler_info()["workers"]}


def test_a_plugin_whose_registration_is_interrupted_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:

        def interrupted(*args: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(client._session, "next_answer", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.register_plugin(Waits(tmp_path / "never"), name="waits")
        assert client.restart_workers(["worker-0"]) == {"worker-0": "OK"}
        assert client.submit(pid).result(LIMIT_SECONDS)
        with pytest.raises(ValueError, match="There is no plugin 'waits'"):
            client.unregister_worker_plugin("waits")


def test_what_is_no_plugin_is_refused(cluster: Client, theirs: distributed.Client) -> None:
    class Duck:
        def setup(self, worker: Any) -> None: ...

    for client, wrong in ((cluster, Marks), (cluster, Duck()), (theirs, TheirMarks)):
        with pytest.raises(TypeError):
            client.register_plugin(wrong)
    with pytest.raises(NotImplementedError, match="no NannyPlugin"):
        cluster.register_plugin(distributed.NannyPlugin())  # type: ignore[arg-type]

    class Watches(WorkerPlugin):
        def transition(self, key: Any, start: Any, finish: Any, **kwargs: Any) -> None: ...

    with (
        pytest.warns(RuntimeWarning, match=r"Watches\.transition\(\) is never called") as caught,
        pytest.warns(DeprecationWarning, match="use register_plugin") as more,
    ):
        cluster.register_plugin(Watches(), name="watches")
        cluster.register_worker_plugin(Watches(), "watches")
    assert {each.filename for each in of_the_block([*caught, *more])} == {__file__}
    cluster.unregister_worker_plugin("watches")


def test_callbacks_and_environ(cluster: Client) -> None:
    def prepare(dask_worker: Any) -> None:
        dask_worker.prepared = True

    cluster.register_worker_callbacks(prepare)
    assert [*cluster.run(lambda dask_worker: dask_worker.prepared).values()] == [True] * 2
    cluster.register_worker_callbacks(dict)  # whose signature nobody knows
    cluster.register_plugin(Environ({"SPANWISE_TEST_N": 3}), name="environ")
    ask = cluster.submit(os.getenv, "SPANWISE_TEST_N", pure=False)
    assert ask.result(LIMIT_SECONDS) == "3"
    cluster.unregister_worker_plugin("environ")
    assert [*cluster.run(os.getenv, "SPANWISE_TEST_N").values()] == [None] * 2


def value_in(module: str) -> Any:
    import importlib

    return importlib.import_module(module).VALUE


def test_an_uploaded_directory_is_found_on_all_workers(cluster: Client, tmp_path: Path) -> None:
    package = tmp_path / "sent_here"
    for folder in (package, package / "tests", package / "inner"):
        folder.mkdir()
        (folder / "__init__.py").write_text("VALUE = 1\n")
    (package / "left.pyc").write_text("")
    (package / "beside_here.py").write_text("VALUE = 2\n")
    os.utime(package / "beside_here.py", (0, 0))  # 1970, as reproducible builds leave it
    cluster.register_plugin(plugins.UploadDirectory(str(package), update_path=True))

    def seen() -> list[Any]:
        import beside_here  # type: ignore[import-not-found]
        import sent_here.inner  # type: ignore[import-not-found]

        home = Path(sent_here.__file__).parent
        return [
            sent_here.inner.VALUE + beside_here.VALUE,
            (home / "tests").exists() or (home / "left.pyc").exists(),
            home.parent == Path(get_worker().local_directory),
        ]

    answers = list(cluster.run(seen).values())
    assert answers == [[3, False, True]] * len(answers)
    cluster.unregister_worker_plugin("upload-directory-sent_here")
    with pytest.raises(NotADirectoryError):
        plugins.UploadDirectory(str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="mode"):
        plugins.UploadDirectory(str(package), mode="nobody")
    for refused in ({"mode": "scheduler"}, {"restart_workers": True}):
        with pytest.raises(NotImplementedError):
            plugins.UploadDirectory(str(package), **refused)


def test_uploaded_modules_are_imported_anew(cluster: Client, tmp_path: Path) -> None:
    file = tmp_path / "uploaded_here.py"
    for value in (1, 2):
        file.write_text(f"VALUE = {value}\n")
        answer = cluster.upload_file(str(file))
        assert {*answer} == {*cluster.scheduler_info()["workers"]}
        assert [*cluster.run(value_in, "uploaded_here").values()] == [value] * 2
    for value in (3, 4):
        archive = tmp_path / "bundle.zip"
        with zipfile.ZipFile(archive, "w") as content:
            content.writestr("zipped_here/__init__.py", f"VALUE = {value}\n")
        cluster.upload_file(str(archive))
        got = cluster.submit(value_in, "zipped_here", pure=False)
        assert got.result(LIMIT_SECONDS) == value
    assert len(plugins_of(cluster)[0]) == len({*plugins_of(cluster)[0]})
    with pytest.raises(ZeroDivisionError):
        (tmp_path / "broken_here.py").write_text("1 / 0\n")
        cluster.upload_file(str(tmp_path / "broken_here.py"))
    with pytest.raises(ValueError, match="takes modules"):
        cluster.upload_file(str(tmp_path / "data.csv"))
    with pytest.raises(FileNotFoundError):
        cluster.upload_file(str(tmp_path / "nowhere.py"))
    (tmp_path / "data.csv").write_text("a,b\n")
    cluster.register_plugin(UploadFile(str(tmp_path / "data.csv"), load=False))
    there = cluster.run(
        lambda dask_worker: (Path(dask_worker.local_directory) / "data.csv").read_text()
    )
    assert [*there.values()] == ["a,b\n"] * 2


def test_an_uploaded_module_is_imported_while_no_task_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks import under the library's lock: else either may get one half made."""
    worker = Worker(0, "worker-0", 1, 0, tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "held", worker.library.importing._is_owned, raising=False)
    module = tmp_path / "uploaded_under_lock.py"
    module.write_text("import sys\nHELD = [*globals().get('HELD', []), sys.held()]\n")
    try:
        for _ in range(2):
            UploadFile(str(module)).setup(worker.object)
        assert sys.modules["uploaded_under_lock"].HELD == [True, True]
        # (free again)
        assert not worker.library.importing._is_owned()
    finally:
        sys.modules.pop("uploaded_under_lock", None)


def make_project(folder: Path) -> Path:
    """A package that pip installs without a build tool or an index: a wheel."""
    name = "installed_here-1.0"
    wheel = folder / f"{name}-py3-none-any.whl"
    info = f"{name}.dist-info"
    with zipfile.ZipFile(wheel, "w") as content:
        content.writestr("installed_here.py", "VALUE = 'installed'\n")
        content.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: installed_here\nVersion: 1.0\n"
        )
        content.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        content.writestr(f"{info}/RECORD", "")
    return wheel


def test_theirs_do_what_ours_of_the_same_names_do(cluster: Client, tmp_path: Path) -> None:
    theirs_too = distributed.diagnostics.plugin
    package, module = tmp_path / "sent_by_theirs", tmp_path / "module_of_theirs.py"
    package.mkdir()
    (package / "__init__.py").write_text("VALUE = 5\n")
    module.write_text("VALUE = 6\n")
    cluster.register_plugin(theirs_too.UploadDirectory(str(package)))
    cluster.register_plugin(theirs_too.UploadFile(str(module)))
    cluster.register_plugin(theirs_too.Environ({"SPANWISE_TEST_T": 7}), name="theirs")

    def seen() -> list[Any]:
        return [
            *map(value_in, ("sent_by_theirs", "module_of_theirs")),
            os.getenv("SPANWISE_TEST_T"),
        ]

    answers = list(cluster.run(seen).values())
    assert answers == [[5, 6, "7"]] * len(answers)
    cluster.unregister_worker_plugin("theirs")
    named = theirs_too.UploadFile(str(module))
    named.name = "named by its user"
    cluster.register_plugin(named)
    cluster.unregister_worker_plugin("named by its user")
    install = ours_of(theirs_too.PipInstall(["a>=1"], ["--no-index"]))
    assert isinstance(install, PipInstall) and install.packages == ["a>=1"]
    assert install.pip_options == ["--no-index"]
    for refused, why in (
        (theirs_too.UploadDirectory(str(package), mode="scheduler"), "scheduler runs no Python"),
        (theirs_too.UploadDirectory(str(package), restart_workers=True), "restart"),
        (theirs_too.PipInstall(["a"], restart_workers=True), "restart_workers=True"),
        (theirs_too.CondaInstall(["a"]), "CondaInstall of distributed.*client's environment"),
    ):
        with pytest.raises(NotImplementedError, match=why):
            cluster.register_plugin(refused)


def test_packages_are_installed_once(cluster: Client, tmp_path: Path) -> None:
    target = tmp_path / "target"
    log = tmp_path / "pip.log"
    options = ["--no-index", "--target", str(target), "--log", str(log)]
    cluster.register_plugin(PipInstall([str(make_project(tmp_path))], options))
    assert (target / "installed_here.py").exists()
    # Two workers, one of which has called pip.
    assert log.read_text().count("Successfully installed") == 1
    failing = PipInstall(["no-such-package-anywhere"], ["--no-index"])
    with pytest.raises(RuntimeError, match=r"could not install no-such-package[\s\S]*No matching"):
        cluster.register_plugin(failing)


def slow_project(folder: Path) -> tuple[Path, Path]:
    """A source whose build, a process of pip's, waits for ever, and where it writes its pid."""
    project, begun = folder / "slow", folder / "begun"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (project / "backend.py").write_text(
        "import os, pathlib, time\n"
        f"new = pathlib.Path({str(begun) + '.new'!r})\n"
        "new.write_text(str(os.getpid()))\n"
        f"new.rename({str(begun)!r})\n"
        "while True: time.sleep(1)\n"
    )
    return project, begun


def test_pip_ends_after_its_limit_with_what_it_has_started(tmp_path: Path) -> None:
    project, begun = slow_project(tmp_path)
    plugin = PipInstall([str(project)], ["--no-index", "--target", str(tmp_path / "target")])
    plugin.limit_seconds = 20  # until then the build has begun, or the machine is very busy
    with (
        Client(n_workers=1, threads_per_worker=1) as client,
        pytest.raises(RuntimeError, match=r"did not install .* within 20 s, and was ended"),
    ):
        client.register_plugin(plugin)
    if begun.exists():
        wait_until("the build ends too", lambda: not lives(int(begun.read_text())))


#: Stops itself, as Ctrl-Z would, before it could notice anything; so it does not end by itself.
_STOPPED = """
import os, pathlib, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
pathlib.Path(sys.argv[2]).write_text(f"{os.getpid()} {child.pid}")
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_stopped_pip_ends_after_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_PIP_WITH_OWNER", _STOPPED)
    pids = tmp_path / "pids"
    plugin = PipInstall([str(pids)])
    plugin.limit_seconds = 5  # until then it is stopped, or the machine is very busy
    said: list[str] = []

    def install() -> None:
        try:
            plugin._install()
        except RuntimeError as error:
            said.append(str(error))

    installing = threading.Thread(target=install, daemon=True)
    installing.start()
    installing.join(LIMIT_SECONDS)
    both = [int(each) for each in pids.read_text().split()] if pids.exists() else []
    try:
        assert said and "within 5 s, and was ended" in said[0]
        wait_until("what it started ends too", lambda: not any(map(lives, both)))
    finally:
        for each in filter(lives, both):
            os.kill(each, signal.SIGKILL)


@pytest.mark.timeout(900)
def test_pip_ends_with_its_worker(tmp_path: Path) -> None:
    project, begun = slow_project(tmp_path)
    with Client(n_workers=1, threads_per_worker=1) as client:
        plugin = PipInstall([str(project)], ["--no-index", "--target", str(tmp_path / "target")])

        def register() -> None:
            with suppress(SchedulerLost):
                client.register_plugin(plugin)

        registering = threading.Thread(target=register, daemon=True)
        registering.start()
        # (after the worker has imported pip, and pip what builds)
        wait_until("the build begins", begun.exists, limit=4 * LIMIT_SECONDS)
        build = int(begun.read_text())
        assert lives(build)
    wait_until("it ends with the cluster", lambda: not lives(build))
    registering.join(LIMIT_SECONDS)


def pid() -> int:
    return os.getpid()


def test_workers_that_join_later_have_them_before_their_first_task(tmp_path: Path) -> None:
    module = tmp_path / "uploaded_before.py"
    module.write_text("VALUE = 'there'\n")
    path = tmp_path / "marks"
    with Client(n_workers=1, threads_per_worker=2) as client:
        client.upload_file(str(module))
        client.register_plugin(Marks(path, "a"), name="marks")
        (before,) = client.run(pid).values()
        # Submitted while there is no other worker: they begin as soon as one can be had.
        os.kill(before, signal.SIGKILL)
        waiting = [client.submit(value_in, "uploaded_before", pure=False) for _ in range(4)]
        marked = client.submit(lambda _: get_worker().mark, 0, pure=False)
        assert [each.result(LIMIT_SECONDS) for each in waiting] == ["there"] * 4
        assert marked.result(LIMIT_SECONDS) == "a"
        assert path.read_text() == "setup a\n" * 2
        (after,) = client.run(pid).values()
        assert after != before

        # One that cannot be set up on a new worker keeps tasks from it, and is told.
        client.register_plugin(OnlyOnce(tmp_path / "once"), name="once")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            os.kill(after, signal.SIGKILL)
            waits = client.submit(pid, pure=False)
            wait_until("it is told", lambda: any("once" in str(each.message) for each in told))
            assert "FileExistsError" in " ".join(str(each.message) for each in told)
            assert not waits.done()
            client.unregister_worker_plugin("once")
            assert waits.result(LIMIT_SECONDS) not in (before, after)


class OnlyOnce(WorkerPlugin):
    """Can be set up one single time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def setup(self, worker: Any) -> None:
        self.path.touch(exist_ok=False)


def test_a_class_of_the_program_goes_by_value(cluster: Client, tmp_path: Path) -> None:
    source = textwrap.dedent(
        """
        from spanwise import WorkerPlugin
        class Own(WorkerPlugin):
            name = "own"
            def setup(self, worker):
                worker.own = "by value"
        """
    )
    there: dict[str, Any] = {"__name__": "__main__"}
    exec(source, there)  # noqa: S102
    cluster.register_plugin(there["Own"]())
    assert [*cluster.run(lambda dask_worker: dask_worker.own).values()] == ["by value"] * 2
    cluster.unregister_worker_plugin("own")


def test_the_names_are_public() -> None:
    assert spanwise.WorkerPlugin is WorkerPlugin
    assert "spanwise.client" not in sys.modules["spanwise.plugins"].__dict__
