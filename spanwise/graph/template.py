"""What many tasks run, without their names: pickled once, run many times.

Written by the client (:mod:`spanwise.graph.packs`), opened and run by workers::

    template = loads(payload)                 # one Template, kept by the worker
    rows = loads(chunk)                       # list of tuples, or no chunk: ()
    literals = rows[row]
    dependencies = [value, ...]               # in the order of the message's column

    if template.parts is None:
        value = template.run(literals, dependencies)
    else:                                     # fused: time each part on its own
        values = list(dependencies)
        for part in template.parts:
            values.append(part.run(literals, values))
            for index in part.drops:
                values[index] = None
        value = values[-1]

Slots.  An argument is named by an integer into ``values`` (a dependency, or the
result of an earlier part) when >= 0, and into ``literals`` when < 0::

    add(x, 1, y)   order (0, -1, 1)
                          │   │  └ values[1]: y
                          │   └ literals[0]  (~0 == -1)
                          └ values[0]: x
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

#: Where iterators are made of others: generators, ``map``, ``chain`` …
_LAZY = frozenset({"builtins", "itertools", "toolz", "cytoolz", "dask"})
_ENDLESS = (itertools.count, itertools.cycle, itertools.repeat)


def identity(value: Any) -> Any:
    """Return `value`; the function of a task that is a literal."""
    return value


def settled(value: Any) -> Any:
    """Return `value`; compute an iterator's items now, nested iterators too, and iterate over them.

    The result is still an iterator, so tasks see the same type fused or not. Only plain
    iterators are computed: an open file is an iterator too, but has other methods.
    """
    if not _is_lazy(value):
        return value
    items = list(value)
    if items and _is_lazy(items[0]):
        items = [settled(item) for item in items]
    return iter(items)


def _is_lazy(value: Any) -> bool:
    return (
        isinstance(value, Iterator)
        and not isinstance(value, _ENDLESS)
        and type(value).__module__.partition(".")[0] in _LAZY
    )


class _Slotted:
    """Pickled as the call that makes it, of the arguments in `_made_of`."""

    __slots__ = ()
    _made_of: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple([getattr(self, name) for name in self._made_of])


class Slot(_Slotted):
    """A place filled from `values` (index >= 0) or `literals` (index < 0)."""

    __slots__ = _made_of = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def fill(self, literals: Sequence[Any], values: Sequence[Any]) -> Any:
        index = self.index
        return values[index] if index >= 0 else literals[~index]


class Run(_Slotted):
    """A list of consecutive `values`: 25,000 inputs of a merge are two integers."""

    __slots__ = _made_of = ("start", "stop")

    def __init__(self, start: int, stop: int) -> None:
        self.start = start
        self.stop = stop

    def fill(self, literals: Sequence[Any], values: Sequence[Any]) -> Any:
        return list(values[self.start : self.stop])


class Constant(_Slotted):
    """The same value for every task of the template.

    Attributes
    ----------
    is_copied
        Each task gets a copy of its own, and what it changes is nobody else's.
    """

    __slots__ = ("value", "is_copied")
    _made_of = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
        self.is_copied = False

    def fill(self, literals: Sequence[Any], values: Sequence[Any]) -> Any:
        return copy.deepcopy(self.value) if self.is_copied else self.value

    def keep_apart(self) -> None:
        """Have tasks get copies, if it is something that they could change."""
        try:
            # (numbers, texts and functions are their own copies)
            self.is_copied = copy.deepcopy(self.value) is not self.value
        except Exception:  # noqa: BLE001 (whatever its class raises: all have the one that came)
            self.is_copied = False


class Call(_Slotted):
    """A nested call or container: its arguments are filled first.

    Parameters
    ----------
    function
        Called with the filled arguments; for containers `list`, `tuple`, `set`
        or `dict` with the filled items as one list.
    arguments
        Places (Slot, Run, Constant, Call).
    keywords
        Name to place.
    container
        True: hand over the arguments as one list.
    """

    __slots__ = _made_of = ("function", "arguments", "keywords", "container")

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any] | None = None,
        container: bool = False,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.container = container

    def fill(self, literals: Sequence[Any], values: Sequence[Any]) -> Any:
        if self.container:
            items = [place.fill(literals, values) for place in self.arguments]
            return items if self.function is list else self.function(items)
        return _called(self.function, self.arguments, self.keywords, literals, values)


def _called(
    function: Callable[..., Any],
    places: tuple[Any, ...],
    keywords: dict[str, Any] | None,
    literals: Sequence[Any],
    values: Sequence[Any],
) -> Any:
    arguments = [place.fill(literals, values) for place in places]
    if keywords:
        filled = {name: place.fill(literals, values) for name, place in keywords.items()}
        return function(*arguments, **filled)
    return function(*arguments)


class Template(_Slotted):
    """The function and argument pattern shared by many tasks.

    Parameters
    ----------
    function
        What is called.
    order
        Slots of the positional arguments if all of them are plain slots
        (the common case), else None and `places` holds the pattern.
    places, keywords
        The general pattern; see the classes above.
    parts
        For fused tasks: the parts in an order in which they can run. The last
        part's value is the task's.
    """

    _made_of: tuple[str, ...] = ("function", "order", "places", "keywords", "parts")
    __slots__ = _made_of

    def __init__(
        self,
        function: Callable[..., Any],
        order: tuple[int, ...] | None = None,
        places: tuple[Any, ...] = (),
        keywords: dict[str, Any] | None = None,
        parts: tuple[Part, ...] | None = None,
    ) -> None:
        self.function = function
        self.order = order
        self.places = places
        self.keywords = keywords
        self.parts = parts

    def run(self, literals: Sequence[Any], values: Sequence[Any]) -> Any:
        """Return the value of one task.

        Raises
        ------
        BaseException
            Whatever the task's own function raises.
        """
        if self.parts is not None:
            return self.run_parts(literals, values)
        order = self.order
        if order is not None:
            return self.function(*[values[i] if i >= 0 else literals[~i] for i in order])
        return _called(self.function, self.places, self.keywords, literals, values)

    def run_parts(self, literals: Sequence[Any], dependencies: Sequence[Any]) -> Any:
        """Run a fused task without measuring its parts."""
        values = list(dependencies)
        for part in self.parts or ():
            values.append(part.run(literals, values))
            for index in part.drops:
                values[index] = None
        return values[-1]


class Part(Template):
    """One task inside a fused task.

    Parameters
    ----------
    name
        Function name as the diagnostics show it (Dask's key prefix).
    span
        The client's span id; 0 is the default span.
    drops
        Indices into `values` that no later part needs.
    settles
        A part of another span uses the result. Bags hand on iterators, whose work would
        be done, and counted, where they are consumed. The items of such a result are
        made first, as Dask does between tasks that it does not fuse.
    """

    __slots__ = ("name", "span", "drops", "settles")
    _made_of = ("function", "order", "places", "keywords", *__slots__)

    def __init__(
        self,
        function: Callable[..., Any],
        order: tuple[int, ...] | None = None,
        places: tuple[Any, ...] = (),
        keywords: dict[str, Any] | None = None,
        name: str = "",
        span: int = 0,
        drops: tuple[int, ...] = (),
        settles: bool = False,
    ) -> None:
        super().__init__(function, order, places, keywords)
        self.name = name
        self.span = span
        self.drops = drops
        self.settles = settles

    def run(self, literals: Sequence[Any], values: Sequence[Any]) -> Any:
        """Return the value of one part."""
        value = super().run(literals, values)
        return settled(value) if self.settles else value
