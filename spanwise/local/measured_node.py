"""Graph nodes that measure themselves, and are otherwise the nodes that they stand for.

In Dask's loop a node is called where the task runs, so that is where it can be measured.
Other callbacks see the same dict; for them a measured node is of the node's own class,
equal to it, shows and hashes as it, and has its attributes: slots that are empty here
are looked up there (``__getattr__``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from spanwise.graph.private_dask import GraphNode
from spanwise.local.away import remote_work
from spanwise.local.work import WORK_METER, WORK_NODE, Work


class MeasuredNode:
    """Comes before the class of the node it stands for; see :func:`maker`."""

    # The slots themselves are in the classes that :func:`maker` makes: two bases with slots cannot
    # be combined.
    __slots__ = ()

    if TYPE_CHECKING:
        _spanwise_work: Work
        #: Where a process writes its measurements, while the task is being handed to one; None:
        #: threads of this process run it.
        _spanwise_place: str | None

    def __call__(self, values: Any = ()) -> Any:
        work = self._spanwise_work
        return work[WORK_METER].run(work, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spanwise_work[WORK_NODE], name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        place = self._spanwise_place
        if place is None:
            return _itself, (self._spanwise_work[WORK_NODE],)
        return remote_work(self._spanwise_work, place)

    def __eq__(self, other: object) -> bool:
        return bool(self._spanwise_work[WORK_NODE] == original(other))

    def __hash__(self) -> int:
        return hash(self._spanwise_work[WORK_NODE])

    def __repr__(self) -> str:
        return repr(self._spanwise_work[WORK_NODE])

    def __str__(self) -> str:
        return str(self._spanwise_work[WORK_NODE])

    def __sizeof__(self) -> int:
        node: Any = self._spanwise_work[WORK_NODE]
        return int(node.__sizeof__())

    def __dask_tokenize__(self) -> Any:
        node: Any = self._spanwise_work[WORK_NODE]
        return node.__dask_tokenize__()

    def copy(self) -> Any:
        """A copy of the node itself."""
        node: Any = self._spanwise_work[WORK_NODE]
        return node.copy()

    def substitute(self, subs: Mapping[Any, Any], key: Any = None) -> Any:
        """The node itself with other inputs."""
        node: Any = self._spanwise_work[WORK_NODE]
        return node.substitute(subs, key=key)


def _itself(node: Any) -> Any:
    return node


def original(node: Any) -> Any:
    """The node that a measured one stands for; any other object itself."""
    while isinstance(node, MeasuredNode):
        node = node._spanwise_work[WORK_NODE]
    return node


def retired(node: MeasuredNode) -> Any:
    """The same of a task that is over: from now on it is pickled as what it stands for."""
    measured: Any = node
    while True:
        measured._spanwise_place = None
        inner = measured._spanwise_work[WORK_NODE]
        if not isinstance(inner, MeasuredNode):
            return inner
        measured = inner


@cache
def maker(kind: type) -> Callable[[], Any] | None:
    """What makes measured nodes that stand for nodes of a class; None: it is no class of nodes."""
    cls: Any = kind
    if not issubclass(kind, GraphNode):
        return None
    if not issubclass(kind, MeasuredNode):  # two observations at once: one class does
        slots = ("_spanwise_work", "_spanwise_place")
        cls = type(kind.__name__, (MeasuredNode, kind), {"__slots__": slots})
    return partial(cls.__new__, cls)
