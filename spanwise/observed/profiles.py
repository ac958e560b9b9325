"""Profiles, as ``Client.profile`` gives them, from the observer's columns."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

#: Of the nodes of view ``profile`` (``src/wire/panel-link.ts``): they stand beside each other.
COLUMNS = ("parent", "name", "file", "line", "n", "onCore", "waiting", "gil", "blocked", "slot")

Node = dict[str, Any]

SWITCHED_OFF = "profiling is switched off (the setting distributed.worker.profile.enabled)"
NOTHING_SEEN = (
    "no task was seen running. Tasks are looked at while they run, most of those that take less "
    "than the time between two looks (some 10 ms unless a setting says otherwise, 100 ms where "
    "looks would take too much of a core) are not seen, and of "
    "other keys, workers, spans and times than were asked for nothing is shown"
)


NOTHING_DONE = "the workers' own threads have computed for less than an interval of the sampler"
#: Colours of files (`src/charts/palette.ts`).
_SLOTS = 12

#: Frames (name, file, line), the outermost first, and their samples.
Stacks = Iterable[tuple[Sequence[tuple[str, str, int]], int]]


class PageChanged(ValueError):
    """Rows were dropped between two pages, which are of different trees."""


class ProfilePages:
    """Takes the pages of a profile, one after another."""

    def __init__(self) -> None:
        self._first: Mapping[str, Any] | None = None
        self._columns: dict[str, list[Any]] = {column: [] for column in COLUMNS}

    def add(self, answer: Mapping[str, Any]) -> dict[str, int] | None:
        """Append a page; return what asks for the next, None if this is the last.

        Raises
        ------
        PageChanged
            Begin again.
        """
        page = answer["page"]
        if self._first is None:
            self._first = answer
        elif self._first["page"]["first"] != page["first"]:
            raise PageChanged
        lengths = {len(answer["nodes"][column]) for column in COLUMNS}
        if len(lengths) > 1:
            raise ValueError(f"columns of {sorted(lengths)} nodes")
        for column, values in self._columns.items():
            values += answer["nodes"][column]
        if page["next"] is None:
            return None
        if page["next"] != len(self._columns["n"]):
            # It would be asked for the same again and again, or a part would be missing.
            raise ValueError(f"after {len(self._columns['n'])} nodes comes {page['next']}")
        return {"after": page["next"], "end": page["end"]}

    def whole(self) -> Profile:
        """All of it, after the last page."""
        assert self._first is not None
        return Profile({**self._first, "nodes": self._columns})


class Profile:
    """A profile whose pages have all come.

    Attributes
    ----------
    answer
        As the view gives it, with all nodes.
    """

    def __init__(self, answer: Mapping[str, Any], nothing: str = NOTHING_SEEN) -> None:
        self.answer = answer
        self._nothing = nothing

    @property
    def missing(self) -> str:
        """Why it has no samples; empty if it has some."""
        if self.answer["samples"]:
            return ""
        return SWITCHED_OFF if self.answer["page"]["sampleSeconds"] == 0 else self._nothing

    def tree(self) -> Node:
        """The root; its count is that of all samples."""
        root, _ = self._nodes()
        return root

    def trees(self, groups: Iterable[str]) -> dict[str, Node]:
        """The tree of each group that there is, and an empty one of each of these."""
        _, nodes = self._nodes()
        found = {name: empty_tree() for name in groups}
        names, parents = self.answer["nodes"]["name"], self.answer["nodes"]["parent"]
        for name, parent, node in zip(names, parents, nodes, strict=True):
            if parent == 0:
                found[name] = {**empty_tree(), "count": node["count"], "children": node["children"]}
        return found

    def _nodes(self) -> tuple[Node, list[Node]]:
        """The root, and the node of each row; rows of one function have the same."""
        columns = self.answer["nodes"]
        root = empty_tree()
        nodes: list[Node] = []
        line_of = cache(_line_of)
        rows = zip(*(columns[column] for column in COLUMNS[:5]), strict=True)
        for parent, name, file, line, count in rows:
            if parent < 0:
                root["count"] += count
                nodes.append(root)
                continue
            # A frame has its name with the classes and functions around it.
            short = name.rpartition(".")[2] if file else name
            identifier = f"{short};{file};{line}"
            siblings = nodes[parent]["children"]
            node = siblings.get(identifier)
            if node is None:
                node = siblings[identifier] = {
                    "identifier": identifier,
                    "description": {
                        "filename": file,
                        "name": short,
                        "line_number": line,
                        "line": line_of(file, line),
                    },
                    "count": 0,
                    "children": {},
                }
            node["count"] += count
            nodes.append(node)
        return root, nodes


def profile_of_stacks(
    stacks: Mapping[str, Stacks],
    sample_seconds: float | None,
    by_worker: bool,
    nothing: str = NOTHING_DONE,
    on_core: bool = True,
) -> Profile:
    """The profile of what processes keep themselves.

    Parameters
    ----------
    stacks
        By the worker's address.
    sample_seconds
        The interval of the sampler; 0: it is switched off, None: not known.
    nothing
        Why there are no samples, if there are none.
    on_core
        False: nobody says which of it was on a core.
    """
    columns: dict[str, list[Any]] = {column: [] for column in COLUMNS}
    slots: dict[str, int] = {}
    #: Parent and frame → its row.
    rows: dict[tuple[int, Any], int] = {}
    children: list[list[int]] = []

    def row_of(parent: int, frame: tuple[str, str, int]) -> int:
        row = rows.get((parent, frame))
        if row is None:
            row = rows[parent, frame] = len(children)
            children.append([])
            if parent >= 0:
                children[parent].append(row)
            name, file, line = frame
            slot = slots.setdefault(file, len(slots) % _SLOTS) if file else -1
            new = (parent, name, file, line, 0, 0, 0, 0, 0, slot)
            for column, value in zip(COLUMNS, new, strict=True):
                columns[column].append(value)
        return row

    root = row_of(-1, ("all", "", 0))
    for address, of_one in stacks.items():
        for path, count in of_one:
            above = row_of(root, (address, "", 0)) if by_worker else root
            way = [root, above] if by_worker else [root]
            for frame in path:
                above = row_of(above, tuple(frame))  # type: ignore[arg-type]
                way.append(above)
            for row in way:
                columns["n"][row] += count
    if on_core:
        columns["onCore"] = list(columns["n"])
    answer = {
        "view": "profile",
        "samples": columns["n"][root],
        "rateHz": 1 / sample_seconds if sample_seconds else None,
        "nodes": _depth_first(columns, children),
        "dropped": 0,
        "page": {"next": None, "first": 0, "end": 0, "sampleSeconds": sample_seconds},
        "activity": dict.fromkeys(("seconds", "onCore", "waiting", "gil", "blocked"), ()),
    }
    return Profile(answer, nothing)


def _depth_first(
    columns: Mapping[str, list[Any]], children: Sequence[Sequence[int]]
) -> dict[str, list[Any]]:
    """The same rows, each below its parent."""
    order: list[int] = []
    left = [0]
    while left:
        row = left.pop()
        order.append(row)
        left += reversed(children[row])
    place = {row: at for at, row in enumerate(order)}
    sorted_columns = {name: [column[row] for row in order] for name, column in columns.items()}
    sorted_columns["parent"] = [place.get(row, -1) for row in sorted_columns["parent"]]
    return sorted_columns


def empty_tree() -> Node:
    """The root of a profile without samples."""
    return {
        "identifier": "root",
        "description": {"filename": "", "name": "", "line_number": 0, "line": ""},
        "count": 0,
        "children": {},
    }


def _line_of(file: str, line: int) -> str:
    """The source of a line; empty where there is none to be had."""
    # A file's name is what code says of itself: it may name a device, which has no end.
    if file not in linecache.cache and not Path(file).is_file():
        return ""
    return linecache.getline(file, line).lstrip()
