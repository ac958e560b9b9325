"""Functions of another library, amended where they are: now, or as soon as somebody imports it.

Spanwise does not import `distributed`, which takes a second, and code that does is to be told
where what it calls is here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    # Its import takes a worker a fifteenth of its start: it brings `tempfile`.
    from importlib.abc import Loader

#: Makes of a function, or of a class, what takes its place.
Wrapping = Callable[[Any], Any]

#: By module, and by name there.
_WRAPPINGS: dict[str, dict[str, Wrapping]] = {}


def amend(wrappings: Mapping[str, Mapping[str, Wrapping]]) -> None:
    """Have functions of modules replaced, wherever they are held by name; twice is safe."""
    for module, named in wrappings.items():
        _WRAPPINGS.setdefault(module, {}).update(named)
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name in wrappings:
        module_there = sys.modules.get(name)
        if module_there is not None:
            _amend(module_there)


def _amend(module: ModuleType) -> None:
    names = _WRAPPINGS[module.__name__]
    replaced = {}
    for name, wrapping in names.items():
        theirs = getattr(module, name, None)
        if theirs is None or hasattr(theirs, "__spanwise__"):
            continue  # another release, or done before
        wrapped = wrapping(theirs)
        wrapped.__spanwise__ = True
        replaced[name] = theirs, wrapped
    if not replaced:
        return
    holders: list[Any] = list(sys.modules.values())
    for holder in holders:
        if not issubclass(type(holder), ModuleType):
            continue  # programs may put anything there, also what raises if it is asked what it is
        # Its own way to its names may load a module that is loaded only when it is asked.
        held = object.__getattribute__(holder, "__dict__")
        for name, (theirs, wrapped) in replaced.items():
            if held.get(name) is theirs:
                held[name] = wrapped


class _Finder:
    """Finds these modules as others would, and has them amended once they are imported."""

    def find_spec(
        self, fullname: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _WRAPPINGS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _AmendingLoader(spec.loader))
        return spec


class _AmendingLoader:
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
