"""Warns of graphs with large values in them, which go through the scheduler and stay there.

``distributed.admin.large-graph-warning-threshold`` (or ``spanwise.…``) is the limit, as for a
client of `distributed`. Functions and arguments are counted as they are sent, in pieces: nothing is
done for each task, unless its arguments are large. Many tasks with small arguments are no large
graph: nothing of them could be scattered.

::

    x = numpy.ones(10**7)
    da.from_array(x, chunks=10**6).sum()      ten views of x: x is what the user has made
    client.map(f, range(8), x=x)              a keyword argument of f
    client.map(len, [bytes(9000), …])         small ones, of one type and for one function
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any

from dask.utils import format_bytes, parse_bytes

from spanwise.client.large_values import (
    extent_of,
    heaviest_within,
    is_cut_from,
    shares_of,
    type_text,
    what_is,
    whole_of,
    with_article,
)
from spanwise.client.settings import first_setting
from spanwise.graph.dictionaries import Names
from spanwise.graph.packs import SMALL_ARGUMENTS, GivenWith, SubmitMessage
from spanwise.graph.private_dask import GraphNode
from spanwise.notices import warn_asker

_NAMES = (
    "spanwise.admin.large-graph-warning-threshold",
    "distributed.admin.large-graph-warning-threshold",
)
#: As `distributed`'s.
_THRESHOLD = "10MB"
#: The setting is not looked at for less. A value of so many bytes is told of by itself.
_ALWAYS_SMALL = 64 * 1024
#: So many functions are named.
_MOST_NAMES = 3


class _One:
    """A large value, or an array of which views are sent."""

    __slots__ = ("first", "functions", "nbytes", "places", "sendings", "whole")

    def __init__(self, whole: Any, first: Any) -> None:
        #: Held, so that no other value gets its place in memory.
        self.whole = whole
        self.first = first
        self.nbytes = 0.0
        self.sendings = 0
        #: The beginnings of the views.
        self.places: set[int] = set()
        self.functions: set[str] = set()

    def text(self) -> str:
        """As the user knows it."""
        times = f", sent {self.sendings:,} times" if self.sendings > len(self.places) else ""
        count = len(self.places)
        if count == 1:
            # (what it is a view of, the user may have had in another shape)
            return f"{what_is(self.first)}{times}"
        name = type_text(type(self.whole))
        if not is_cut_from(self.first, self.whole):
            return f"{count:,} parts of one {name} ({self.first.dtype}){times}"
        return f"{with_article(name)} ({extent_of(self.whole)}) in {count:,} parts{times}"


class _Alike:
    """Values of one type that are sent to one function."""

    __slots__ = ("count", "first", "nbytes")

    def __init__(self, first: Any) -> None:
        self.first = first
        self.nbytes = 0.0
        self.count = 0

    def text(self) -> str:
        if self.count == 1:
            return what_is(self.first)
        return f"{self.count:,} values of the type {type_text(type(self.first))}"


class GraphSize:
    """How many bytes one submission sends, and what most of them are."""

    __slots__ = ("_alike", "_met", "_names", "_nbytes", "_ones", "_with_function")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._nbytes = 0
        #: Looked at if there is something to warn of: bytes, what they were made of, function.
        self._met: list[tuple[int, Any, str]] = []
        self._ones: dict[int, _One] = {}
        self._alike: dict[tuple[str, type], _Alike] = {}
        self._with_function: tuple[int, str, GivenWith] | None = None

    def add(self, message: SubmitMessage) -> None:
        """Count a message that was sent."""
        blobs, fields, made_of = message.blobs, message.fields, message.made_of
        for column, large in (("template", 0), ("chunk", SMALL_ARGUMENTS)):
            for row in fields[f"{column}s"]:
                blob = row["blob"]
                nbytes = len(blobs[blob])
                if nbytes > large * row.get("rows", 1):
                    self._nbytes += nbytes
                    if blob in made_of:
                        function = _function_of(message, column, row["id"], self._names)
                        self._met.append((nbytes, made_of[blob], function))

    def _look(self, nbytes: int, made_of: Any, function: str) -> None:
        if type(made_of) is GivenWith:
            if self._with_function is None or nbytes > self._with_function[0]:
                self._with_function = (nbytes, function, made_of)
            return
        # What is met twice in a blob is pickled once.
        values = [*{id(value): value for row in made_of for value in row}.values()]
        for value, share in zip(values, shares_of(values, nbytes), strict=True):
            if isinstance(value, GraphNode):
                continue  # a task that was sent as it is: no value of the user's
            alike = self._alike.setdefault((function, type(value)), _Alike(value))
            alike.nbytes += share
            alike.count += 1
            if share >= _ALWAYS_SMALL:
                self._count_one(value, share, function)

    def _count_one(self, value: Any, share: float, function: str) -> None:
        whole = whole_of(value)
        one = self._ones.setdefault(id(whole), _One(whole, value))
        one.nbytes += share
        one.sendings += 1
        one.places.add(id(value) if whole is value else _address(value))
        one.functions.add(function)

    def warn(self) -> None:
        """Warn, at the line that has submitted, if it was more than the limit."""
        if self._nbytes < _ALWAYS_SMALL:
            return
        name, value = first_setting(_NAMES, _THRESHOLD, or_none=False)
        try:
            limit = parse_bytes(value)
        except (TypeError, ValueError):
            raise ValueError(
                f'{name} is a number of bytes, such as "10MB": not {value!r}'
            ) from None
        if self._nbytes <= limit:
            return
        for each in self._met:
            self._look(*each)
        nbytes, what = max(self._found(), default=(0, ""))
        largest = ""
        if what:
            # ("8 values of the type list")
            verb = "consists of" if what[0].isdigit() else "is"
            largest = f" The largest part of it, {format_bytes(round(nbytes))}, {verb} {what}."
        warn_asker(
            f"A graph holds values of {format_bytes(self._nbytes)}.{largest} The scheduler keeps "
            "them as long as the tasks, and workers get copies. Bring large values to the workers "
            "once, future = client.scatter(value), and give the future to the tasks as an "
            "argument, in place of the value; or let tasks load their own data. (The limit is "
            f"{name}, {value}.)",
            UserWarning,
        )

    def _found(self) -> Iterator[tuple[float, str]]:
        """What takes most, of each kind: bytes, and what it is."""
        one = max(self._ones.values(), key=_nbytes_of, default=None)
        alike = max(self._alike.items(), key=lambda item: item[1].nbytes, default=None)
        if one is not None and (alike is None or 2 * one.nbytes >= alike[1].nbytes):
            names = sorted(one.functions)
            more = len(names) - _MOST_NAMES
            others = f" and {more:,} more" if more > 0 else ""
            functions = ", ".join(names[:_MOST_NAMES]) + others
            yield one.nbytes, f"{one.text()}, in tasks of {functions}"
        elif alike is not None:
            (function, _), values = alike
            yield values.nbytes, f"{values.text()}, in tasks of {function}"
        if self._with_function is not None:
            nbytes, name, given = self._with_function
            yield float(nbytes), _function_text(nbytes, name, given)


def _nbytes_of(one: _One) -> float:
    return one.nbytes


def _address(view: Any) -> int:
    try:
        return int(view.__array_interface__["data"][0])
    except (AttributeError, TypeError, ValueError):
        return id(view)


def _function_text(nbytes: int, name: str, given: GivenWith) -> str:
    found = [heaviest_within(each, given.keywords, nbytes) for each in given.functions]
    where, value, weight = max(found, key=lambda each: each[2])
    is_one = len(found) == 1
    if 2 * weight < nbytes and type(given.functions[0]) is MethodType and is_one:
        # (what an object takes with all that it has, it does not say)
        where, value = "the object whose method it is", given.functions[0].__self__
    elif 2 * weight < nbytes:
        if is_one:
            return f"the function {name} with the values that it uses"
        return f"a function that tasks of {name} call, with the values that the function uses"
    which = f"the function {name}" if is_one else f"a function that tasks of {name} call,"
    return f"{which} with {where}: {what_is(value)}"


def _function_of(message: SubmitMessage, column: str, number: int, names: Names) -> str:
    """The function of the tasks that have a template or a chunk."""
    tasks = message.tasks
    place = tasks["function"]
    if not message.is_one:
        place = place[tasks[column].index(number)]
    return names.text(place)
