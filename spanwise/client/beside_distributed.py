"""What `distributed` says when it is given futures of Spanwise, or asked for a client it has not.

Code whose imports were not all changed calls ``distributed.wait`` with our futures. Without a
client of its own that fails with words that tell a reader to start a cluster; with one it
returns at once as if all were done, since it looks past them. So three of its functions are
wrapped, now or when somebody imports it: what they answer stays as it is, an error gets a note,
and finding nothing but futures of ours becomes an error. Its locks, events, queues and variables
say where ours are if they find no client of its own. Spanwise itself does not import
`distributed`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import dask

from spanwise.client.futures_of import futures_of

_ADVICE = (
    "spanwise has wait, as_completed, futures_of and get_client of its own: import them from "
    "there (`from spanwise import wait`), or call methods of the client, such as gather()"
)


def advise_beside_distributed() -> None:
    """Have `distributed` say of our futures what to do with them; twice is safe."""
    for name in _WRAPPED:
        module = sys.modules.get(name)
        if module is not None:
            _amend(module)
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _amend(module: ModuleType) -> None:
    """Wrap functions where they are looked up: in their module, and where others took them."""
    for name, wrapping in _WRAPPED[module.__name__].items():
        theirs = getattr(module, name, None)
        if theirs is None or hasattr(theirs, "__spanwise__"):
            continue  # another release, or done before
        wrapped: Any = wrapping(theirs)
        wrapped.__spanwise__ = True
        for place, holder in list(sys.modules.items()):
            # Others are not touched: a module may be loaded only when it is asked for something.
            if place.split(".")[0] == "distributed" and vars(holder).get(name) is theirs:
                setattr(holder, name, wrapped)


def _noting(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(theirs)
    def their_client(*args: Any, **kwargs: Any) -> Any:
        try:
            return theirs(*args, **kwargs)
        except ValueError as error:
            if _is_ours_open():
                error.add_note(
                    f"(A client of Spanwise is open, and none of distributed: {_ADVICE}.)"
                )
            raise

    return their_client


def _is_ours_open() -> bool:
    return hasattr(dask.config.get("scheduler", default=None), "_session")


def _naming(*methods: str) -> Callable[[type], type]:
    """Have methods of a class say where ours of its name is."""

    def amended(theirs: type) -> type:
        for method in methods:
            setattr(theirs, method, _telling(getattr(theirs, method)))
        return theirs

    return amended


def _telling(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(theirs)
    def their_method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return theirs(self, *args, **kwargs)
        except (RuntimeError, ValueError, AttributeError) as error:
            # In a task the note says it that every exception of such calls gets there.
            in_task = getattr(threading.current_thread(), "worker", None) is not None
            if in_task or not _is_ours_open() or not str(error).startswith(_WITHOUT_CLIENT):
                raise
            name = type(self).__name__
            raise RuntimeError(
                f"distributed.{name} needs a client of distributed, and the one that is open is of "
                f"Spanwise: use `from spanwise import {name}`"
            ) from error

    return their_method


def _refusing(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(theirs)
    def their_futures_of(o: Any, *args: Any, **kwargs: Any) -> Any:
        found = theirs(o, *args, **kwargs)
        if not found and futures_of(o):
            raise TypeError(f"These are futures of Spanwise, not of distributed: {_ADVICE}.")
        return found

    return their_futures_of


#: How their errors begin then.
_WITHOUT_CLIENT = ("<class 'distributed.", "'NoneType' object has no attribute", "No worker found")

_WRAPPED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "distributed.client": {"default_client": _noting, "futures_of": _refusing},
    "distributed.worker": {"get_client": _noting},
    "distributed.event": {"Event": _naming("_verify_running")},
    "distributed.multi_lock": {"MultiLock": _naming("__init__")},
    "distributed.queues": {"Queue": _naming("_verify_running")},
    "distributed.semaphore": {"Semaphore": _naming("_verify_running", "register")},
    "distributed.variable": {"Variable": _naming("_verify_running")},
}


class _Finder(MetaPathFinder):
    """Finds these modules as others would, and has them amended once they are imported."""

    def find_spec(
        self, fullname: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _WRAPPED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _AmendingLoader(spec.loader)
        return spec


class _AmendingLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Who asks the module for its source asks the loader that has it.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _amend(module)
