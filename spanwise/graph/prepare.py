"""Turns what Dask hands to ``get`` into a list of tasks that is ready for packing."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from dask.core import flatten

from spanwise.graph.array_graph import ArrayGraph
from spanwise.graph.attribution import (
    Attribution,
    KeyAnnotations,
    materialise,
)
from spanwise.graph.cull import cull
from spanwise.graph.private_dask import GraphNode, convert_legacy_graph
from spanwise.graph.provenance import Provenance
from spanwise.graph.rows import Row, nodes_of

Key = Any


@dataclass(slots=True)
class PreparedGraph:
    """The tasks of one submission, in the order in which they may be sent.

    Attributes
    ----------
    nodes
        Key to graph node, or to its row, culled to what the requested keys need; inputs come
        before their users. In which order they run is the scheduler's affair.
    external
        Keys that the graph does not contain: results that must exist already.
    attribution
        In which span each key, also each inner key of a fused task, was written.
    annotations
        Annotations other than spans, by name and key.
    known
        All keys of the graph before culling.
    """

    nodes: dict[Key, GraphNode | Row]
    external: set[Key]
    attribution: Attribution
    annotations: KeyAnnotations = field(default_factory=dict)
    known: Container[Key] = ()


def prepare(
    dsk: Any,
    keys: Iterable[Any],
    provenance: Provenance,
    held: Container[Key] = (),
    written_here: bool = False,
    with_rows: bool = True,
) -> PreparedGraph:
    """Materialise, convert and cull a graph.

    Parameters
    ----------
    dsk
        What Dask handed to ``get``: an expression, a layered graph or a mapping.
    keys
        The requested keys, possibly nested in lists.
    provenance
        The process's register of names.
    held
        Keys whose results exist; neither they nor tasks that only they need are
        computed again.
    written_here
        True: the call that submits the graph has just made it, and not Dask.
    with_rows
        Whether nodes may be rows.
    """
    raw, attribution, annotations = materialise(dsk, provenance, dask_needs_it=False)
    if written_here:
        attribution.write_here(raw)
    graph = _as_nodes(raw, with_rows and attribution.by_name)
    nodes, external = cull(graph, flatten(keys), held)
    return PreparedGraph(nodes, external, attribution, annotations, graph)


def _as_nodes(graph: dict[Key, Any], with_rows: bool) -> dict[Key, GraphNode | Row]:
    if type(graph) is ArrayGraph:
        return graph if with_rows else nodes_of(graph)  # type: ignore[return-value]
    for value in graph.values():
        if not isinstance(value, GraphNode):
            return convert_legacy_graph(graph)
    return graph
