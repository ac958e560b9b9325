"""Reads the profile trees of Dask's workers, and believes nothing of them.

Dask counts, at each frame, the samples in which it called another one: the innermost frame of a
sample is in the tree, and is not counted there::

    root 3                          root 3
    └ outer 3                       └ outer 3
      └ slow 0      is read as        └ slow 3     (nothing else was called)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
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


def stacks_of(tree: Any, stack_of: StackOf) -> Counter[int]:
    """How many samples each stack has; what is no tree has none."""
    found: Counter[int] = Counter()
    left: list[tuple[Any, int, int]] = [(tree, NONE_U32, 0)]
    frames = 0
    while left:
        node, stack, depth = left.pop()
        count, children = _count(node), _children(node)
        own = count - sum(map(_count, children))
        if depth < _DEEPEST and frames < _MOST_FRAMES:
            below = [(child, stack_of(stack, _frame(child)), depth + 1) for child in children]
            frames += len(below)
            left += below
            if len(below) == 1:
                # (nothing else can have been the innermost one)
                found[below[0][1]] += max(own, 0)
                continue
        else:
            own = count
        if own > 0 and stack != NONE_U32:
            found[stack] += own
    return found


def _count(node: Any) -> int:
    count = node.get("count") if isinstance(node, dict) else None
    return count if type(count) is int and 0 < count <= _LARGEST_COUNT else 0


def _children(node: Any) -> list[Any]:
    children = node.get("children") if isinstance(node, dict) else None
    return [*children.values()][:_MOST_FRAMES] if isinstance(children, dict) else []


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
