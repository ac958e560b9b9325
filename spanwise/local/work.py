"""One task of an observed run: what it calls, and where it is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from spanwise.bounded_map import BoundedMap
from spanwise.graph.places import PartNames, shape_of
from spanwise.graph.private_dask import GraphNode, Task, execute_subgraph, prohibited_reuse
from spanwise.local.lanes import Threads
from spanwise.measure.meters import MeteredValues
from spanwise.measure.opened import Opened
from spanwise.measure.parts import Part
from spanwise.measure.stacks import TextIds

#: So many templates of a run are kept, for later tasks of the same shape.
TEMPLATES = 1_000


def is_fused(node: GraphNode) -> bool:
    """Whether a node is several tasks in one."""
    if type(node) is not Task:
        return False
    function = node.func
    return function is execute_subgraph or function is prohibited_reuse


class Done(NamedTuple):
    """One execution as it was measured; times are perf_counter seconds.

    On its way to the log it is a plain tuple, or its values lie in a list behind those of others:
    thousands of objects that wait for the watch thread would have Python's collector walk
    through all that there are.

    Attributes
    ----------
    lane
        The thread's, as its process counts them.
    node, function, span
        Ids of the log.
    ready
        When its last input was there.
    nbytes
        Of the result.
    parts
        Of a fused task, and the compute part that says how long a core was waited for.
    text
        The traceback of one that failed.
    meters
        What it has measured itself, as tuples.
    """

    lane: int
    node: int
    function: int
    span: int
    status: int
    submitted: float
    ready: float
    start: float
    duration: float
    cpu: float
    nbytes: float
    parts: list[Part] | None
    text: str | None
    meters: Sequence[MeteredValues] | None


class Taken:
    """A fused node taken apart: a template to be run part by part, its literals and inputs."""

    __slots__ = ("inputs", "literals", "opened")

    def __init__(self, opened: Opened, literals: list[Any], inputs: list[Any]) -> None:
        self.opened = opened
        self.literals = literals
        self.inputs = inputs


#: What tasks of one kind have in common: their group, their function, their span and how that is
#: known.
TaskFacts = tuple[int, int, int, int]


class Counted(NamedTuple):
    """How the tasks of a run are counted: ids of the log.

    No object for each task: Python's collector walks through all objects when enough were made.

    Attributes
    ----------
    numbers
        Of each task, by key.
    first
        The least of these numbers.
    shared
        Of each task, from the first one on; tasks of one kind share a tuple.
    has_fused
        Some of them are :func:`fused <is_fused>`.
    """

    numbers: dict[Any, int]
    first: int
    shared: list[TaskFacts]
    has_fused: bool


#: The task that a measured node stands for, from when it is handed out: a tuple, as an object of a
#: class takes several times as long to make. It is the sampler's row, too, which reads function
#: and span where `spanwise.wire.rows` has them.
Work = tuple[
    int,  # number: of its node in the log
    Callable[[Any], Any],  # node: as Dask made it
    float,  # submitted: when the run began, by perf_counter
    float,  # ready: when the last input was there
    Taken | None,  # taken: of a fused node
    int,  # function: its id in the log
    int,  # span: its id in the log
    Threads | None,  # threads: which ones run it; None: another process's
    Any,  # meter: by which it is run, a `Meter`
]
WORK_NODE: Final = 1
WORK_THREADS: Final = 7
WORK_METER: Final = 8


class TakingApart:
    """Takes the fused nodes of one run apart; equal ones share a template.

    Parameters
    ----------
    part_names
        Asked for the name and the span of each part.
    names
        Where function names get their ids.
    """

    def __init__(self, part_names: PartNames, names: TextIds) -> None:
        self._part_names = part_names
        self._names = names
        #: Templates keep their functions alive, so that no other object gets their `id`.
        self._opened: BoundedMap[Any, Opened] = BoundedMap(TEMPLATES)

    def take(self, node: GraphNode) -> Taken | None:
        """The parts of a fused node; None for any other."""
        if not is_fused(node):
            return None
        shape = shape_of(node, self._part_names)
        if not shape.fused:
            return None
        opened = self._opened.get(shape.signature)
        if opened is None:
            # Functions that are made for each task share nothing.
            opened = self._opened.keep(shape.signature, Opened(shape.build(), self._names))
        return Taken(opened, shape.literals, shape.inputs)
