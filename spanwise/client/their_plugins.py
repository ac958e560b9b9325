"""What `distributed`'s own plugins mean here: code whose imports were not all changed has them.

Ours of the same name are made of them, by what they hold. `distributed` is not imported.
"""

from __future__ import annotations

from typing import Any

from spanwise.client.distributed_names import MODULE
from spanwise.plugins import (
    Environ,
    PipInstall,
    SchedulerPlugin,
    UploadDirectory,
    UploadFile,
    WorkerPlugin,
)


def ours_of(plugin: Any) -> Any:
    """Return the plugin of ours that one of theirs stands for; any other as it is.

    Raises
    ------
    NotImplementedError
        It asks for what ours does not do, or ours has none of its name.
    """
    kind = type(plugin)
    if isinstance(plugin, WorkerPlugin) or kind.__module__.split(".")[0] != "distributed":
        return plugin
    name = kind.__name__
    if name in _BASES:
        return plugin
    make = _MAKERS.get(name)
    if make is not None:
        try:
            return make(plugin)
        except AttributeError:  # another release, which holds something else
            raise NotImplementedError(
                f"register_plugin() is given {name} of distributed: use spanwise.{name}"
            ) from None
    instead = MODULE.get(name, "derive a plugin of your own from spanwise.WorkerPlugin")
    raise NotImplementedError(
        f"register_plugin() is given {name} of distributed, which Spanwise has not. "
        f"Instead: {instead}."
    )


def is_scheduler_plugin(plugin: Any) -> bool:
    """Whether it is an instance of ours, or of a class that is derived from theirs."""
    return isinstance(plugin, SchedulerPlugin) or any(
        base.__name__ == "SchedulerPlugin" and base.__module__.split(".")[0] == "distributed"
        for base in type(plugin).__mro__
    )


def _file(theirs: Any) -> UploadFile:
    return UploadFile.of(theirs.filename, theirs.data, theirs.load)


def _directory(theirs: Any) -> UploadDirectory:
    UploadDirectory.check(theirs.restart_workers, theirs.mode)
    return UploadDirectory.of(theirs.path, theirs.data, theirs.update_path)


def _environ(theirs: Any) -> Environ:
    return Environ(theirs.environ)


def _pip(theirs: Any) -> PipInstall:
    said = theirs._install_fn
    return PipInstall(said.packages, said.pip_options, theirs.restart_workers)


#: They are refused with all that is derived from them.
_BASES = ("NannyPlugin", "SchedulerPlugin", "WorkerPlugin")
_MAKERS = {
    "Environ": _environ,
    "PipInstall": _pip,
    "UploadDirectory": _directory,
    "UploadFile": _file,
}
