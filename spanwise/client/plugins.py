"""Plugins: registered with the scheduler, which sends them to all workers, present and future."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask

from spanwise.client.arguments import shown
from spanwise.client.reason import open_error
from spanwise.client.session import dump
from spanwise.client.their_plugins import is_scheduler_plugin, ours_of
from spanwise.errors import ClusterError
from spanwise.notices import warn_asker
from spanwise.plugins import ModulePlugin, SchedulerPlugin, UploadFile, WorkerCallback, WorkerPlugin

if TYPE_CHECKING:
    from spanwise.client.session import Session


class PluginMethods:
    """What a client does with plugins."""

    if TYPE_CHECKING:
        _session: Any

        def _call(self, function: Callable[..., Any], *args: Any) -> Any: ...

    def register_plugin(
        self,
        plugin: WorkerPlugin | SchedulerPlugin | ModulePlugin,
        name: str | None = None,
        idempotent: bool | None = None,
    ) -> Any:
        """Set up a plugin on all workers, and on each that joins before its first task.

        A :class:`SchedulerPlugin` is told here, in the client's process, what happens from now
        on; one of `distributed` will do too. It is not copied. A :class:`ModulePlugin` is loaded
        into the scheduler's process.

        Parameters
        ----------
        plugin
            A :class:`WorkerPlugin` or a :class:`SchedulerPlugin`. `UploadFile`,
            `UploadDirectory`, `Environ` and `PipInstall` of `distributed` do what Spanwise's own
            do.
        name
            Default: the plugin's `name`, or one of its class and a random number. A plugin that
            has the name already is torn down first.
        idempotent
            Do nothing if there is one of this name; default: what the plugin says.

        Returns
        -------
        dict
            Worker address to ``{"status": "OK"}``; None of a scheduler plugin.

        Raises
        ------
        BaseException
            What `setup` raised on a worker; the plugin is torn down everywhere then. What `start`
            of a scheduler plugin raised; it is not added then.
        ClusterError
            There is no room for it: 1,000 plugins of 256 MiB together.
        KeyboardInterrupt
            A `setup` that takes longer than 30 s is told of, with its workers, and has no limit.
            Interrupted, the plugin is given up.
        """
        given, plugin = plugin, ours_of(plugin)
        _check_plugin(plugin)
        if idempotent is None:
            idempotent = bool(getattr(plugin, "idempotent", False))
        if name is None and given is not plugin:
            name = vars(given).get("name")  # its user may have set it
        if name is None:
            name = getattr(plugin, "name", None)
        if name is None:
            name = f"{type(plugin).__name__}-{uuid.uuid4()}"
        if isinstance(plugin, ModulePlugin):
            return self._call(_load, self._session, plugin, str(name), idempotent)
        if is_scheduler_plugin(plugin):
            return self._call(_add, self, plugin, str(name), idempotent)
        return self._call(_register, self._session, dump(plugin), str(name), idempotent)

    def unregister_scheduler_plugin(self, name: str) -> Any:
        """Tell a plugin no more, once it was told of what has happened so far.

        Parameters
        ----------
        name

        Raises
        ------
        ValueError
            This client has no scheduler plugin of this name, and no module has it.
        """
        return self._call(_remove, self._session, str(name))

    def register_worker_plugin(
        self, plugin: WorkerPlugin, name: str | None = None, nanny: bool | None = None
    ) -> Any:
        """Deprecated: use :meth:`register_plugin`."""
        warn_asker(
            "register_worker_plugin() is deprecated: use register_plugin()", DeprecationWarning
        )
        if nanny:
            raise NotImplementedError("Spanwise workers have no nanny: the scheduler watches them")
        return self.register_plugin(plugin, name)

    def unregister_worker_plugin(self, name: str, nanny: bool | None = None) -> Any:
        """Tear a plugin down on all workers; later ones do without it.

        Returns
        -------
        dict
            Worker address to ``{"status": "OK"}``.

        Raises
        ------
        ValueError
            There is no plugin of this name.
        BaseException
            What `teardown` raised on a worker.
        """
        if nanny:
            raise NotImplementedError("Spanwise workers have no nanny: the scheduler watches them")
        return self._call(_unregister, self._session, str(name))

    def register_worker_callbacks(self, setup: Callable[..., Any] | None = None) -> Any:
        """Call a function on all workers, and on each that joins before its first task.

        Parameters
        ----------
        setup
            A parameter `dask_worker` gets the worker.
        """
        if not callable(setup):
            raise TypeError("register_worker_callbacks() takes a function")
        return self.register_plugin(WorkerCallback(setup))

    def upload_file(self, filename: str, load: bool = True) -> Any:
        """Bring a module to all workers, and to each that joins.

        It lies in the worker's `local_directory`, where modules are looked for first. A file of
        the same name takes its place.

        Parameters
        ----------
        filename
            A ``.py``, ``.egg``, ``.zip`` or ``.pyz`` file; with ``load=False`` any file. With
            all plugins at most 256 MiB.
        load
            Import what is in it, again if it was imported before.

        Returns
        -------
        dict
            Worker address to ``{"status": "OK"}``.
        """
        return self.register_plugin(UploadFile(filename, load))


def _check_plugin(plugin: Any) -> None:
    if isinstance(plugin, ModulePlugin) or is_scheduler_plugin(plugin):
        return
    if isinstance(plugin, WorkerPlugin):
        if type(plugin).transition is not WorkerPlugin.transition:
            warn_asker(
                f"{type(plugin).__name__}.transition() is never called: Spanwise's workers are "
                "not told the keys of their tasks. get_task_stream() tells what ran."
            )
        return
    bases = {base.__name__ for base in type(plugin).__mro__}
    if "NannyPlugin" in bases:
        raise NotImplementedError(
            "Spanwise has no NannyPlugin: its scheduler watches the workers itself. Use "
            "WorkerPlugin."
        )
    raise TypeError(
        f"register_plugin() takes an instance of a subclass of spanwise.WorkerPlugin, not "
        f"{shown(plugin)}. Registering duck-typed plugins is not allowed."
    )


def _add(client: Any, plugin: Any, name: str, idempotent: bool) -> None:
    address = getattr(client._private, "address", "")
    client._session.scheduler_plugins.add(name, plugin, idempotent, address)


def _load(
    session: Session,
    plugin: ModulePlugin,
    name: str,
    idempotent: bool,
    timeout: float | None = None,
) -> None:
    fields = {
        "name": name,
        "load": True,
        "path": plugin.path,
        "exported": plugin.export,
        "options": plugin.options,
        "idempotent": idempotent,
    }
    answer = session.ask("schedulerModule", fields, timeout=timeout)
    if answer.fields["why"]:
        raise ClusterError(answer.fields["why"])


_MODULES = "spanwise.scheduler.plugins"


def module_paths() -> list[str]:
    """Return the setting ``spanwise.scheduler.plugins``: modules of a cluster that starts.

    Raises
    ------
    ValueError
        It is something else than paths, or one of them is not absolute.
    """
    found = dask.config.get(_MODULES, None)
    paths = [] if found is None else [found] if isinstance(found, str) else found
    if not isinstance(paths, list | tuple) or not all(isinstance(each, str) for each in paths):
        raise ValueError(f"{_MODULES} is a list of paths of JavaScript modules, not {found!r}")
    whole = [str(Path(each).expanduser()) for each in paths]
    for each in whole:
        if not Path(each).is_absolute():
            raise ValueError(f"{_MODULES} takes absolute paths, not {each!r}")
    return whole


def load_modules(session: Session, paths: list[str], timeout: float | None) -> None:
    """Load modules into the scheduler's process, each under its path as its name.

    Raises
    ------
    ClusterError
        One could not be loaded.
    TimeoutError
        One was not within the time: it may wait for something itself.
    """
    for path in paths:
        _load(session, ModulePlugin(path), path, False, timeout)


def _remove(session: Session, name: str) -> None:
    if name in session.scheduler_plugins:
        session.scheduler_plugins.remove(name)
        return
    if not session.ask("schedulerModule", {"name": name, "load": False}).fields["known"]:
        raise ValueError(f"There is no scheduler plugin {name!r}")


def _register(session: Session, blob: bytes, name: str, idempotent: bool) -> dict[str, Any]:
    try:
        return _ask(session, name, blob, idempotent)
    except _Failed as failed:
        # Else workers that join later would fail likewise, one after another.
        try:
            _ask(session, name, None)
        except _Failed:
            pass  # where it was not set up there is nothing to tear down
        raise failed.error from None
    except KeyboardInterrupt:
        # What it waits for may never come: the plugin is given up, and nobody waits for that.
        session.send("plugin", {"request": 0, "name": name, "setUp": False})
        raise


def _unregister(session: Session, name: str) -> dict[str, Any]:
    try:
        return _ask(session, name, None)
    except _Failed as failed:
        raise failed.error from None


class _Failed(Exception):
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _ask(
    session: Session, name: str, blob: bytes | None, idempotent: bool = False
) -> dict[str, Any]:
    fields = {"name": name, "setUp": blob is not None, "idempotent": idempotent}
    answer = session.ask("plugin", fields, None, [] if blob is None else [blob], timeout=None)
    if answer.fields["why"]:
        raise ClusterError(answer.fields["why"])
    if blob is None and not answer.fields["known"]:
        raise ValueError(f"There is no plugin {name!r}")
    for each, error in zip(answer.fields["failed"], answer.blobs, strict=True):
        stand_in = ClusterError(f"Plugin {name!r} failed on worker-{each['worker']}: {each['why']}")
        raise _Failed(open_error(bytes(error), stand_in))
    return {row["address"]: {"status": "OK"} for row in session.running_workers()}
