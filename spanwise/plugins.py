"""Plugins of workers: the base class, and those that are ready to be used.

Clients pickle them and workers open them, so this module imports nothing of either.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
        path = Path(filepath)
        if load and path.suffix not in _LOADED:
            raise ValueError(
                f"upload_file() takes modules ({', '.join(_LOADED)}), not {path.name!r}; "
                "load=False uploads any file"
            )
        self.name = f"upload_file:{path.name}"
        self.filename = path.name
        self.load = load
        self.data = path.read_bytes()

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
            for name in _modules_in(file):
                if name in sys.modules:
                    importlib.reload(sys.modules[name])
                else:
                    importlib.import_module(name)


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
    """

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
        self.packages = list(packages)
        self.pip_options = list(pip_options or ())
        text = "\0".join([*self.pip_options, "", *self.packages])
        self.name = f"pip-install:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def setup(self, worker: Any) -> None:
        """Install, unless another worker has.

        Raises
        ------
        RuntimeError
            With the end of what pip said.
        """
        mark = Path(worker.local_directory).parents[1] / self.name.replace(":", "-")
        with _one_at_a_time(mark.with_suffix(".lock")):
            if not mark.exists():
                self._install()
                mark.touch()
        importlib.invalidate_caches()

    def _install(self) -> None:
        command = [sys.executable, "-m", "pip", "install", *self.pip_options, *self.packages]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"},
            check=False,
        )
        if done.returncode:
            said = done.stdout.decode(errors="replace")[-_MOST_OUTPUT:]
            what = " ".join(self.packages)
            raise RuntimeError(
                f"pip could not install {what} (exit code {done.returncode}). It said:\n{said}"
            )


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Hold a lock between the workers of a cluster, which ends with its holder."""
    with path.open("w") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class WorkerCallback(WorkerPlugin):
    """Calls a function on each worker; what ``register_worker_callbacks`` registers."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def setup(self, worker: Any) -> Any:
        """Call it, with the worker if it has a parameter for it."""
        import inspect

        takes = "dask_worker" in inspect.signature(self.function).parameters
        return self.function(dask_worker=worker) if takes else self.function()
