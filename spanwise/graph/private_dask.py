"""All imports from Dask's private modules: a new release of Dask may change them.

Graphs are made of these names and Dask has no public ones for them. No other module imports
a private name of Dask (``scripts/check_python_imports.py``); the releases below are the
bounds in ``pyproject.toml``, and ``scripts/test-versions`` runs tests with both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import dask._task_spec
from dask._expr import (
    Expr,
    FinalizeCompute,
    HLGExpr,
    ProhibitReuse,
    SingletonExpr,
)
from dask._expr import _ExprSequence as ExprSequence
from dask._expr import _HLGExprGroup as HLGExprGroup
from dask._expr import _HLGExprSequence as HLGExprSequence
from dask._task_spec import (
    Alias,
    DataNode,
    Dict,
    GraphNode,
    List,
    NestedContainer,
    Set,
    Task,
    TaskRef,
    Tuple,
    convert_legacy_graph,
    convert_legacy_task,
    parse_input,
)
from dask._task_spec import _execute_subgraph as execute_subgraph

__all__ = [
    "Alias",
    "ArrayNames",
    "CHECKED_WITH",
    "DataNode",
    "Dict",
    "Expr",
    "ExprSequence",
    "FinalizeCompute",
    "GraphNode",
    "HLGExpr",
    "HLGExprGroup",
    "HLGExprSequence",
    "List",
    "NestedContainer",
    "Set",
    "SingletonExpr",
    "TASK_SPEC_FILE",
    "Task",
    "TaskRef",
    "Tuple",
    "array_names",
    "convert_legacy_graph",
    "convert_legacy_task",
    "dataframe_classes",
    "execute_subgraph",
    "parse_input",
    "prohibited_reuse",
]

#: The oldest and the newest release of Dask in which all of this is as it is used here.
CHECKED_WITH = ("2026.1.1", "2026.8.0")

#: Files whose frames lie below those of a task's function.
TASK_SPEC_FILE: str = dask._task_spec.__file__

#: The function of a task that :class:`ProhibitReuse` has wrapped.
prohibited_reuse = ProhibitReuse._identity


class DataFrameClasses(NamedTuple):
    """Names that exist only with dataframes."""

    FrameBase: Any
    FrameExpr: Any
    PartitionsFiltered: Any
    Merge: Any
    FromMap: Any


def dataframe_classes() -> DataFrameClasses:
    """Import Dask's dataframes; ImportError without pandas, or while they are half imported."""
    from dask.dataframe.dask_expr._collection import FrameBase
    from dask.dataframe.dask_expr._expr import Expr as FrameExpr
    from dask.dataframe.dask_expr._expr import PartitionsFiltered
    from dask.dataframe.dask_expr._merge import Merge
    from dask.dataframe.dask_expr.io.io import FromMap

    return DataFrameClasses(FrameBase, FrameExpr, PartitionsFiltered, Merge, FromMap)


class ArrayNames(NamedTuple):
    """Names that exist only with arrays.

    Attributes
    ----------
    optimize
        Dask's optimiser for arrays.
    optimize_blockwise, fuse_roots, optimize_slices
        What it calls.
    fused_key
        Names a line by its keys, whole: however long the name is.
    getters
        Functions whose calls `optimize_slices` joins.
    layers
        The classes of layers whose tasks are made as here is known.
    """

    optimize: Callable[..., Any]
    optimize_blockwise: Callable[..., Any]
    fuse_roots: Callable[..., Any]
    optimize_slices: Callable[..., Any]
    fused_key: Callable[[list[Any]], Any]
    getters: tuple[Any, ...]
    Blockwise: Any
    Overlap: Any
    layers: frozenset[type]
    blockwise_token: Callable[[int], str]
    coord_mapping: Callable[..., Any]
    lol_product: Callable[..., Any]
    concatenate_axes: Callable[..., Any]
    concatenate_shaped: Callable[..., Any]


@cache
def array_names() -> ArrayNames:
    """Import Dask's arrays; ImportError without NumPy."""
    from dask.array.core import concatenate_axes, concatenate_shaped
    from dask.array.optimization import GETTERS, _optimize_slices, optimize
    from dask.blockwise import (
        Blockwise,
        _get_coord_mapping,
        _lol_product,
        blockwise_token,
        fuse_roots,
        optimize_blockwise,
    )
    from dask.highlevelgraph import MaterializedLayer
    from dask.layers import ArrayOverlapLayer
    from dask.optimization import default_fused_keys_renamer

    return ArrayNames(
        optimize,
        optimize_blockwise,
        fuse_roots,
        _optimize_slices,
        partial(default_fused_keys_renamer, max_fused_key_length=None),
        GETTERS,
        Blockwise,
        ArrayOverlapLayer,
        frozenset({MaterializedLayer, Blockwise, ArrayOverlapLayer}),
        blockwise_token,
        _get_coord_mapping,
        _lol_product,
        concatenate_axes,
        concatenate_shaped,
    )
