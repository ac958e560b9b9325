"""Graphs of all of Dask's nodes, drawn: names, spans, repeats, containers, fused tasks."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

from dask._expr import ProhibitReuse
from dask._task_spec import (
    Alias,
    DataNode,
    Dict,
    GraphNode,
    List,
    Set,
    Task,
    TaskRef,
    Tuple,
    _execute_subgraph,
)

from spanwise import span
from spanwise.graph.provenance import Provenance
from spanwise.records.enumerations import ORIGIN_DEFAULT, ORIGIN_INFERRED, ORIGIN_USER

Graph = dict[Any, GraphNode]


def text_of(value: Any) -> str:
    """The value with all types and orders; sets, which have none, sorted."""
    if isinstance(value, dict):
        inside = [f"{text_of(key)}: {text_of(each)}" for key, each in value.items()]
    elif isinstance(value, set):
        inside = sorted(map(text_of, value))
    elif isinstance(value, (list, tuple)):
        inside = [text_of(each) for each in value]
    else:
        return repr(value)
    return f"{type(value).__name__}({', '.join(inside)})"


def _told(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    text = f"{name} {text_of(args)} {text_of(kwargs)}"
    # Inputs are named again and again: whole texts would double with each task.
    return text if len(text) < 120 else f"{name} {hashlib.md5(text.encode()).hexdigest()}"


def tell(*args: Any, **kwargs: Any) -> str:
    """The arguments that it was called with."""
    return _told("tell", args, kwargs)


def say(*args: Any, **kwargs: Any) -> str:
    """Likewise, under another name."""
    return _told("say", args, kwargs)


class OwnWay(Task):
    """A node of somebody else's class, which runs in its own way."""

    def __call__(self, values: Any = ()) -> Any:
        return f"own way: {super().__call__(values)}"


class Labelled(Task):
    """A node of somebody else's class that has a field more and runs like a task."""

    __slots__ = ("label",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label = "more"


class HeldByAFuture(TaskRef):
    """A reference that must not be pickled, as the client's futures."""

    def __reduce__(self) -> Any:
        raise TypeError("futures stay with the client")


class Name(NamedTuple):
    """The name of a layer, and where its tasks are to be counted."""

    text: str
    tags: tuple[str, ...] | None
    origin: int


def written_names(provenance: Provenance, serial: int) -> list[Name]:
    """Names that are written in spans, outside them, and nowhere."""

    def written(text: str, *tags: str) -> str:
        with span(*tags) if tags else nullcontext():
            provenance.note_delayed(text)
        return text

    def token(text: str) -> str:
        return f"{text}-{hashlib.md5(f'{text} {serial}'.encode()).hexdigest()}"

    return [
        Name(written(token("load"), "A"), ("A",), ORIGIN_USER),
        Name(written(token("fit-model"), "A", "Größe"), ("A", "Größe"), ORIGIN_USER),
        # A name without a token may mean something else by now.
        Name(written(f"chosen{serial}", "B"), ("B",), ORIGIN_INFERRED),
        Name(written(token("outside")), None, ORIGIN_DEFAULT),
        Name("nowhere", None, ORIGIN_DEFAULT),
        Name("größe-Ω", None, ORIGIN_DEFAULT),
    ]


class Drawing:
    """Draws one graph.

    Attributes
    ----------
    graph
        Key to node.
    names
        Of each key, also of the keys inside fused tasks.
    """

    def __init__(self, chance: random.Random, names: list[Name], most: int) -> None:
        self._chance = chance
        self._names = names
        self.graph: Graph = {}
        self.names: dict[Any, Name] = {}
        for number in range(chance.randint(1, most)):
            key = self._key(number)
            kind = chance.choice(_KINDS)
            self.graph[key] = kind(self, key, list(self.graph))

    def _key(self, number: int) -> Any:
        chance = self._chance
        name = chance.choice(self._names)
        key: Any = chance.choice(
            [
                (name.text, number),
                (name.text, number, -number),
                (name.text, f"é{number}", None, 1.5),
                ((name.text, number), "inside"),
                # As fusion of blocks appends it.
                f"{name.text}_.{number}",
            ]
        )
        self.names[key] = name
        return key

    # -- arguments -----------------------------------------------------------

    def _literal(self) -> Any:
        return self._chance.choice([0, -1, "text", "Ω", 2.5, None, (1, "x"), b"bytes", ["a", [1]]])

    def _argument(self, known: list[Any], depth: int = 0) -> Any:
        chance = self._chance
        draw = chance.random()
        if known and draw < 0.5:
            key = chance.choice(known)
            return HeldByAFuture(key) if chance.random() < 0.05 else TaskRef(key)
        if draw < 0.7 or depth > 2:
            return self._literal()
        if draw < 0.74:
            return DataNode("inside", self._literal())
        if draw < 0.78 and known:
            return Alias("inside", chance.choice(known))
        if draw < 0.92:
            container = chance.choice([List, List, Tuple, Set, Dict])
            return self._container(container, known, depth)
        return Task(
            None,
            chance.choice([tell, say]),
            *self._arguments(known, depth + 1),
            **self._keywords(known, depth + 1),
        )

    def _container(self, container: Any, known: list[Any], depth: int) -> Any:
        chance = self._chance
        if container is Dict:
            return Dict({word: self._argument(known, depth + 1) for word in "kxa"})
        if container is Set:
            # (of texts: what an input gives may be a list)
            return Set(*(Task(None, tell, each) for each in self._arguments(known, depth)), "x", 7)
        if chance.random() < 0.4:
            # So many that their places are written as a stretch; some repeat, some were named.
            first = chance.randrange(len(known) + 1)
            many = known[first : first + chance.randint(6, 12)]
            extra = [chance.choice(known)] if known and chance.random() < 0.3 else []
            return container(*(TaskRef(key) for key in [*many, *extra]))
        return container(*self._arguments(known, depth + 1))

    def _arguments(self, known: list[Any], depth: int = 0) -> list[Any]:
        return [self._argument(known, depth) for _ in range(self._chance.randrange(4))]

    def _keywords(self, known: list[Any], depth: int = 0) -> dict[str, Any]:
        if self._chance.random() < 0.7:
            return {}
        return {word: self._argument(known, depth) for word in self._chance.sample("uvw", 2)}

    # -- nodes ---------------------------------------------------------------

    def _call(self, key: Any, known: list[Any], kind: type[Task] = Task) -> Task:
        function = self._chance.choice([tell, say])
        return kind(key, function, *self._arguments(known), **self._keywords(known))

    def _plain(self, key: Any, known: list[Any]) -> GraphNode:
        chance = self._chance
        refs = [TaskRef(chance.choice(known)) for _ in range(chance.randrange(4)) if known]
        args = [*refs, *(self._literal() for _ in range(chance.randrange(3)))]
        chance.shuffle(args)
        return Task(key, chance.choice([tell, say]), *args)

    def _own(self, key: Any, known: list[Any]) -> GraphNode:
        return self._call(key, known, OwnWay)

    def _labelled(self, key: Any, known: list[Any]) -> GraphNode:
        return self._call(key, known, Labelled)

    def _alias(self, key: Any, known: list[Any]) -> GraphNode:
        return Alias(key, self._chance.choice(known)) if known else DataNode(key, "data")

    def _data(self, key: Any, known: list[Any]) -> GraphNode:
        return DataNode(key, self._literal())

    def _bare(self, key: Any, known: list[Any]) -> GraphNode:
        arguments = self._arguments(known)
        return List(*arguments) if self._chance.random() < 0.5 else Tuple(*arguments)

    def _reuse(self, key: Any, known: list[Any]) -> GraphNode:
        """A node that Dask wraps so that it is computed again."""
        draw = self._chance.randrange(3)
        if draw == 0:
            inner: GraphNode = self._call(key, known)
        else:
            inner = self._fused(key, known) if draw == 1 else self._blocks(key, known)
        return Task(key, ProhibitReuse._identity, inner)

    def _fused(self, key: Any, known: list[Any], depth: int = 0) -> GraphNode:
        """A chain as linear fusion leaves it: each node needs the one before it, and others from
        outside."""
        chance = self._chance
        nodes: list[GraphNode] = []
        count = chance.randint(2, 4)
        for place in range(count):
            inner = key if place + 1 == count else self._key(1000 + len(self.names))
            if nodes and depth < 2 and chance.random() < 0.15:
                made = self._fused(inner, [*known, nodes[-1].key], depth + 1)
                if nodes[-1].key in made.dependencies:
                    nodes.append(made)
                    continue
            args = self._arguments(known)
            if nodes:
                args.insert(chance.randrange(len(args) + 1), TaskRef(nodes[-1].key))
                if chance.random() < 0.3:
                    args.append(List(1, *(TaskRef(node.key) for node in nodes)))
            nodes.append(Task(inner, chance.choice([tell, say]), *args, **self._keywords(known)))
        fused = GraphNode.fuse(*nodes, key=key)
        return fused

    def _blocks(self, key: Any, known: list[Any]) -> GraphNode:
        """What fused blockwise layers are: a graph of their own, to which arguments are handed."""
        chance = self._chance
        given = [f"__{place}" for place in range(chance.randrange(4))]
        inner: dict[Any, Any] = {}
        inside: list[Any] = list(given)
        for _ in range(chance.randint(1, 4)):
            new = self._key(2000 + len(self.names))
            draw = chance.random()
            if draw < 0.1:
                inner[new] = DataNode(new, self._literal())
            elif draw < 0.2 and inside:
                inner[new] = Alias(new, chance.choice(inside))
            elif draw < 0.3:
                inner[new] = self._blocks(new, inside) if inside else DataNode(new, 1)
            else:
                inner[new] = self._call(new, inside)
            inside.append(new)
        arguments = [self._argument(known) for _ in given]
        # Dask runs all of it, Spanwise what the result needs.
        return Task(key, _execute_subgraph, inner, inside[-1], tuple(given), *arguments)


_KINDS: list[Callable[[Drawing, Any, list[Any]], GraphNode]] = [
    Drawing._plain,
    Drawing._plain,
    Drawing._call,
    Drawing._call,
    Drawing._own,
    Drawing._labelled,
    Drawing._alias,
    Drawing._data,
    Drawing._bare,
    Drawing._reuse,
    Drawing._fused,
    Drawing._blocks,
]


def parts_of(node: Any) -> Iterator[Any]:
    """The keys inside a fused task whose nodes run, nested ones included."""
    while isinstance(node, Task) and node.func is ProhibitReuse._identity and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, Task) and node.func is _execute_subgraph:
        for key, inner in node.args[0].items():
            nested = list(parts_of(inner))
            if nested:
                yield from nested
            elif not isinstance(inner, (Alias, DataNode)):
                yield key
