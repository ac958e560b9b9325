"""From what Dask hands to ``get`` to a list of tasks ready for packing."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from dask._task_spec import GraphNode, convert_legacy_graph
from dask.core import flatten

from spanwise.graph.attribution import (
    Attribution,
    KeyAnnotations,
    materialise,
)
from spanwise.graph.priorities import static_order
from spanwise.graph.provenance import Provenance

Key = Any


@dataclass(slots=True)
class PreparedGraph:
    """The tasks of one submission, in the order in which they may be sent.

    Attributes
    ----------
    nodes
        Key to graph node, culled to what the requested keys need. Iteration order
        is the static order, so every task comes after its inputs.
    priorities
        One number per node in the same order; smaller runs first.
    external
        Keys that the graph does not contain: results that must exist already.
    attribution
        In which span each key, also each inner key of a fused task, was written.
    annotations
        Annotations other than spans, by name and key.
    known
        All keys of the graph before culling.
    """

    nodes: dict[Key, GraphNode]
    priorities: list[int]
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
) -> PreparedGraph:
    """Materialise, convert, cull and order a graph.

    Parameters
    ----------
    dsk
        What Dask handed to ``get``: an expression, a layered graph or a mapping.
    keys
        The requested keys, possibly nested in lists.
    provenance
        The process's register of names.
    held
        Keys whose results exist; they are not computed again, nor is what only
        they need.
    written_here
        The graph is not Dask's: the call that submits it has just made it.
    """
    raw, attribution, annotations = materialise(dsk, provenance)
    if written_here:
        attribution.write_here(raw)
    graph = _as_nodes(raw)
    requested = list(flatten(keys)) if isinstance(keys, list) else list(keys)
    nodes, external = cull(graph, requested, held)
    ordered, priorities = static_order(nodes)
    return PreparedGraph(ordered, priorities, external, attribution, annotations, graph)


def _as_nodes(graph: dict[Key, Any]) -> dict[Key, GraphNode]:
    for value in graph.values():
        if not isinstance(value, GraphNode):
            return convert_legacy_graph(graph)
    return graph


def cull(
    graph: dict[Key, GraphNode], requested: list[Key], held: Container[Key]
) -> tuple[dict[Key, GraphNode], set[Key]]:
    """Keep the ancestors of `requested`, stopping at results that exist.

    Returns
    -------
    nodes
        What must run.
    external
        Keys that are needed but not run: held, or not in the graph.
    """
    nodes: dict[Key, GraphNode] = {}
    external: set[Key] = set()
    work = list(requested)
    if not held:
        held = ()  # asked once per key: an empty tuple answers in a third of the time
    while work:
        key = work.pop()
        if key in nodes:
            continue
        if key in held or key not in graph:
            external.add(key)
            continue
        node = nodes[key] = graph[key]
        dependencies = node._dependencies
        if dependencies:
            work.extend(dependencies)
    return nodes, external
