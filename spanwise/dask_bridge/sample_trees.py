"""Reads the profile trees of Dask's workers, and believes nothing of them.

Dask counts, at each frame, the samples in which it called another one: the innermost frame of a
sample is in the tree, and is not counted there::

    root 3                          root 3
    └ outer 3                       └ outer 3
      └ slow 0      is read as        └ slow 3     (nothing else was called)

Where several were called, the samples stay with who called them. Nobody called the outermost
frames: such samples are given to those that are there without a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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


class SampleTree:
    """Samples of some trees, without those of others."""

    def __init__(self) -> None:
        self._root = _Node(None)
        #: Each after the one that called it.
        self._nodes = [self._root]

    def add(self, tree: Any) -> None:
        """Add samples; what is no tree has none."""
        self._merge(tree, 1)

    def take_away(self, tree: Any) -> None:
        """Take samples away: they are among those that are added."""
        self._merge(tree, -1)

    def stacks(self, stack_of: StackOf) -> Counter[int]:
        """How many samples each stack has."""
        for node in reversed(self._nodes):
            # (of what was taken away some may not have been added: what is below shows how many)
            below = sum(child.samples for child in node.children.values())
            node.samples, node.own = max(node.count, below), max(node.count - below, 0)
        found: Counter[int] = Counter()
        left = [(self._root, NONE_U32)]
        while left:
            node, stack = left.pop()
            left += (
                (child, stack_of(stack, child.frame))
                for child in node.children.values()
                if child.samples
            )
            own = node.own
            if not own:
                continue
            # (also one whose samples were taken away may have been the innermost)
            called = [child for child in node.children.values() if child.is_added]
            if stack != NONE_U32 and len(called) != 1:
                found[stack] += own
                continue
            for child, share in _evenly(own, _likeliest(called)):
                found[stack_of(stack, child.frame)] += share
        return +found

    def _merge(self, tree: Any, sign: int) -> None:
        left = [(tree, self._root, 0)]
        while left:
            told, node, depth = left.pop()
            node.count += sign * _count(told)
            node.is_added = node.is_added or sign > 0
            node.is_taken = node.is_taken or sign < 0
            if depth >= _DEEPEST:
                continue
            for name, child in _children(told):
                below = node.children.get(name)
                if below is None:
                    if len(self._nodes) > _MOST_FRAMES:
                        continue
                    below = node.children[name] = _Node(_frame(child))
                    self._nodes.append(below)
                left.append((child, below, depth + 1))


class _Node:
    """A frame.

    Attributes
    ----------
    count
        The samples in which it called another one.
    samples, own
        At least as many as those that it called; and those of frames that called nothing.
    is_added, is_taken
        Whether it is in a tree that was added, in one that was taken away.
    """

    __slots__ = ("children", "count", "frame", "is_added", "is_taken", "own", "samples")

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.count = self.samples = self.own = 0
        self.is_added = self.is_taken = False
        self.children: dict[Any, _Node] = {}


def _likeliest(called: list[_Node]) -> list[_Node]:
    """Those that were innermost: those without a count, if they are in no tree that was taken."""
    for some in (
        [each for each in called if not each.is_taken and not each.samples],
        [each for each in called if not each.is_taken],
    ):
        if some:
            return some
    return called


def _evenly(count: int, among: Sequence[_Node]) -> Iterator[tuple[_Node, int]]:
    for at, one in enumerate(among):
        yield one, count * (at + 1) // len(among) - count * at // len(among)


def _count(node: Any) -> int:
    count = node.get("count") if isinstance(node, dict) else None
    return count if type(count) is int and 0 < count <= _LARGEST_COUNT else 0


def _children(node: Any) -> Iterable[tuple[Any, Any]]:
    children = node.get("children") if isinstance(node, dict) else None
    return islice(children.items(), _MOST_FRAMES) if isinstance(children, dict) else ()


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
