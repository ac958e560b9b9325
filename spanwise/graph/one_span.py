"""Says whether all of a graph was written in one span: then nothing that fuses it can mix spans.

The tasks of the graph are not made, since a Dask scheduler makes them. Where it cannot be said for
sure, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dask.highlevelgraph import HighLevelGraph

from spanwise.graph.attribution import Attribution, layered_operands
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.private_dask import Expr, HLGExpr, HLGExprGroup, HLGExprSequence
from spanwise.graph.provenance import Annotation, Source, current_annotation, same_span
from spanwise.graph.roots import RootAnnotation

#: What Dask calls the task that puts the results of a collection together.
_FINALISING = re.compile(r"finalize-hlgfinalizecompute-[0-9a-f]{32}")


def written_in_one_span(expression: Any) -> tuple[Annotation | None] | None:
    """The annotation of the span that all of a graph was written in, or None if it was in none.

    Returns
    -------
    tuple of one, or None
        None: it was in several, or is no graph of layers, or nobody can tell. The task that puts
        results together, which no user writes, counts to the rest.
    """
    expression = _unfinalised(expression)
    graphs = layered_operands(expression) if isinstance(expression, Expr) else None
    if graphs is None:
        return None
    attribution = Attribution(remember_provenance(), current_annotation())
    found: list[Annotation | None] = []
    for source in _sources(attribution, graphs, {*_finalising(expression)}):
        if source is None or not source.exact:
            return None
        span = None if type(source.span) is RootAnnotation else source.span
        if found and not same_span(found[0], span):
            return None
        found[:] = [span]
    return (found[0],) if found else None


def _sources(
    attribution: Attribution, graphs: list[HighLevelGraph], but: set[str]
) -> Iterator[Source | None]:
    for graph in graphs:
        yield from attribution.sources_of(graph, but)


def _unfinalised(expression: Any) -> Any:
    """The same without the tasks that put the results of collections together."""
    if isinstance(expression, HLGExprSequence):
        return HLGExprSequence(*map(_unfinalised, expression.operands))
    while isinstance(expression, HLGExpr) and isinstance(expression.operand("dsk"), HLGExpr):
        expression = expression.operand("dsk")
    return expression


def _finalising(expression: Any) -> Iterator[str]:
    """Layers of such tasks in graphs that Dask has merged, as it does for several arrays or bags.

    Dask makes each anew, under a name that it gives no other, and asks for it. Where a delayed
    function takes a list of arrays, a layer of such a name has the tasks of an array as well: but
    that one is not asked for.
    """
    if isinstance(expression, HLGExprSequence):
        for operand in expression.operands:
            yield from _finalising(operand)
    elif isinstance(expression, HLGExprGroup):
        for keys in expression.operand("output_keys"):
            yield from (key for key in keys if type(key) is str and _FINALISING.fullmatch(key))
