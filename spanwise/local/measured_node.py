"""Graph nodes that measure themselves, and are otherwise the nodes that they stand for.

In Dask's loop a node is called where the task runs, so that is where it can be measured.
Other callbacks see the same dict; for them a measured node is of the node's own class,
equal to it, shows and hashes as it, and has its attributes: slots that are empty here
are looked up there (``__getattr__``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from spanwise.local.away import remote_work
from spanwise.local.meter import Meter
from spanwise.local.work import Work


class MeasuredNode:
    """Comes before the class of the node it stands for; see :func:`measured`."""

    # The slots themselves are in the classes that :func:`_measured_class` makes: two bases
    # with slots cannot be combined.
    __slots__ = ()

    if TYPE_CHECKING:
        _spanwise_work: Work
        _spanwise_meter: Meter
        #: Where a process writes its measurements, while the task is being handed to
        #: one.
        _spanwise_place: str | None

    def __call__(self, values: Any = ()) -> Any:
        return self._spanwise_meter.run(self._spanwise_work, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spanwise_work.node, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        place = self._spanwise_place
        if place is None:
            return _itself, (self._spanwise_work.node,)
        return remote_work(self._spanwise_work, place)

    def __eq__(self, other: object) -> bool:
        return bool(self._spanwise_work.node == original(other))

    def __hash__(self) -> int:
        return hash(self._spanwise_work.node)

    def __repr__(self) -> str:
        return repr(self._spanwise_work.node)

    def __str__(self) -> str:
        return str(self._spanwise_work.node)

    def __sizeof__(self) -> int:
        node: Any = self._spanwise_work.node
        return int(node.__sizeof__())

    def __dask_tokenize__(self) -> Any:
        node: Any = self._spanwise_work.node
        return node.__dask_tokenize__()

    def copy(self) -> Any:
        """A copy of the node itself."""
        node: Any = self._spanwise_work.node
        return node.copy()

    def substitute(self, subs: Mapping[Any, Any], key: Any = None) -> Any:
        """The node itself with other inputs."""
        node: Any = self._spanwise_work.node
        return node.substitute(subs, key=key)


def measured(work: Work, meter: Meter, place: str | None) -> Any:
    """Return a node that runs the task through `meter`.

    Parameters
    ----------
    place
        Where processes write their measurements; None if threads of this process run the
        task.
    """
    node: Any = work.node
    cls = _measured_class(node.__class__)
    made = cls.__new__(cls)
    made._spanwise_work = work
    made._spanwise_meter = meter
    made._spanwise_place = place
    return made


def _itself(node: Any) -> Any:
    return node


def retire(node: Any) -> None:
    """The task is over: from now on the node is pickled as the one that it stands for."""
    node._spanwise_place = None


def original(node: Any) -> Any:
    """The node that a measured one stands for; any other object itself."""
    while isinstance(node, MeasuredNode):
        node = node._spanwise_work.node
    return node


@cache
def _measured_class(kind: type) -> Any:
    if issubclass(kind, MeasuredNode):  # two observations at once: one class does
        return kind
    slots = ("_spanwise_work", "_spanwise_meter", "_spanwise_place")
    return type(kind.__name__, (MeasuredNode, kind), {"__slots__": slots})
