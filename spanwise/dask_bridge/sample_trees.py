"""Reads the profile trees of Dask's workers, and believes nothing of them.

Dask counts, at each frame, the samples in which it called another one: the innermost frame of a
sample is in the tree, and is not counted there::

    root 3                          root 3
    └ outer 3                       └ outer 3
      └ slow 0      is read as        └ slow 3     (nothing else was called)

Where several were called, the samples stay with who called them; nobody called the outermost ones:
they are of those that are there and called nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from spanwise.records.enumerations import LARGEST_U32, NONE_U32

#: Of one tree; the frames beyond them count to those that called them.
_MOST_FRAMES = 20_000
_DEEPEST = 200
_LONGEST_TEXT = 1_000
_LARGEST_COUNT = 2**40

#: Name, file, line of a function.
Frame = tuple[str, str, int]
#: Gives the number of the stack of a frame that the stack with that number called.
StackOf = Callable[[int, Frame], int]


def samples_of(tree: Any) -> int:
    """How many samples a tree has; what is no tree has none."""
    return _count(tree)


def stacks_of(trees: Sequence[Any], less: Sequence[Any], stack_of: StackOf) -> Counter[int]:
    """How many samples each stack has; what is no tree has none.

    Parameters
    ----------
    trees
        Their samples are counted.
    less
        And theirs are taken away: they are among those.
    """
    found: Counter[int] = Counter()
    left = [(_Nodes([*trees], [*less]), NONE_U32, 0)]
    frames = 0
    while left:
        node, stack, depth = left.pop()
        if depth >= _DEEPEST or frames >= _MOST_FRAMES:
            if stack != NONE_U32:
                found[stack] += node.count
            continue
        children = node.children()
        below = [stack_of(stack, _frame(child.nodes[0])) for child in children]
        frames += len(below)
        left += ((child, at, depth + 1) for child, at in zip(children, below, strict=True))
        own = max(node.count - sum(child.count for child in children), 0)
        if len(below) == 1:
            # (nothing else can have been the innermost one)
            found[below[0]] += own
        elif stack != NONE_U32:
            found[stack] += own
        elif below:
            called_nothing = [
                at for child, at in zip(children, below, strict=True) if not child.count
            ]
            for at, share in _evenly(own, called_nothing or below):
                found[at] += share
    return +found


class _Nodes:
    """One frame in several trees.

    Attributes
    ----------
    count
        The samples in which it called another one, without those that are taken away.
    """

    def __init__(self, nodes: list[Any], less: list[Any]) -> None:
        self.nodes = nodes
        self._less = less
        self._all = sum(map(_count, nodes))
        self.count = max(self._all - sum(map(_count, less)), 0)

    def children(self) -> list[_Nodes]:
        """Those that may have samples left."""
        below = [*map(_children, self.nodes)]
        less = [*map(_children, self._less)]
        found = [
            _Nodes(
                [each[name] for each in below if name in each],
                [each[name] for each in less if name in each],
            )
            for name in dict.fromkeys(name for each in below for name in each)
        ]
        left = [each for each in found if each.count or not each._all]
        # (the innermost frame is one of them)
        return left or (found if self.count else [])


def _evenly(count: int, among: Sequence[int]) -> Iterator[tuple[int, int]]:
    for at, one in enumerate(among):
        yield one, count * (at + 1) // len(among) - count * at // len(among)


def _count(node: Any) -> int:
    count = node.get("count") if isinstance(node, dict) else None
    return count if type(count) is int and 0 < count <= _LARGEST_COUNT else 0


def _children(node: Any) -> dict[Any, Any]:
    children = node.get("children") if isinstance(node, dict) else None
    return dict(islice(children.items(), _MOST_FRAMES)) if isinstance(children, dict) else {}


def _frame(node: Any) -> Frame:
    """The function: the line at which it begins, as Dask tells frames apart."""
    if not isinstance(node, dict):
        return ("", "", 0)
    described = node.get("description")
    described = described if isinstance(described, dict) else {}
    identifier = node.get("identifier")
    line = identifier.rpartition(";")[2] if isinstance(identifier, str) else ""
    begins = int(line) if line.isascii() and line.isdigit() and len(line) < 10 else None
    if begins is None:
        begins = described.get("line_number")
    if type(begins) is not int or not 0 <= begins < LARGEST_U32:
        begins = 0
    return (_text(described.get("name")), _text(described.get("filename")), begins)


def _text(value: Any) -> str:
    return value[:_LONGEST_TEXT] if isinstance(value, str) else ""
