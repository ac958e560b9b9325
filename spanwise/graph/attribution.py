"""Says, for the keys of one submission, in which span each was written.

The input is what Dask hands to ``get``: materialising it runs the low-level
optimisers, so names and layers are read first, and the optimised graph is then
looked up by name. Four cases (docs/attribution.md):

* layered graphs (array, bag, delayed): a layer's own annotation; for layers that an
  optimiser has already been through, the register of names;
* expressions (dataframe): per expression, as the user wrote it or as the optimiser
  derived it from what the user wrote;
* plain dicts: the register of names;
* keys that are found nowhere: the span open around the call, else the default span.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

from dask.highlevelgraph import HighLevelGraph, Layer
from dask.utils import ensure_dict

from spanwise.graph.array_graph import array_rows
from spanwise.graph.array_overlaps import is_overlap, overlap_names
from spanwise.graph.private_dask import Expr, ExprSequence, HLGExpr, HLGExprSequence
from spanwise.graph.provenance import (
    Annotation,
    Provenance,
    Source,
    current_annotation,
    holds_only_futures,
    is_result_of_optimiser,
    layer_names,
    name_of,
    without_reuse_suffix,
)
from spanwise.graph.roots import RootAnnotation

Graph = dict[Any, Any]
#: annotation name → key → value, as ``Expr.__dask_annotations__`` returns it
KeyAnnotations = dict[str, dict[Any, Any]]


#: A token or UUID as Dask appends it: no two different layers have the same such name.
_TOKEN = re.compile(r"-[0-9a-f]{32}|-[0-9a-f]{8}-[0-9a-f]{4}-")
#: What blockwise fusion appends to any name.
_INDICES = re.compile(r"(_\.\d+)+")


class Attribution:
    """Where the keys of one graph were written.

    Parameters
    ----------
    provenance
        The process's register of names.
    ambient
        The annotation of the span open around the submission, or None.
    """

    def __init__(self, provenance: Provenance, ambient: Annotation | None) -> None:
        self._provenance = provenance
        self._ambient = provenance.worked_on() or Source(ambient, True)
        self._by_name: dict[Any, Source] = {}
        self._by_key: dict[Any, Source] = {}
        #: The newest name that was not found: neighbours in a graph mostly share a name.
        self._unknown: Any = None

    @property
    def by_name(self) -> bool:
        """Whether all keys of one name have one source."""
        return not self._by_key

    def of(self, key: Any) -> Source:
        """The source of a key of the graph, or of a key inside a fused task."""
        if self._by_key:
            written = self._by_key.get(key)
            if written is not None:
                return written
        name = key if type(key) is str else name_of(key)
        found = self._by_name.get(name)
        if found is None:
            if name is self._unknown:
                return self._ambient
            if self._provenance.is_unknown(name) and not _may_be_spelt(name):
                self._unknown = name
                return self._ambient
            found = self._resolve(name)
            if found is self._ambient:
                self._unknown = name
            else:
                self._by_name[name] = found
        return found

    def _resolve(self, name: Any) -> Source:
        if type(name) is not str:
            return self._ambient
        known = self._known(name)
        if known is None and _may_be_spelt(name):
            for spelling in _spellings(name):
                known = self._known(spelling)
                if known is not None:
                    tail = name[len(spelling) :]
                    if not _TOKEN.search(spelling) and not _INDICES.fullmatch(tail):
                        # "load_2" may have nothing to do with "load".
                        known = Source(known.span, False)
                    break
        return self._ambient if known is None else self._settled(known)

    def _known(self, name: str) -> Source | None:
        here = self._by_name.get(name)
        if here is not None:
            return here
        found = self._provenance.find_layer(name) or self._provenance.find_expression(name)
        if found is not None and not _TOKEN.search(name):
            # A name that a user has chosen may mean something else by now.
            return Source(found.span, False)
        return found

    def write_here(self, keys: Iterable[Any]) -> None:
        """Count these keys as written by the call that is being made."""
        here = Source(current_annotation(), True)
        self._by_key.update(dict.fromkeys(keys, here))

    def _settled(self, source: Source) -> Source:
        """Code outside all spans counts to the span around the submission.

        If there is none either, to the cell in which it was written.
        """
        if source.span is None:
            return self._ambient
        ambient = self._ambient.span
        is_outside = type(source.span) is RootAnnotation
        if is_outside and ambient is not None and type(ambient) is not RootAnnotation:
            return self._ambient
        return source

    # -- reading what Dask hands over -------------------------------------

    def read_layers(self, graph: HighLevelGraph) -> None:
        """Take the spans of a layered graph that is not optimised yet."""
        for name, layer in graph.layers.items():
            span = layer.annotations.get("span") if layer.annotations else None
            if callable(span):
                self._read_keys(layer, span)
                continue
            source = self._by_name[name] = self._of_layer(name, layer, span)
            for inner in _all_names(layer, name):
                known = self._written_elsewhere(inner, layer)
                self._by_name.setdefault(inner, source if known is None else self._settled(known))

    def _of_layer(self, name: Any, layer: Layer, span: Annotation | None) -> Source:
        """Where a layer was written whose annotation says `span`."""
        provenance = self._provenance
        made = layer.__dict__.get("_spanwise_source")
        own = Source(span, True) if made is None else Source(*made)
        if own.span is None:
            own = provenance.find_root(name) or own
        if provenance.is_pinned(name) or "_spanwise_wrapped" in layer.__dict__:
            known = provenance.find_layer(name)
            own = known if known is not None else own
        settled = self._settled(own)
        return Source(settled.span, False) if provenance.is_shared(name, layer) else settled

    def sources_of(self, graph: HighLevelGraph, but: Container[str]) -> Iterator[Source | None]:
        """The source of each layer that has tasks, none of which is made; None: it has several.

        Parameters
        ----------
        but
            Names of layers that are left out.
        """
        for name, layer in graph.layers.items():
            if name in but or holds_only_futures(layer):
                continue
            span = layer.annotations.get("span") if layer.annotations else None
            if callable(span) or is_result_of_optimiser(layer):
                yield None
            else:
                yield self._of_layer(name, layer, span)

    def _read_keys(self, layer: Layer, span: Callable[[Any], Any]) -> None:
        for key in layer:
            name = name_of(key)
            known = self._resolve(name)
            if known is self._ambient:
                value = span(key)
                if isinstance(value, Mapping):
                    self._by_key[key] = Source(value, True)

    def _written_elsewhere(self, name: str, layer: Layer) -> Source | None:
        if "_spanwise_wrapped" not in layer.__dict__:
            return None
        for candidate in (name, *_spellings(name)):
            found = self._provenance.find_layer(candidate)
            if found is not None:
                return found
        return None

    def read_expressions(self, root: Expr) -> Graph:
        """Materialise a tree of expressions; take the span of each one's tasks."""
        graph: Graph = {}
        inherited: dict[str, Source] = {}
        stack = [root]
        seen = set()
        while stack:
            expression = stack.pop()
            name = expression._name
            if name in seen:
                continue
            seen.add(name)
            with self._provenance.working_on(expression):
                inputs = expression.dependencies()
                tasks = {} if isinstance(expression, ExprSequence) else expression._layer()
            source = self._source_of_expression(expression, inherited)
            for one in inputs:
                inherited.setdefault(one._name, source)
            stack.extend(inputs)
            self._by_name[name] = self._settled(source)
            graph.update(tasks)
            for inner in {name_of(key) for key in tasks}:
                if inner not in self._by_name and isinstance(inner, str):
                    known = self._provenance.find_layer(inner)
                    self._by_name[inner] = self._settled(known if known is not None else source)
        return graph

    def _source_of_expression(self, expression: Expr, inherited: Mapping[str, Source]) -> Source:
        """Each expression has a source: its own, or else that of its user."""
        known = self._provenance.find_expression(expression._name)
        if known is not None:
            return known
        above = inherited.get(expression._name)
        if above is None or above.span is None:
            return self._ambient
        return Source(above.span, False)


def _all_names(layer: Layer, name: str) -> set[str]:
    if layer.is_materialized():
        return layer_names(layer, name)
    if hasattr(layer, "output"):  # Blockwise: all keys carry the layer's name
        return set()
    if is_overlap(layer):
        return set(overlap_names(layer)) - {name}
    # Others coin other names; they are materialised later anyway.
    return {found for key in layer if isinstance(found := name_of(key), str)}


def _may_be_spelt(name: Any) -> bool:
    """Whether it may have :func:`_spellings`."""
    return type(name) is str and ("_" in name or name[-33:-32] == "-")


def _spellings(name: str) -> list[str]:
    """Forms under which a name inside an optimised graph may be registered.

    Blockwise fusion appends index symbols (``"add-77a…_.0_.1"``); an array that goes
    into a delayed call gets a suffix of 32 hexadecimal digits.
    """
    spellings = []
    bare = without_reuse_suffix(name)
    if bare != name:
        spellings.append(bare)
    while (cut := bare.rfind("_")) > 0:
        bare = bare[:cut]
        spellings.append(bare)
        if len(spellings) > 12:
            break
    return spellings


def materialise(
    dsk: Any, provenance: Provenance, dask_needs_it: bool = True
) -> tuple[Graph, Attribution, KeyAnnotations]:
    """Turn what Dask hands to ``get`` into a dict, remembering where it was written.

    Parameters
    ----------
    dsk
        An expression, a layered graph, or a mapping of keys to nodes.
    dask_needs_it
        Dask will want the same graph of the expression, which keeps the one that it has made.
        False: arrays need not be made by Dask.

    Returns
    -------
    graph
        Key to node, possibly still in Dask's legacy form, or as a row.
    attribution
        Answers where each key was written.
    annotations
        Annotations other than spans, by name and key.
    """
    attribution = Attribution(provenance, current_annotation())
    if isinstance(dsk, Expr):
        graphs = layered_operands(dsk)
        if graphs is None:
            return attribution.read_expressions(dsk), attribution, {}
        for layered in graphs:
            attribution.read_layers(layered)
        annotations: KeyAnnotations = {}
        if _has_other_annotations(graphs):
            # Those of blockwise layers that Dask has fused are known to what it has made.
            annotations = dict(dsk.__dask_annotations__())
            annotations.pop("span", None)
            dask_needs_it = True
        graph = None if dask_needs_it else array_rows(dsk)
        if graph is None:
            graph = ensure_dict(dsk.__dask_graph__())
        return graph, attribution, annotations
    if isinstance(dsk, HighLevelGraph):
        attribution.read_layers(dsk)
        return ensure_dict(dsk), attribution, _annotations_of_layers(dsk)
    return (dsk if type(dsk) is dict else dict(dsk)), attribution, {}


def layered_operands(expression: Expr) -> list[HighLevelGraph] | None:
    """The layered graphs below an expression; None if it is a true expression."""
    if isinstance(expression, HLGExpr):
        return [expression.hlg]
    if isinstance(expression, HLGExprSequence):
        found = []
        for operand in expression.operands:
            graphs = layered_operands(operand)
            if graphs is not None:
                found.extend(graphs)
        return found
    return None


def _has_other_annotations(graphs: list[HighLevelGraph]) -> bool:
    return any(
        layer.annotations and any(name != "span" for name in layer.annotations)
        for graph in graphs
        for layer in graph.layers.values()
    )


def _annotations_of_layers(graph: HighLevelGraph) -> KeyAnnotations:
    found: KeyAnnotations = {}
    for layer in graph.layers.values():
        for name, value in (layer.annotations or {}).items():
            if name != "span":
                found.setdefault(name, {}).update(
                    {key: value(key) if callable(value) else value for key in layer}
                )
    return found
