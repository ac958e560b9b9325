"""Submits calls (``submit``, ``map``) without building a graph.

A function's template is pickled once and kept as long as the function cannot have
changed; each call adds a row of literals. Calls whose arguments hold futures inside
containers, or keyword arguments, go the general way through a graph node.
"""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from spanwise.bounded_map import BoundedMap
from spanwise.client.entries import CANCELLED, FINISHED, PENDING, Entry
from spanwise.client.large_graphs import GraphSize
from spanwise.client.pure_keys import PureKeys, surroundings, weak_reference
from spanwise.client.session import Session, dump
from spanwise.errors import ClusterError
from spanwise.graph.key_text import KeyTexts
from spanwise.graph.packs import (
    CHUNK_BYTES,
    CHUNK_ROWS,
    FIRST_TASKS,
    SMALL_ARGUMENTS,
    SMALL_TYPES,
    GivenWith,
    SubmitMessage,
    join_texts,
    option_columns,
    weight_of,
)
from spanwise.graph.private_dask import GraphNode, Task, TaskRef, parse_input
from spanwise.graph.provenance import current_annotation
from spanwise.graph.task_options import TaskOptions
from spanwise.graph.template import Constant, Slot, Template
from spanwise.records.enumerations import FLAG_WANTED, NONE_U32, ORIGIN_DEFAULT, ORIGIN_USER

Key = Any

#: Functions whose pickled template is kept, and bytes of these pickles.
_KEPT_TEMPLATES = 500
_KEPT_BYTES = 8 << 20
#: Calls in one message of a `map`.
_CALLS = 8_192
#: What spans say that was submitted: see `SpanInfo.metadata`.
_TYPES = ("Future",)
_CONTAINERS = (list, tuple, set, frozenset, dict)


class _KeptTemplate:
    __slots__ = ("blob", "function", "surroundings")

    def __init__(self, function: weakref.ref[Any], around: tuple[Any, ...], blob: bytes) -> None:
        self.function = function
        self.surroundings = around
        self.blob = blob


class _KeptTemplates:
    """Pickled templates of functions that have not changed since, bounded in number and bytes."""

    def __init__(self) -> None:
        self._kept: BoundedMap[tuple[int, tuple[int, ...]], _KeptTemplate] = BoundedMap(
            _KEPT_TEMPLATES, _KEPT_BYTES
        )

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        return self._kept.cost

    def find(
        self, function: Callable[..., Any], order: tuple[int, ...], around: tuple[Any, ...] | None
    ) -> bytes | None:
        kept = self._kept.get((id(function), order))
        if (
            kept is not None
            and around is not None
            and kept.function() is function
            and kept.surroundings == around
        ):
            return kept.blob
        return None

    def keep(
        self,
        function: Callable[..., Any],
        order: tuple[int, ...],
        around: tuple[Any, ...] | None,
        blob: bytes,
    ) -> None:
        reference = None if around is None else weak_reference(function)
        if around is None or reference is None or len(blob) > _KEPT_BYTES // 4:
            return  # it could never be found again, or would leave no room for others
        template = _KeptTemplate(reference, around, blob)
        self._kept.keep((id(function), order), template, len(blob))


class Calls:
    """Turns calls into tasks of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._texts = KeyTexts()
        self._keys = PureKeys()
        self._kept = _KeptTemplates()

    def submit(
        self,
        function: Callable[..., Any],
        rows: Sequence[tuple[Any, ...]],
        keywords: dict[str, Any],
        keys: Sequence[Key] | str | None,
        pure: bool,
        options: TaskOptions | None,
    ) -> list[Entry]:
        """Submit one call per row of positional arguments.

        Parameters
        ----------
        keys
            One per row; or None: made from the function and the arguments; or a text:
            the same, beginning with it in place of the function's name.
        pure
            Whether equal calls may share one result.

        Returns
        -------
        list of Entry
            One per row, each counted once.
        """
        if keys is None or isinstance(keys, str):
            keys = self._make_keys(function, rows, keywords, keys, pure)
        if type(function) is partial and _holds_task([function.args, function.keywords]):
            # Its futures become arguments like any others.
            given = function.args
            keywords = {**function.keywords, **keywords}
            rows = [(*given, *row) for row in rows]
            function = function.func
        if keywords and any(_holds_task(value) for value in keywords.values()):
            return self._through_graph(function, rows, keywords, keys, options)
        for row in rows:
            for argument in row:
                if type(argument) in SMALL_TYPES and type(argument) is not tuple:
                    continue
                if isinstance(argument, GraphNode) or (
                    isinstance(argument, _CONTAINERS) and _holds_task(argument)
                ):
                    return self._through_graph(function, rows, keywords, keys, options)
        self._session.check_turn()
        if len(rows) > FIRST_TASKS:
            there = sum(map(self._session.by_key.__contains__, keys))
            if len(rows) - there > FIRST_TASKS:
                self._session.let_go()
        size = GraphSize(self._session.names)
        with self._session.sending:
            entries = self._submit(function, rows, keywords, keys, options, size)
        self._session.warn_of(size, entries)
        return entries

    def _make_keys(
        self,
        function: Callable[..., Any],
        rows: Sequence[tuple[Any, ...]],
        keywords: dict[str, Any],
        name: str | None,
        pure: bool,
    ) -> list[Key]:
        if not pure:
            head = self._keys.impure(function, name)
            if len(rows) == 1:
                return [head]
            return [f"{head}-{number}" for number in range(len(rows))]
        head = self._keys.head(function, keywords, name)
        make = self._keys.key
        return [make(head, row) for row in rows]

    # -- the short way ----------------------------------------------------

    def _submit(
        self,
        function: Callable[..., Any],
        rows: Sequence[tuple[Any, ...]],
        keywords: dict[str, Any],
        keys: Sequence[Key],
        options: TaskOptions | None,
        size: GraphSize,
    ) -> list[Entry]:
        session = self._session
        by_key = session.by_key
        new: dict[Key, tuple[Any, ...]] = {}
        reused = 0
        with session.lock:
            session._check_alive()
            for key, row in zip(keys, rows, strict=True):
                if key not in new:
                    entry = by_key.get(key)
                    if entry is None or entry.status not in (PENDING, FINISHED):
                        new[key] = row
                    else:
                        reused += 1
            made = session.new_entries(list(new))
            entries = [by_key[key] for key in keys]
            for entry in entries:
                entry.count += 1
        if reused:
            session.spans.count_reused(current_annotation(), reused)
        if made:
            messages = self._messages(function, list(new.values()), keywords, made, options)
            try:
                session.send_all(messages, made[0].id, len(made), made, _TYPES, size)
            except BaseException:
                session.drop_later(entries)
                raise
        return entries

    def _messages(
        self,
        function: Callable[..., Any],
        rows: list[tuple[Any, ...]],
        keywords: dict[str, Any],
        entries: list[Entry],
        options: TaskOptions | None,
    ) -> Iterator[SubmitMessage]:
        generation = self._session.packer.new_generation()
        if len(rows) == 1 and not options:
            yield self._one(_CallMessage(self, function, keywords), rows[0], entries[0], generation)
            return
        for start in range(0, len(rows), _CALLS):
            stop = min(start + _CALLS, len(rows))
            message = _CallMessage(self, function, keywords)
            tasks = message.pack(rows[start:stop])
            submit = self._message(message, tasks, entries[start:stop], options, generation)
            submit.fields["last"] = stop == len(rows)
            yield submit

    def _message(
        self,
        message: _CallMessage,
        tasks: dict[str, Any],
        entries: list[Entry],
        options: TaskOptions | None,
        generation: int,
    ) -> SubmitMessage:
        packer = self._session.packer
        names = packer.names
        annotation = current_annotation()
        span = packer.spans.id(annotation)
        if annotation is not None:
            self._session.tell_code(annotation)
        origin = ORIGIN_DEFAULT if annotation is None else ORIGIN_USER
        count = len(entries)
        cut = self._texts.cut
        groups: list[int] = []
        rests: list[str] = []
        functions: list[int] = []
        for entry in entries:
            group, rest, function = cut(entry.key)
            number, rest = names.group(group, rest)
            groups.append(number)
            rests.append(rest)
            functions.append(names.id_of(function))
        suffixes, keys_blob = join_texts(rests)
        message.blobs.append(keys_blob)
        fields = self._whole(message, generation)
        columns = {
            "id": array("I", [entry.id for entry in entries]),
            "group": array("I", groups),
            "suffix": suffixes,
            "function": array("I", functions),
            "span": array("I", [span]) * count,
            "origin": bytes([origin]) * count,
            "flags": bytes([FLAG_WANTED]) * count,
            **option_columns([entry.key for entry in entries], options),
            **tasks,
        }
        if options:
            fields["restrictions"] = options.restrictions
        return SubmitMessage(
            fields, columns, message.dependencies, message.blobs, made_of=message.made_of
        )

    def _whole(self, message: _CallMessage, generation: int) -> dict[str, Any]:
        """The fields of a whole submission; the blob of its keys is the last one."""
        packer = self._session.packer
        return {
            "generation": generation,
            "last": True,
            **packer.names.take_new(),
            "spans": packer.spans.take_new(),
            "templates": message.templates,
            "chunks": message.chunks,
            "keysBlob": len(message.blobs) - 1,
        }

    def _one(
        self, message: _CallMessage, row: tuple[Any, ...], entry: Entry, generation: int
    ) -> SubmitMessage:
        """What :meth:`_message` makes of one call, without columns."""
        packer = self._session.packer
        names = packer.names
        template, chunk, place = message.pack_one(row)
        annotation = current_annotation()
        if annotation is not None:
            self._session.tell_code(annotation)
        group_text, rest, function = self._texts.cut(entry.key)
        group, rest = names.group(group_text, rest)
        tasks = {
            "id": entry.id,
            "group": group,
            "suffix": 0,
            "function": names.id_of(function),
            "span": packer.spans.id(annotation),
            "origin": ORIGIN_DEFAULT if annotation is None else ORIGIN_USER,
            "template": template,
            "chunk": chunk,
            "row": place,
            "flags": FLAG_WANTED,
            "retries": 0,
            "restriction": 0,
            "userPriority": 0,
            "firstDependency": 0,
        }
        message.blobs.append(rest.encode("utf-8", "surrogatepass"))
        fields = self._whole(message, generation)
        return SubmitMessage(
            fields, tasks, message.dependencies, message.blobs, True, made_of=message.made_of
        )

    def input_id(self, reference: TaskRef) -> int:
        """The task id of a future given as an argument."""
        session = self._session
        entry = getattr(reference, "_entry", None)
        # A future of another client: its number means another task here.
        if entry is None or reference.client._session is not session:  # type: ignore[attr-defined]
            entry = session.by_key.get(reference.key)
        if entry is None or entry.id < 0:
            raise ClusterError(
                f"{reference.key!r} was released, or belongs to another client. Compute it again."
            )
        if entry.status == CANCELLED:
            raise entry.failure().error
        return entry.id

    def template_blob(
        self,
        function: Callable[..., Any],
        order: tuple[int, ...],
        keywords: dict[str, Any],
    ) -> bytes:
        """The payload of the template for calls of `function` with these slots."""
        if keywords:
            places = tuple(Slot(index) for index in order)
            constants = {name: Constant(value) for name, value in keywords.items()}
            return dump(Template(function, None, places, constants))
        around = surroundings(function)
        blob = self._kept.find(function, order, around)
        if blob is None:
            blob = dump(Template(function, order))
            self._kept.keep(function, order, around, blob)
        return blob

    def template(self, blob: bytes) -> tuple[int, bool]:
        """The number of a template, and whether it has to be sent."""
        return self._session.packer.template(blob)

    def new_chunk(self) -> int:
        return self._session.packer.new_chunk()

    # -- the general way --------------------------------------------------

    def _through_graph(
        self,
        function: Callable[..., Any],
        rows: Sequence[tuple[Any, ...]],
        keywords: dict[str, Any],
        keys: Sequence[Key],
        options: TaskOptions | None,
    ) -> list[Entry]:
        parsed = {name: parse_input(value) for name, value in keywords.items()}
        graph = {}
        for key, row in zip(keys, rows, strict=True):
            arguments = [parse_input(argument) for argument in row]
            graph[key] = Task(key, function, *arguments, **parsed)
        return self._session.submit_graph(
            graph, list(keys), options, written_here=True, types=_TYPES
        )


class _CallMessage:
    """Templates, chunks and columns of some calls of one function."""

    def __init__(
        self, calls: Calls, function: Callable[..., Any], keywords: dict[str, Any]
    ) -> None:
        self._calls = calls
        self._function = function
        self._keywords = keywords
        self._numbers: dict[tuple[int, ...], int] = {}
        self.templates: list[dict[str, int]] = []
        self.chunks: list[dict[str, int]] = []
        self.blobs: list[bytes] = []
        self.made_of: dict[int, Any] = {}
        self.dependencies = array("I")
        self._rows: list[tuple[Any, ...]] = []
        self._chunk = NONE_U32
        self._nbytes = 0

    def pack(self, rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
        """The columns `template`, `chunk`, `row` and `firstDependency`."""
        templates = array("I")
        chunks = array("I")
        places = array("I")
        first = array("I")
        for row in rows:
            first.append(len(self.dependencies))
            order, literals = self._take_apart(row)
            template = self._numbers.get(order)
            if template is None:
                template = self._new_template(order)
            templates.append(template)
            if not literals:
                chunks.append(NONE_U32)
                places.append(0)
                continue
            if self._chunk == NONE_U32:
                self._chunk = self._calls.new_chunk()
            chunks.append(self._chunk)
            places.append(len(self._rows))
            self._rows.append(literals)
            for value in literals:
                if type(value) not in SMALL_TYPES:
                    self._nbytes += weight_of(value)
            if len(self._rows) == CHUNK_ROWS or self._nbytes > CHUNK_BYTES:
                self._close_chunk()
        if self._rows:
            self._close_chunk()
        return {
            "template": templates,
            "chunk": chunks,
            "row": places,
            "firstDependency": first,
        }

    def pack_one(self, row: tuple[Any, ...]) -> tuple[int, int, int]:
        """Template, chunk and row of the only call."""
        order, literals = self._take_apart(row)
        template = self._new_template(order)
        if not literals:
            return template, NONE_U32, 0
        chunk = self._chunk = self._calls.new_chunk()
        self._rows.append(literals)
        self._close_chunk()
        return template, chunk, 0

    def _take_apart(self, row: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        """Slots and literals of one call; its futures go into the dependencies."""
        inputs: list[int] = []
        literals: list[Any] = []
        order: list[int] = []
        for argument in row:
            if isinstance(argument, TaskRef):
                task_id = self._calls.input_id(argument)
                if task_id not in inputs:
                    inputs.append(task_id)
                order.append(inputs.index(task_id))
            else:
                literals.append(argument)
                order.append(-len(literals))
        if inputs:
            self.dependencies.extend(inputs)
            return tuple(order), tuple(literals)
        return tuple(order), row

    def _new_template(self, order: tuple[int, ...]) -> int:
        blob = self._calls.template_blob(self._function, order, self._keywords)
        number, is_new = self._calls.template(blob)
        self._numbers[order] = number
        if is_new:
            self.templates.append({"id": number, "blob": len(self.blobs)})
            if len(blob) > SMALL_ARGUMENTS:
                self.made_of[len(self.blobs)] = GivenWith((self._function,), self._keywords)
            self.blobs.append(blob)
        return number

    def _close_chunk(self) -> None:
        self.chunks.append({"id": self._chunk, "blob": len(self.blobs), "rows": len(self._rows)})
        blob = dump(self._rows)
        if len(blob) > SMALL_ARGUMENTS * len(self._rows):
            self.made_of[len(self.blobs)] = self._rows
        self.blobs.append(blob)
        self._chunk = NONE_U32
        self._rows = []
        self._nbytes = 0


def _holds_task(value: Any) -> bool:
    """Whether a value is, or as a container holds, a future or graph node."""
    if isinstance(value, (TaskRef, GraphNode)):
        return True
    if isinstance(value, dict):
        return any(_holds_task(v) for v in value.values()) or any(_holds_task(k) for k in value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(_holds_task(item) for item in value)
    return False
