"""Plugins of workers: the base class, and those that are ready to be used.

Clients pickle them and workers open them, so this module imports nothing of either.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import io
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from spanwise.worker_parameter import WORKER_PARAMETER, takes_worker

#: What is shown of pip's output when it fails.
_MOST_OUTPUT = 8_000
_LOADED = (".py", ".egg", ".zip", ".pyz")


class WorkerPlugin:
    """Prepares each worker, also those that join later, before its first task.

    Register an instance with :meth:`spanwise.Client.register_plugin`. Both methods may be
    coroutine functions; ``get_worker()`` answers in them too.

    Attributes
    ----------
    name : str
        Optional: its name if none is given when it is registered.
    idempotent : bool
        Registering another one of its name does nothing.
    """

    idempotent: bool = False

    def setup(self, worker: Any) -> Any:
        """Run on each worker, when the plugin is registered or the worker joins."""

    def teardown(self, worker: Any) -> Any:
        """Run when the plugin is unregistered, or before another one of its name is set up."""

    def transition(self, key: Any, start: Any, finish: Any, **kwargs: Any) -> None:
        """Never called: workers are not told the keys of their tasks."""


class SchedulerPlugin:
    """Is told what happens to tasks, workers and clients, in the client's own process.

    Register an instance with :meth:`spanwise.Client.register_plugin`. Its hooks are called in a
    thread of their own, one after another, in the order in which things happened; each may be a
    coroutine function. One that raises is told of, and the plugin removed.

    Attributes
    ----------
    name : str
        Optional: its name if none is given when it is registered.
    idempotent : bool
        Registering another one of its name does nothing.
    """

    idempotent: bool = False

    def start(self, scheduler: Any) -> Any:
        """Run when the plugin is registered; if it raises, the plugin is not added."""

    def before_close(self) -> Any:
        """Run before `close`."""

    def close(self) -> Any:
        """Run when the client is closed or its cluster ends, not when it is unregistered."""

    def update_graph(
        self,
        scheduler: Any,
        *,
        client: str,
        keys: set[Any],
        tasks: list[Any],
        annotations: dict[str, dict[Any, Any]],
        priority: dict[Any, tuple[int, ...]],
        stimulus_id: str,
        **kwargs: Any,
    ) -> Any:
        """Run when a client has submitted a graph, or a part of a large one."""

    def restart(self, scheduler: Any) -> Any:
        """Run when workers are restarted."""

    def transition(
        self, key: Any, start: str, finish: str, *args: Any, stimulus_id: str, **kwargs: Any
    ) -> Any:
        """Run when a task has gone from one state to another."""

    def add_worker(self, scheduler: Any, worker: str) -> Any:
        """Run when a worker has joined."""

    def remove_worker(self, scheduler: Any, worker: str, *, stimulus_id: str, **kwargs: Any) -> Any:
        """Run when a worker has left, and its tasks have moved."""

    def add_client(self, scheduler: Any, client: str) -> Any:
        """Run when a client has come."""

    def remove_client(self, scheduler: Any, client: str) -> Any:
        """Run when a client has gone."""

    def log_event(self, topic: str, msg: Any) -> Any:
        """Run for each event that is logged under a topic."""

    def valid_workers_downscaling(self, scheduler: Any, workers: Any) -> Any:
        """Never called: Spanwise chooses the workers that leave."""
        return workers


class ModulePlugin:
    """A JavaScript module that is loaded into the scheduler's own process.

    Register it with :meth:`spanwise.Client.register_plugin`; docs/scheduler-plugins.md says what
    it may be told.

    Parameters
    ----------
    path
        The module's file; absolute, since the scheduler runs in a folder of its own.
    export
        Its export: a plugin, or a function that makes one of the options.
    options
        Numbers, texts, bytes, None, True, False, and lists and dicts of them.

    Raises
    ------
    ValueError
        The path is not absolute.
    """

    def __init__(
        self, path: str | Path, export: str = "default", options: dict[str, Any] | None = None
    ) -> None:
        if not Path(path).is_absolute():
            raise ValueError(f"ModulePlugin takes an absolute path, not {str(path)!r}")
        self.path = str(path)
        self.export = export
        self.options = dict(options or {})


def _path_of(given: Any, says: str) -> Path:
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"{says}, not {given!r:.80}")
    return Path(given)


def _texts(given: Any, name: str) -> list[str]:
    """One text, or several, as a list: the letters of one would be packages too."""
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, Iterable) or not all(isinstance(each, str) for each in found):
        raise TypeError(f"{name} is a list of texts, not {given!r:.80}")
    return list(found)


class UploadFile(WorkerPlugin):
    """Puts a file into each worker's `local_directory`, where modules are looked for first.

    Parameters
    ----------
    filepath
        A ``.py``, ``.egg``, ``.zip`` or ``.pyz`` file; read now.
    load
        Import what is in it, again if it was imported before.

    Raises
    ------
    ValueError
        It is another kind of file.
    OSError
        It cannot be read.
    """

    name: str

    def __init__(self, filepath: str, load: bool = True) -> None:
        path = _path_of(filepath, "upload_file() takes the path of a file")
        if load and path.suffix not in _LOADED:
            raise ValueError(
                f"upload_file() takes modules ({', '.join(_LOADED)}), not {path.name!r}; "
                "load=False uploads any file"
            )
        self._hold(path.name, path.read_bytes(), load)

    def _hold(self, filename: str, data: bytes, load: bool) -> None:
        self.name = f"upload_file:{filename}"
        self.filename = filename
        self.load = load
        self.data = data

    @classmethod
    def of(cls, filename: str, data: bytes, load: bool) -> Self:
        """Make one of what was read already."""
        made = cls.__new__(cls)
        made._hold(filename, data, load)
        return made

    def setup(self, worker: Any) -> None:
        """Write the file, and import what is in it."""
        folder = worker.local_directory
        file = Path(folder) / self.filename
        # In one step: tasks may be importing it.
        new = file.with_name(f"{file.name}.new")
        new.write_bytes(self.data)
        new.replace(file)
        is_archive = file.suffix in (".egg", ".zip", ".pyz")
        worker.search_first(str(file) if is_archive else folder)
        if file.suffix == ".py":
            # Its age is told in whole seconds, and it may be as long as before.
            Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
        importlib.invalidate_caches()
        if self.load:
            worker.import_anew(_modules_in(file))


class UploadDirectory(WorkerPlugin):
    """Puts a folder into each worker's `local_directory`, under its own name.

    Parameters
    ----------
    path
        The folder; read now.
    restart_workers
        True is refused: a worker that has imported what is in it keeps that.
    update_path
        Look for modules first in the folder itself, beside the one that holds it.
    skip_words
        Folders and files of these names are left out.
    skip
        Functions that get a file's path, and say whether it is left out.
    mode
        ``"workers"``, or ``"all"``, which is the same: the scheduler runs no Python.

    Raises
    ------
    NotADirectoryError
        It is no folder.
    """

    name: str

    def __init__(
        self,
        path: str,
        restart_workers: bool = False,
        update_path: bool = False,
        skip_words: Iterable[str] = (".git", ".github", ".pytest_cache", "tests", "docs"),
        skip: Iterable[Callable[[str], Any]] = (lambda fn: Path(fn).suffix == ".pyc",),
        mode: str = "workers",
    ) -> None:
        self.check(restart_workers, mode)
        folder = (
            _path_of(path, "UploadDirectory() takes the path of a folder").expanduser().absolute()
        )
        if not folder.is_dir():
            raise NotADirectoryError(f"There is no folder {folder}")
        self._hold(folder.name, _packed(folder, {*skip_words}, tuple(skip)), update_path)

    def _hold(self, path: str, data: bytes, update_path: bool) -> None:
        self.path = path
        self.name = f"upload-directory-{path}"
        self.update_path = update_path
        self.data = data

    @classmethod
    def of(cls, path: str, data: bytes, update_path: bool) -> Self:
        """Make one of what was packed already, with the folder's name in it."""
        made = cls.__new__(cls)
        made._hold(path, data, update_path)
        return made

    @staticmethod
    def check(restart_workers: bool, mode: str) -> None:
        """Refuse what is not done.

        Raises
        ------
        NotImplementedError, ValueError
        """
        if restart_workers:
            raise NotImplementedError(
                "UploadDirectory(restart_workers=True) is not there: upload before tasks import "
                "what is in the folder, or call client.restart() afterwards"
            )
        if mode == "scheduler":
            raise NotImplementedError(
                'UploadDirectory(mode="scheduler") is not there: the scheduler runs no Python'
            )
        if mode not in ("workers", "all"):
            raise ValueError(f'mode is "workers" or "all", not {mode!r}')

    def setup(self, worker: Any) -> None:
        """Write the files, and have them found."""
        home = Path(worker.local_directory)
        with zipfile.ZipFile(io.BytesIO(self.data)) as files:
            files.extractall(home)
        worker.search_first(str(home))
        if self.update_path:
            worker.search_first(str(home / self.path))
        importlib.invalidate_caches()


def _packed(folder: Path, words: set[str], skip: Sequence[Callable[[str], Any]]) -> bytes:
    """The files of a folder, under its name, as a zip archive."""
    packed = io.BytesIO()
    # (zip knows no time before 1980, which files of reproducible builds have)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as files:
        for file in sorted(folder.rglob("*")):
            inside = file.relative_to(folder.parent)
            if not file.is_file() or words & {*inside.parts[1:]}:
                continue
            if not any(leaves_out(str(file)) for leaves_out in skip):
                files.write(file, str(inside))
    return packed.getvalue()


def _modules_in(file: Path) -> list[str]:
    if file.suffix == ".py":
        return [file.stem]
    from pkgutil import iter_modules

    return [module.name for module in iter_modules([str(file)])]


class Environ(WorkerPlugin):
    """Sets environment variables in each worker.

    Code that has read a variable before does not read it again: register this first.

    Parameters
    ----------
    environ
        Names to values, which become texts.
    """

    def __init__(self, environ: dict[str, Any] | None = None) -> None:
        if not (environ is None or isinstance(environ, Mapping)):
            raise TypeError(
                "Environ() takes names and values, such as {'OMP_NUM_THREADS': 1}, not "
                f"{environ!r:.80}"
            )
        self.environ = {name: str(value) for name, value in (environ or {}).items()}
        self._before: dict[str, str | None] = {}

    def setup(self, worker: Any) -> None:
        """Set the variables."""
        self._before = {name: os.environ.get(name) for name in self.environ}
        os.environ.update(self.environ)

    def teardown(self, worker: Any) -> None:
        """Put back what was there before."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class PipInstall(WorkerPlugin):
    """Installs packages with pip, once for all workers: they share one environment, the client's.

    Parameters
    ----------
    packages
        What pip takes: names with versions, addresses, paths. Names are looked up where pip's
        settings say.
    pip_options
        Further options of ``pip install``, such as ``["--upgrade"]`` or ``["--no-index"]``.
    restart_workers
        True is refused: what workers have imported stays as it is.

    Attributes
    ----------
    limit_seconds : float
        pip and what it has started are ended after so long; half an hour. Set it on the
        instance before it is registered.
    """

    limit_seconds: float = 1800.0

    def __init__(
        self,
        packages: list[str],
        pip_options: list[str] | None = None,
        restart_workers: bool = False,
    ) -> None:
        if restart_workers:
            raise NotImplementedError(
                "PipInstall(restart_workers=True) is not there: install before tasks import the "
                "packages, or close() and make a new Client()"
            )
        self.packages = _texts(packages, "packages")
        self.pip_options = _texts(pip_options or (), "pip_options")
        text = "\0".join([*self.pip_options, "", *self.packages])
        self.name = f"pip-install:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def setup(self, worker: Any) -> None:
        """Install, unless another worker has.

        Raises
        ------
        RuntimeError
            With the end of what pip said.
        TimeoutError
            The worker that installs has not ended in time.
        """
        mark = Path(worker.local_directory).parents[1] / self.name.replace(":", "-")
        # Those that wait give the one that installs some time to be told that it failed.
        with _one_at_a_time(mark.with_suffix(".lock"), self.limit_seconds + 60):
            if not mark.exists():
                self._install()
                mark.touch()
        importlib.invalidate_caches()

    def _install(self) -> None:
        arguments = ["install", *self.pip_options, *self.packages]
        what = " ".join(self.packages)
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PIP_WITH_OWNER, *arguments],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"},
                start_new_session=True,
            )
            try:
                code = process.wait(self.limit_seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                assert process.stdin is not None
                process.stdin.close()
                # It does not notice that if it is stopped, or another process has the pipe's end.
                if process.poll() is None:
                    _kill_with_all_it_started(process)
                process.wait()
            output.seek(max(0, output.seek(0, os.SEEK_END) - _MOST_OUTPUT))
            said = output.read().decode(errors="replace")
        if code is None:
            raise RuntimeError(
                f"pip did not install {what} within {self.limit_seconds:g} s, and was ended. Set "
                f"`limit_seconds` of the plugin if it needs longer. It said:\n{said}"
            )
        if code:
            raise RuntimeError(f"pip could not install {what} (exit code {code}). It said:\n{said}")


def _kill_with_all_it_started(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session of its own."""
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)


#: Runs pip until the other end of its standard input is closed, as by the end of the worker; then
#: it ends with all that it has started, which is in its session.
_PIP_WITH_OWNER = """
import os, runpy, signal, sys, threading
owner = os.dup(0)
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
def watch():
    try:
        os.read(owner, 1)
    finally:
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)
threading.Thread(target=watch, daemon=True).start()
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""

#: How often a lock is tried for again.
_AGAIN_SECONDS = 0.1


@contextmanager
def _one_at_a_time(path: Path, limit: float) -> Iterator[None]:
    """Hold a lock between the workers of a cluster, which ends with its holder.

    Raises
    ------
    TimeoutError
    """
    with path.open("w") as file:
        if sys.platform != "win32":
            import fcntl

            end = time.monotonic() + limit
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= end:
                        raise TimeoutError(
                            f"Another worker has been installing for {limit:g} s, and has not "
                            "ended: client.restart() ends it, and all other workers with it."
                        ) from None
                time.sleep(_AGAIN_SECONDS)
        yield


class WorkerCallback(WorkerPlugin):
    """Calls a function on each worker; what ``register_worker_callbacks`` registers."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def setup(self, worker: Any) -> Any:
        """Call it, with the worker if it has a parameter for it."""
        if takes_worker(self.function):
            return self.function(**{WORKER_PARAMETER: worker})
        return self.function()


class ForwardLogging(WorkerPlugin):
    """Has what a logger says on workers logged as events: see `Client.forward_logging`.

    Parameters
    ----------
    logger_name
        None: the root logger.
    level
        Of the records that are forwarded.
    topic
        Of the events.
    """

    def __init__(self, logger_name: str | None, level: int, topic: str) -> None:
        self.logger_name = logger_name
        self.level = level
        self.topic = topic
        self._handler: logging.Handler | None = None

    def setup(self, worker: Any) -> None:
        """Listen to the logger."""
        self._handler = _EventHandler(worker, self.topic, self.level)
        logging.getLogger(self.logger_name).addHandler(self._handler)

    def teardown(self, worker: Any) -> None:
        """Listen no more."""
        if self._handler is not None:
            logging.getLogger(self.logger_name).removeHandler(self._handler)
            self._handler = None


class _EventHandler(logging.Handler):
    """Logs each record as an event: what of it is numbers and texts."""

    #: An event takes 1 MiB.
    _MOST_CHARACTERS = 100_000

    def __init__(self, worker: Any, topic: str, level: int) -> None:
        super().__init__(level)
        self._worker = worker
        self._topic = topic

    def emit(self, record: logging.LogRecord) -> None:
        """Log it."""
        try:
            plain = (str, int, float, bool, type(None))
            told = {name: each for name, each in vars(record).items() if type(each) in plain}
            told |= {"msg": record.getMessage()[: self._MOST_CHARACTERS], "args": None}
            if record.exc_info:
                text = logging.Formatter().formatException(record.exc_info)
                told["exc_text"] = text[-self._MOST_CHARACTERS :]
            self._worker.log_event(self._topic, told)
        except Exception:  # noqa: BLE001  (a handler tells of its own failures so)
            self.handleError(record)
