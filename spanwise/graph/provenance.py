"""Remembers in which span user code wrote a layer, a delayed value or an expression.

Dask loses this on the way to the scheduler: optimisers return plain dicts, and
dataframe expressions carry no annotations at all. What survives is *names*: the
keys of optimised graphs, also those inside fused tasks, still start with the name
of the layer or expression they came from. So names are what is remembered::

    with span("A"): x = da.ones(10)     "ones-1f3…"  written in A
    with span("B"): y = x + 1           "add-77a…"   written in B
    y.compute()                         one fused task, parts ("ones-1f3…", 0) → A
                                                              ("add-77a…", 0)  → B

Expressions are also rewritten: new ones, with new names, take the place of those
that the user wrote. While Dask's optimiser works on an expression, whatever it
creates descends from that expression or from one of its near inputs (see
:meth:`Provenance.descend`).

This module is the register and its rules; :mod:`spanwise.graph.observe_dask` calls
it from Dask's own constructors.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

import dask
from dask.highlevelgraph import Layer

from spanwise.graph.living_layers import LivingLayers
from spanwise.graph.private_dask import Alias, Expr, Task, TaskRef, execute_subgraph
from spanwise.graph.roots import RootAnnotation, current_root

Annotation = Mapping[str, Any]

#: Names kept for layers; the oldest are forgotten first. They take 31 MB, two thirds of it the
#: dict at its largest. A delayed call adds five: its own, its function's, that of an attribute
#: that Dask looks up, and the first two again in the optimised graph.
LAYER_NAMES = 200_000

#: How deep below a rewritten expression a source is looked for. Dask's rules move
#: an operation past one input at a time; two levels cover rules that look through.
SOURCE_DEPTH = 2

#: Of the expressions of one class that Dask made of one expression, only this many, the
#: newest, are compared with the next.
SIBLINGS = 32

_REUSE_SUFFIX = re.compile(r"-[0-9a-f]{32}$")


class Source:
    """Where something was written.

    Attributes
    ----------
    span
        Annotation of the span, or None: outside all spans.
    exact
        False: inherited from a neighbour rather than known.
    derived
        For expressions that the optimiser made: how many expressions users had written
        by then. None for those that users wrote.
    """

    __slots__ = ("derived", "exact", "span")

    def __init__(self, span: Annotation | None, exact: bool) -> None:
        self.span = span
        self.exact = exact
        self.derived: int | None = None


class Pinned(Source):
    """A source that a later layer of the same name does not replace.

    Dask builds the layer of a delayed value or attribute long after the user wrote it.
    """

    __slots__ = ()


def same_span(one: Annotation | None, other: Annotation | None) -> bool:
    """Whether two annotations mean the same span."""
    if one is None or other is None:
        return one is other
    return bool(one["ids"] == other["ids"])


def same_tags(one: Annotation | None, other: Annotation | None) -> bool:
    """Whether two annotations have the same tags, such as two runs of one cell."""
    if one is None or other is None:
        return one is other
    return bool(one["name"] == other["name"])


def name_of(key: Any) -> Any:
    """The part of a key that names its layer: ``("add-77a…", 0, 1)`` → ``"add-77a…"``."""
    while type(key) is tuple and key:
        key = key[0]
    return key


def current_annotation() -> Annotation | None:
    """The annotation of the span in force here, or of the root around all spans, or None."""
    return dask.get_annotations().get("span") or current_root()


class Frame:
    """One expression that Dask is working on, and what it has made of it so far."""

    __slots__ = ("expression", "lowers", "_made", "_names", "_near")

    def __init__(self, expression: Expr, lowers: bool) -> None:
        self.expression = expression
        self.lowers = lowers
        #: The newest of each class: concatenating makes thousands.
        self._made: dict[type, deque[Expr]] = {}
        #: The expression and its inputs down to `SOURCE_DEPTH`, each with its depth.
        self._near: list[tuple[int, Expr]] = []
        self._names: set[str] = set()

    def add(self, made: Expr) -> None:
        """Dask has made this one."""
        self._made.setdefault(type(made), deque(maxlen=SIBLINGS)).append(made)

    def around(self) -> Iterator[tuple[int, Expr]]:
        """What a new expression can stand for, the nearest first, then what was made."""
        if not self._near:
            self._look_down()
        yield from self._near
        for made in self._made.values():
            yield from ((0, each) for each in made if each._name not in self._names)

    def _look_down(self) -> None:
        level: list[Expr] = [self.expression]
        for depth in range(SOURCE_DEPTH + 1):
            below: list[Expr] = []
            for candidate in level:
                if candidate._name not in self._names:
                    self._names.add(candidate._name)
                    self._near.append((depth, candidate))
                    below.extend(candidate.dependencies())
            level = below


class _Frames(threading.local):
    """The optimiser's nesting in this thread."""

    def __init__(self) -> None:
        self.stack: list[Frame] = []


class Provenance:
    """The register of names and where they were written."""

    def __init__(self) -> None:
        #: Hash of a layer's name → Source, or the name of the layer that it is part of. A
        #: hash takes 36 bytes; the names take 90 to 120, and nothing else keeps them. Two of
        #: 200,000 names share a hash with a chance of 1 in 10⁹.
        self._layers: dict[int, Source | str] = {}
        #: The last source: most of what follows was written in the same span.
        self._last = Source(None, True)
        self._last_pinned = Pinned(None, True)
        #: The layers as users wrote them.
        self._living = LivingLayers()
        self._expressions: dict[str, tuple[weakref.ref[Expr], Source]] = {}
        #: How many expressions users have written: an expression that was derived at a lower
        #: count is derived again.
        self._written = 0
        self._frames = _Frames()
        self._lock = threading.Lock()

    # -- layered graphs ---------------------------------------------------

    def note_layers(self, layers: Mapping[Any, Layer]) -> None:
        """Remember the layers of a new layered graph that were not seen before."""
        # (what is noted below is not looked at again here)
        are_some_shared = self._living.shared_names > 0
        for name, layer in layers.items():
            state = layer.__dict__
            if "_spanwise_seen" not in state:
                state["_spanwise_seen"] = True
                if isinstance(name, str):
                    self._note_layer(name, layer)
                elif any(self._is_known(other) for other in layer_names(layer, name)):
                    # Dask numbers a layer that it makes of a whole graph.
                    state["_spanwise_wrapped"] = True
            elif are_some_shared and isinstance(name, str) and self._living.is_shared(name):
                # A graph keeps one of several equal layers, and the others may be gone
                # later.
                state["_spanwise_shared"] = True

    def _note_layer(self, name: str, layer: Layer) -> None:
        span = _span_of(layer)
        if callable(span):  # one value per key: an optimised graph, wrapped again
            return
        name_hash = hash(name)
        if name_hash in self._layers and _holds_futures(layer):
            return  # its results, kept by persist(): written long before
        if span is None:
            span = self._root_of(name_hash)
        source = self._written_in(span)
        working = self.worked_on()
        if working is not None:
            source = working
            # Plain types: layers are pickled, and opened where there is no Spanwise.
            layer.__dict__["_spanwise_source"] = (working.span, working.exact)
        inner = layer_names(layer, name)
        if any(self._is_known(other) for other in inner) or _is_fused(layer):
            # Parts of it were written elsewhere: it is the result of an optimiser.
            layer.__dict__["_spanwise_wrapped"] = True
            if name_hash in self._layers:
                return
        else:
            self._living.add(name, layer, None if span is None else tuple(span["name"]))
        if type(self._layers.get(name_hash)) is not Pinned:
            self._remember(name_hash, source)
        for other in inner:
            if not self._is_known(other):
                self._remember(hash(other), name)

    def _root_of(self, name_hash: int) -> Annotation | None:
        """The root in which a layer outside of all spans was written."""
        if self._frames.stack:
            # An optimiser makes layers anew under the names that they had.
            known = self._layers.get(name_hash)
            if isinstance(known, Source) and type(known.span) is RootAnnotation:
                return known.span
        return current_root()

    def _written_in(self, span: Annotation | None) -> Source:
        last = self._last
        if last.span is not span:
            last = self._last = Source(span, True)
        return last

    def is_shared(self, name: str, layer: Layer | None = None) -> bool:
        """Whether equal layers of this name were written in spans of different tags.

        In a graph they are one layer, whose tasks run once for all of them.
        """
        return self._living.is_shared(name) or (
            layer is not None and "_spanwise_shared" in layer.__dict__
        )

    def note_delayed(self, key: Any) -> None:
        """Remember a delayed attribute or leaf at the moment it is written."""
        if isinstance(key, str):
            span = current_annotation()
            pinned = self._last_pinned
            if pinned.span is not span:
                pinned = self._last_pinned = Pinned(span, True)
            self._remember(hash(key), pinned)

    def _is_known(self, name: str) -> bool:
        found = self._layers.get(hash(name))
        if found is None:
            found = self._layers.get(hash(_REUSE_SUFFIX.sub("", name)))
        return isinstance(found, Source)

    def _remember(self, name_hash: int, source: Source | str) -> None:
        layers = self._layers
        layers.pop(name_hash, None)
        layers[name_hash] = source
        if len(layers) > LAYER_NAMES:
            with self._lock:
                for oldest in list(layers)[: LAYER_NAMES // 10]:
                    layers.pop(oldest, None)

    def find_layer(self, name: str) -> Source | None:
        """Where the layer of this name was written; None if unknown."""
        found = self._layers.get(hash(name))
        if isinstance(found, str):
            name = found
            found = self._layers.get(hash(name))
        if not isinstance(found, Source):
            return None
        return Source(found.span, False) if self._living.is_shared(name) else found

    def is_unknown(self, name: Any) -> bool:
        """Whether there is neither a layer of this name nor an expression."""
        return hash(name) not in self._layers and name not in self._expressions

    def find_root(self, name: str) -> Source | None:
        """The cell, notebook or script that wrote the layer, if that was outside of all spans."""
        found = self.find_layer(name)
        return found if found is not None and type(found.span) is RootAnnotation else None

    def is_pinned(self, name: str) -> bool:
        return type(self._layers.get(hash(name))) is Pinned

    # -- expressions ------------------------------------------------------

    def note_collection(self, root: Expr) -> None:
        """Remember the new expressions of a collection that user code has made."""
        frames = self._frames.stack
        if frames:  # Dask is working on an expression
            return
        span = current_annotation()
        known = self.find_expression(root._name)
        if known is not None:
            self._write_again(root, known, span)
            return
        self._written += 1
        source = Source(span, True)
        stack = [root]
        while stack:
            expression = stack.pop()
            if self.find_expression(expression._name) is None:
                self._keep(expression, source)
                stack.extend(expression.dependencies())

    def note_expression(self, expression: Expr) -> None:
        """Remember what the optimiser made of the expression it is working on.

        An expression that is made outside of such work, and does not become part of a
        collection, is a by-product of a property such as ``divisions`` and belongs to
        no span.
        """
        frames = self._frames.stack
        if not frames:
            return
        frame = frames[-1]
        known = self.find_expression(expression._name)
        # Dask keeps rewritten expressions in caches: one that was derived before users
        # wrote more (perhaps the same again, in another span) is derived again.
        if known is None or (known.derived is not None and known.derived < self._written):
            source = self.descend(expression, frame)
            source = Source(source.span, source.exact)
            source.derived = self._written
            self._keep(expression, source)
        frame.add(expression)

    def note_graph(self, root: Expr) -> None:
        """Remember the names in a graph that Dask has made of an expression.

        The names are all that is left of it in a delayed call, a bag or an array.
        """
        seen: set[str] = set()
        stack = [root]
        while stack:
            expression = stack.pop()
            name = expression._name
            if name in seen:
                continue
            seen.add(name)
            source = self.find_expression(name)
            if source is not None:
                self._remember(hash(name), source)
            for operand in expression.operands:
                # The first operand of a fused expression is the list of the expressions
                # that it is made of.
                inside = operand if isinstance(operand, list) else (operand,)
                stack.extend(each for each in inside if isinstance(each, Expr))

    def _keep(self, expression: Expr, source: Source) -> None:
        expressions = self._expressions
        name = expression._name

        def forget(dead: weakref.ref[Expr]) -> None:
            entry = expressions.get(name)
            if entry is not None and entry[0] is dead:
                del expressions[name]

        expressions[name] = (weakref.ref(expression, forget), source)

    def _write_again(self, expression: Expr, source: Source, span: Annotation | None) -> None:
        """The user wrote an equal expression once more (Dask keeps only one).

        The newest span wins: most often a cell was edited and run again. With other
        tags it is inexact, since both spans may still use it.
        """
        self._written += 1
        if source.derived is not None:
            self._keep(expression, Source(span, True))
        elif not same_span(span, source.span):
            self._keep(expression, Source(span, source.exact and same_tags(span, source.span)))

    def descend(self, expression: Expr, frame: Frame) -> Source:
        """Say which written expression a rewritten one stands for.

        T is the expression being worked on. While it is *lowered*, what is made is
        a step of T, unless it repeats an input with all its arguments. While it is
        *simplified*, operations move past each other, and one of the same class
        near T (T itself, its inputs down to `SOURCE_DEPTH`) is the operation
        itself, moved or narrowed::

            T = Projection(Add(a, b))    Add(Projection(a), Projection(b))
                 span C    span B        Add: class of the input → B
                                         Projection: class of T → C

        The optimiser also adds projections of its own, so one with other columns
        than its candidate's is only inferred. Without a candidate the new
        expression is a step of T, exact if T's inputs are in T's span.
        """
        own = self.find_expression(frame.expression._name)
        kind = type(expression)
        twins = self._known([found for found in frame.around() if type(found[1]) is kind])
        if frame.lowers:
            twins = [found for found in twins if _repeats(found[1], expression)]
            if not twins:
                return own or Source(current_annotation(), False)
        if twins:
            depth = min(found[0] for found in twins)
            near = [found for found in twins if found[0] == depth]
            scores = [_equal_arguments(found[1], expression) for found in near]
            best = max(scores)
            sources = [found[2] for found, score in zip(near, scores, strict=True) if score == best]
            moved = depth == 0 or type(expression).__name__ != "Projection"
            exact = moved and all(source.exact for source in sources)
            return Source(sources[0].span, exact and _agree(sources))
        if own is None:
            return Source(current_annotation(), False)
        beside = self._known([found for found in frame.around() if found[0] <= 1])
        sources = [own, *(source for _, _, source in beside)]
        return Source(own.span, own.exact and _agree(sources))

    def _known(self, found: list[tuple[int, Expr]]) -> list[tuple[int, Expr, Source]]:
        """Those of which it is known where they were written."""
        return [
            (depth, expression, source)
            for depth, expression in found
            if (source := self.find_expression(expression._name)) is not None
        ]

    def find_expression(self, name: str) -> Source | None:
        """Where the expression of this name was written; None if unknown."""
        entry = self._expressions.get(name)
        return entry[1] if entry is not None else None

    @contextmanager
    def working_on(self, expression: Expr, lowers: bool = True) -> Iterator[None]:
        """Within the block, what this thread makes descends from `expression`."""
        stack = self._frames.stack
        stack.append(Frame(expression, lowers))
        try:
            yield
        finally:
            stack.pop()

    def worked_on(self) -> Source | None:
        """The source of the innermost known expression that Dask is working on.

        Dask computes in the middle of optimising (divisions, metadata, parquet
        statistics): such work belongs to the expression that needs it.
        """
        for frame in reversed(self._frames.stack):
            found = self.find_expression(frame.expression._name)
            if found is not None:
                return Source(found.span, False)
        return None


def _span_of(layer: Layer) -> Any:
    """The span annotation of a layer; of an optimised graph a function of the key."""
    annotations = layer.annotations
    return annotations.get("span") if annotations else None


def _holds_futures(layer: Layer) -> bool:
    return layer.is_materialized() and any(
        isinstance(node, TaskRef) for node in islice(layer.values(), 1)
    )


def holds_only_futures(layer: Layer) -> bool:
    """Whether all of a layer is there already, as after persist(): it has no tasks."""
    return layer.is_materialized() and all(
        isinstance(node, TaskRef) and type(node) is not TaskRef for node in layer.values()
    )


def layer_names(layer: Layer, name: Any) -> set[str]:
    """Names of the keys of a materialised layer other than its own name."""
    if not layer.is_materialized():
        return set()
    names = {name_of(key) for key in layer}
    names.discard(name)
    return {found for found in names if isinstance(found, str)}


def is_result_of_optimiser(layer: Layer) -> bool:
    """Whether parts of a layer may have been written elsewhere than the layer itself."""
    task = getattr(layer, "task", None)  # of all of a blockwise layer
    fused = isinstance(task, Task) and task.func is execute_subgraph
    return fused or "_spanwise_wrapped" in layer.__dict__ or _is_fused(layer)


def _is_fused(layer: Layer) -> bool:
    """Whether a layer holds what linear fusion leaves: fused tasks and aliases of them.

    Aliases alone prove nothing: rechunking writes them where a chunk stays as it is.
    """
    if not layer.is_materialized():
        return False
    for node in islice(layer.values(), 2):
        found = layer.get(node.target) if isinstance(node, Alias) else node
        if isinstance(found, Task) and found.func is execute_subgraph:
            return True
    return False


def without_reuse_suffix(name: str) -> str:
    """Undo what Dask appends when an array goes into a delayed call."""
    return _REUSE_SUFFIX.sub("", name)


def _agree(sources: list[Source]) -> bool:
    return all(same_span(sources[0].span, other.span) for other in sources)


def _repeats(one: Expr, other: Expr) -> bool:
    """Whether two expressions of a class differ in nothing but their inputs."""
    return len(one.operands) == len(other.operands) and all(
        mine is theirs or (isinstance(mine, Expr) and isinstance(theirs, Expr))
        for mine, theirs in zip(one.operands, other.operands, strict=True)
    )


def _equal_arguments(one: Expr, other: Expr) -> int:
    count = 0
    for mine, theirs in zip(one.operands, other.operands, strict=False):
        if isinstance(mine, Expr) or isinstance(theirs, Expr):
            count += (
                isinstance(mine, Expr) and isinstance(theirs, Expr) and mine._name == theirs._name
            )
        elif mine is theirs:
            count += 1
        elif isinstance(mine, (str, int, float, bool)):
            count += type(mine) is type(theirs) and mine == theirs
    return count
