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

Dask is observed by wrapping seven of its methods, once per process and only after
the first span or client (:func:`remember_provenance`). The register is the one
piece of process-wide state in Spanwise: constructors of Dask's classes have no
other place to look.
"""

from __future__ import annotations

import functools
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import dask
from dask._expr import Expr, SingletonExpr
from dask.delayed import DelayedAttr, DelayedLeaf
from dask.highlevelgraph import HighLevelGraph, Layer

Annotation = Mapping[str, Any]

#: Names kept for layers; the oldest are forgotten first (about 100 bytes each).
LAYER_NAMES = 200_000

#: How deep below a rewritten expression a source is looked for. Dask's rules move
#: an operation past one input at a time; two levels cover rules that look through.
SOURCE_DEPTH = 2

_REUSE_SUFFIX = re.compile(r"-[0-9a-f]{32}$")
_DASK_WARNING = r"Dask annotations \{'span': \{[^{}]*\}\} detected"


class Source:
    """Where something was written.

    Attributes
    ----------
    span
        Annotation of the span, or None: outside all spans.
    exact
        False: inherited from a neighbour rather than known.
    """

    __slots__ = ("span", "exact")

    def __init__(self, span: Annotation | None, exact: bool) -> None:
        self.span = span
        self.exact = exact


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
    """The span annotation in force here, or None."""
    return dask.get_annotations().get("span")


class _Frame:
    """One expression that Dask's optimiser is working on, and what it made of it."""

    __slots__ = ("expression", "made")

    def __init__(self, expression: Expr) -> None:
        self.expression = expression
        self.made: list[Expr] = []


class _Frames(threading.local):
    """The optimiser's nesting in this thread."""

    def __init__(self) -> None:
        self.stack: list[_Frame] = []


class Provenance:
    """The register of names and where they were written."""

    def __init__(self) -> None:
        #: layer name → Source, or the name (str) of the layer that it is part of
        self._layers: dict[str, Source | str] = {}
        #: delayed attributes, whose layers are made long after they were written
        self._pinned: set[str] = set()
        self._expressions: dict[str, tuple[weakref.ref[Expr], Source]] = {}
        self._frames = _Frames()
        self._lock = threading.Lock()

    # -- layered graphs ---------------------------------------------------

    def note_layers(self, layers: Mapping[str, Layer]) -> None:
        """Remember the layers of a new layered graph that were not seen before."""
        for name, layer in layers.items():
            state = layer.__dict__
            if "_spanwise_seen" not in state:
                state["_spanwise_seen"] = True
                if isinstance(name, str):
                    self._note_layer(name, layer)

    def _note_layer(self, name: str, layer: Layer) -> None:
        annotations = layer.annotations
        span = annotations.get("span") if annotations else None
        if callable(span):  # one value per key: an optimised graph, wrapped again
            return
        inner = layer_names(layer, name)
        if any(self._is_known(other) for other in inner):
            # Parts of it were written elsewhere: it is the result of an optimiser.
            layer.__dict__["_spanwise_wrapped"] = True
            if name in self._layers:
                return
        if name not in self._pinned:
            self._remember(name, Source(span, True))
        for other in inner:
            if not self._is_known(other):
                self._remember(other, name)

    def note_delayed(self, key: Any) -> None:
        """Remember a delayed attribute or leaf at the moment it is written."""
        if isinstance(key, str):
            self._remember(key, Source(current_annotation(), True))
            self._pinned.add(key)

    def _is_known(self, name: str) -> bool:
        found = self._layers.get(name)
        if found is None:
            found = self._layers.get(_REUSE_SUFFIX.sub("", name))
        return isinstance(found, Source)

    def _remember(self, name: str, source: Source | str) -> None:
        layers = self._layers
        layers.pop(name, None)
        layers[name] = source
        if len(layers) > LAYER_NAMES:
            with self._lock:
                for oldest in list(layers)[: LAYER_NAMES // 10]:
                    layers.pop(oldest, None)
                    self._pinned.discard(oldest)

    def find_layer(self, name: str) -> Source | None:
        """Where the layer of this name was written; None if unknown."""
        found = self._layers.get(name)
        if isinstance(found, str):
            found = self._layers.get(found)
        return found if isinstance(found, Source) else None

    def is_pinned(self, name: str) -> bool:
        return name in self._pinned

    # -- expressions ------------------------------------------------------

    def note_expression(self, expression: Expr) -> None:
        """Remember a new expression: written by the user, or made by the optimiser."""
        name = expression._name
        frames = self._frames.stack
        known = self._expressions.get(name)
        if known is not None and known[0]() is not None:
            if not frames:
                self._write_again(name, expression, known[1])
            else:
                frames[-1].made.append(expression)
            return
        if frames:
            source = self.descend(expression, frames[-1])
            frames[-1].made.append(expression)
        else:
            source = Source(current_annotation(), True)
        self._keep(name, expression, source)

    def _keep(self, name: str, expression: Expr, source: Source) -> None:
        expressions = self._expressions

        def forget(dead: weakref.ref[Expr]) -> None:
            entry = expressions.get(name)
            if entry is not None and entry[0] is dead:
                del expressions[name]

        expressions[name] = (weakref.ref(expression, forget), source)

    def _write_again(self, name: str, expression: Expr, source: Source) -> None:
        """The user wrote an equal expression once more (Dask keeps only one).

        The first span wins, marked inexact; the same tags again are a rerun, whose
        newer span takes over.
        """
        span = current_annotation()
        if same_span(span, source.span):
            return
        if same_tags(span, source.span):
            self._keep(name, expression, Source(span, source.exact))
        else:
            self._keep(name, expression, Source(source.span, False))

    def descend(self, expression: Expr, frame: _Frame) -> Source:
        """Say which written expression a rewritten one stands for.

        Candidates are the expression being rewritten (T), what was made of it so
        far, and its inputs down to `SOURCE_DEPTH`. A candidate of the same class
        (and, among several at one depth, of the most equal arguments) is the
        operation itself, moved or narrowed. Without one the new expression is a
        step of T::

            T = Projection(Add(a, b))    Add(Projection(a), Projection(b))
                 span C    span B        Add: class of the input → B
                                         Projection: class of T → C

        It is exact if the candidate is, or if all candidates share one span.
        """
        around = list(self._candidates(frame))
        best: list[tuple[int, Source]] = []
        best_depth = None
        for depth, candidate, source in around:
            if type(candidate) is not type(expression):
                continue
            if best_depth is None or depth < best_depth:
                best, best_depth = [], depth
            if depth == best_depth:
                best.append((_equal_arguments(candidate, expression), source))
        if best:
            top = max(score for score, _ in best)
            sources = [source for score, source in best if score == top]
            first = sources[0]
            agree = all(same_span(first.span, other.span) for other in sources)
            return Source(first.span, agree and all(s.exact for s in sources))
        own = self.find_expression(frame.expression._name)
        if own is None:
            return Source(current_annotation(), False)
        near = [source for depth, _, source in around if depth <= 1]
        agree = all(same_span(own.span, other.span) for other in near)
        return Source(own.span, own.exact and agree)

    def _candidates(self, frame: _Frame) -> list[tuple[int, Expr, Source]]:
        found = []
        level: list[Expr] = [frame.expression]
        seen: set[str] = set()
        for depth in range(SOURCE_DEPTH + 1):
            below: list[Expr] = []
            for candidate in level:
                if candidate._name in seen:
                    continue
                seen.add(candidate._name)
                source = self.find_expression(candidate._name)
                if source is not None:
                    found.append((depth, candidate, source))
                below.extend(candidate.dependencies())
            level = below
        for made in frame.made:
            source = self.find_expression(made._name)
            if source is not None and made._name not in seen:
                found.append((0, made, source))
        return found

    def find_expression(self, name: str) -> Source | None:
        """Where the expression of this name was written; None if unknown."""
        entry = self._expressions.get(name)
        return entry[1] if entry is not None else None

    def rewriting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap an optimiser method of Expr so that its creations are descendants."""
        frames = self._frames

        @functools.wraps(method)
        def observed(self: Expr, *args: Any, **kwargs: Any) -> Any:
            stack = frames.stack
            stack.append(_Frame(self))
            try:
                return method(self, *args, **kwargs)
            finally:
                stack.pop()

        return observed


def layer_names(layer: Layer, name: str) -> set[str]:
    """Names of the keys of a materialised layer other than its own name."""
    if not layer.is_materialized():
        return set()
    names = {name_of(key) for key in layer}
    names.discard(name)
    return {found for found in names if isinstance(found, str)}


def without_reuse_suffix(name: str) -> str:
    """Undo what Dask appends when an array goes into a delayed call."""
    return _REUSE_SUFFIX.sub("", name)


def _equal_arguments(one: Expr, other: Expr) -> int:
    count = 0
    for mine, theirs in zip(one.operands, other.operands, strict=False):
        if isinstance(mine, Expr) or isinstance(theirs, Expr):
            count += (
                isinstance(mine, Expr)
                and isinstance(theirs, Expr)
                and mine._name == theirs._name
            )
        elif mine is theirs:
            count += 1
        elif isinstance(mine, (str, int, float, bool)):
            count += type(mine) is type(theirs) and mine == theirs
    return count


_install_lock = threading.Lock()
_registered: list[Provenance] = []


def remember_provenance() -> Provenance:
    """Start observing Dask in this process, or return the register that does."""
    with _install_lock:
        if not _registered:
            provenance = Provenance()
            _observe_dask(provenance)
            _registered.append(provenance)
        return _registered[0]


def _observe_dask(provenance: Provenance) -> None:
    # Layered graphs ------------------------------------------------------
    graph_init = HighLevelGraph.__init__

    @functools.wraps(graph_init)
    def init_graph(self: HighLevelGraph, *args: Any, **kwargs: Any) -> None:
        graph_init(self, *args, **kwargs)
        provenance.note_layers(self.layers)

    HighLevelGraph.__init__ = init_graph  # type: ignore[method-assign]

    for delayed in (DelayedAttr, DelayedLeaf):
        _observe_delayed(delayed, provenance)

    # Expressions ---------------------------------------------------------
    create_plain = Expr.__new__
    create_single = SingletonExpr.__new__

    @functools.wraps(create_plain)
    def new_plain(cls: type[Expr], *args: Any, **kwargs: Any) -> Expr:
        made = create_plain(cls, *args, **kwargs)
        if not issubclass(cls, SingletonExpr):
            provenance.note_expression(made)
        return made

    @functools.wraps(create_single)
    def new_single(cls: type[SingletonExpr], *args: Any, **kwargs: Any) -> Expr:
        made = create_single(cls, *args, **kwargs)
        provenance.note_expression(made)
        return made

    Expr.__new__ = new_plain  # type: ignore[method-assign]
    SingletonExpr.__new__ = new_single  # type: ignore[method-assign]
    for name in ("simplify_once", "lower_once", "rewrite"):
        setattr(Expr, name, provenance.rewriting(getattr(Expr, name)))

    # Dask warns once that dataframes ignore annotations; spans are not ignored here.
    warnings.filterwarnings("ignore", message=_DASK_WARNING)


def _observe_delayed(delayed: type, provenance: Provenance) -> None:
    original = delayed.__init__  # type: ignore[misc]

    @functools.wraps(original)
    def init_delayed(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        provenance.note_delayed(self._key)

    delayed.__init__ = init_delayed  # type: ignore[misc]
