"""Packs a prepared graph into `submit` messages: templates, chunks, columns.

::

    inc(0), inc(1), … inc(299)         template 7: inc, slots (-1,)
                                       chunk 31: [(0,), (1,), … (255,)]
                                       chunk 32: [(256,), … (299,)]
    task columns   id        0   1   …  255  256 …
                   template  7   7   …    7    7 …
                   chunk    31  31   …   31   32 …
                   row       0   1   …  255    0 …

One loop over the tasks; whatever is the same for many of them is done once.
"""

from __future__ import annotations

import itertools
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

from dask.sizeof import sizeof

from spanwise.graph.attribution import Attribution
from spanwise.graph.dictionaries import Names, Spans
from spanwise.graph.key_text import KeyTexts
from spanwise.graph.patterns import Patterns, Plan
from spanwise.graph.places import Shape
from spanwise.graph.prepare import PreparedGraph
from spanwise.graph.private_dask import (
    Alias,
    DataNode,
    GraphNode,
    Task,
    TaskRef,
    execute_subgraph,
)
from spanwise.graph.provenance import Source
from spanwise.graph.rows import Pattern, Row, node_of
from spanwise.graph.task_options import TaskOptions
from spanwise.graph.template import Template, identity
from spanwise.records.enumerations import (
    FLAG_ALIAS,
    FLAG_DATA,
    FLAG_FUSED,
    FLAG_WANTED,
    NONE_U32,
    ORIGIN_DEFAULT,
    ORIGIN_INFERRED,
    ORIGIN_USER,
)

Key = Any
Dump = Callable[[Any], bytes]

#: Rows of literals in one chunk.
CHUNK_ROWS = 256
#: A chunk that holds large literals is closed at this size, so that a worker does
#: not open 256 partitions to run one task.
CHUNK_BYTES = 1 << 20
#: Tasks in the first message of a graph, and in the following ones: workers start
#: on each while the next is being packed.
FIRST_TASKS = 2_048
MORE_TASKS = 8_192
#: Arguments of so many bytes a task, on average, are small.
SMALL_ARGUMENTS = 1024

#: Literals of these types are taken to be small.
SMALL_TYPES = frozenset({int, float, bool, type(None), complex, slice, tuple, type})


class GivenWith(NamedTuple):
    """What a template was made of."""

    functions: tuple[Callable[..., Any], ...]
    keywords: dict[str, Any]


class SubmitMessage:
    """One `submit` message: header fields, columns, blobs.

    Attributes
    ----------
    tasks
        Column name to values; of a message with one task, to the value, if `is_one`.
    is_one
        Whether it is a message of one task without columns: a lone call takes a third less time.
    users
        Of a part of a graph: how many tasks of the whole graph use each of its tasks.
    made_of
        Of blobs that are not small: the rows of a chunk, or the :class:`GivenWith` of a template.
    """

    __slots__ = ("blobs", "dependencies", "fields", "is_one", "made_of", "tasks", "users")

    def __init__(
        self,
        fields: dict[str, Any],
        tasks: dict[str, Any],
        dependencies: Any,
        blobs: list[bytes],
        is_one: bool = False,
        users: array[int] | None = None,
        made_of: dict[int, Any] | None = None,
    ) -> None:
        self.fields = fields
        self.tasks = tasks
        self.dependencies = dependencies
        self.blobs = blobs
        self.is_one = is_one
        self.users = users
        self.made_of = {} if made_of is None else made_of

    @property
    def spans(self) -> Iterable[int]:
        """The numbers of its tasks' spans; one, as a rule."""
        column = self.tasks["span"]
        if self.is_one:
            return (column,)
        # Compared as numbers: a set of them makes an object of each.
        first = column[:1]
        return first if column == first * len(column) else set(column)

    @property
    def last_id(self) -> int:
        """The number of its last task."""
        found: int = self.tasks["id"] if self.is_one else self.tasks["id"][-1]
        return found


class _Group:
    """Tasks that share a template, and the chunk that is being filled for them."""

    __slots__ = ("template", "rows", "chunk", "nbytes", "fused")

    def __init__(self, template: int, fused: bool) -> None:
        self.template = template
        self.rows: list[tuple[Any, ...]] = []
        self.chunk = NONE_U32
        self.nbytes = 0
        self.fused = fused


class PartNaming:
    """Names and spans of inner keys of fused tasks."""

    __slots__ = ("_attribution", "_spans", "_texts")

    def __init__(self, attribution: Attribution, spans: Spans, texts: KeyTexts) -> None:
        self._attribution = attribution
        self._spans = spans
        self._texts = texts

    def part(self, key: Key) -> tuple[str, int]:
        source = self._attribution.of(key)
        return self._texts.function(key), self._spans.id(source.span)


class _Sent:
    """A template that the scheduler keeps for this client."""

    __slots__ = ("named", "number")

    def __init__(self, number: int, named: int) -> None:
        self.number = number
        #: The newest graph whose tasks name it.
        self.named = named


class Packer:
    """Packs graphs for one connection.

    Parameters
    ----------
    dump
        Object to payload bytes.
    names, spans
        What the scheduler knows already.
    """

    def __init__(self, dump: Dump, names: Names, spans: Spans) -> None:
        self.names = names
        self.spans = spans
        self._dump = dump
        #: Digest of a template's payload → the template that the scheduler keeps, until
        #: it asks for it back: none is sent twice.
        self._templates: dict[bytes, _Sent] = {}
        #: Number of a template → its digest.
        self._digests: dict[int, bytes] = {}
        self._template_numbers = itertools.count()
        self._chunks = itertools.count()
        self._generation = -1

    def template(self, blob: bytes) -> tuple[int, bool]:
        """The number of a template, and whether the scheduler has yet to be sent it."""
        digest = blake2b(blob, digest_size=16).digest()
        sent = self._templates.get(digest)
        if sent is not None:
            sent.named = self._generation
            return sent.number, False
        number = next(self._template_numbers)
        self._templates[digest] = _Sent(number, self._generation)
        self._digests[number] = digest
        return number, True

    def give_back(self, generation: int, templates: Iterable[int]) -> list[int]:
        """Forget and return those templates that no graph after `generation` has named.

        One that is needed again is sent under another number.
        """
        unnamed = []
        for number in templates:
            digest = self._digests.get(number)
            if digest is not None and self._templates[digest].named <= generation:
                del self._digests[number]
                del self._templates[digest]
                unnamed.append(number)
        return unnamed

    def mark(self) -> tuple[int, int]:
        """How many names and spans have been announced by now; see :meth:`back_to`."""
        return self.names.announced, self.spans.mark()

    def back_to(self, mark: tuple[int, int]) -> list[int]:
        """Announce everything since `mark` again: its messages may not have been sent.

        Returns
        -------
        templates
            Those that the newest graph has named. They are forgotten here: the scheduler
            may or may not have received them.
        """
        self.announce_again(mark)
        newest = self._generation
        named = [sent.number for sent in self._templates.values() if sent.named == newest]
        return self.give_back(newest, named)

    def announce_again(self, mark: tuple[int, int]) -> None:
        """Announce the names and spans since `mark` again; twice does no harm."""
        names, spans = mark
        self.names.announce_again(names)
        self.spans.announce_again(spans)

    def new_chunk(self) -> int:
        return next(self._chunks)

    def new_generation(self) -> int:
        """The number of a graph, whose templates are taken up from now on."""
        self._generation += 1
        return self._generation

    def pack(
        self,
        graph: PreparedGraph,
        ids: dict[Key, int],
        wanted: Any,
        first_id: int,
        options: TaskOptions | None = None,
    ) -> Iterator[SubmitMessage]:
        """Yield the messages that submit a graph.

        Parameters
        ----------
        graph
            What to run.
        ids
            Key to task id of what exists already; the graph's own keys are added.
        wanted
            Container of the keys whose results the client will hold.
        first_id
            Id of the first task; the others follow.
        options
            Retries, priorities and workers, if there are any.
        """
        packing = _Packing(self, self._dump, graph, ids, wanted)
        packing.options = options if options else None
        return packing.messages(first_id)


class _Packing:
    """The state of packing one graph."""

    def __init__(
        self,
        packer: Packer,
        dump: Dump,
        graph: PreparedGraph,
        ids: dict[Key, int],
        wanted: Any,
    ) -> None:
        self.packer = packer
        self.dump = dump
        self.graph = graph
        self.ids = ids
        self.wanted = wanted
        self.generation = packer.new_generation()
        self.texts = KeyTexts()
        self.naming = PartNaming(graph.attribution, packer.spans, self.texts)
        self.options: TaskOptions | None = None
        #: Of a graph of several parts, see `users_of`.
        self.users: dict[Key, int] | None = None
        #: By signature. These hold ids of functions, which the graph keeps alive meanwhile.
        self.groups: dict[Any, _Group] = {}
        self.patterns = Patterns(self.naming, self._group_of, graph.attribution.by_name)
        #: Of rows: how their nodes are taken apart (None: each by itself), and their source.
        self.plans: dict[Pattern, tuple[Plan | None, Source]] = {}
        self._clear()

    def _clear(self) -> None:
        self.template_rows: list[dict[str, int]] = []
        self.chunk_rows: list[dict[str, int]] = []
        self.blobs: list[bytes] = []
        self.made_of: dict[int, Any] = {}
        self.open_groups: dict[int, _Group] = {}

    def messages(self, first_id: int) -> Iterator[SubmitMessage]:
        items = iter(self.graph.nodes.items())
        left = len(self.graph.nodes)
        if left > FIRST_TASKS:
            self.users = users_of(self.graph.nodes, self.wanted)
        done = 0
        size = FIRST_TASKS
        try:
            while left:
                count = min(size, left)
                left -= count
                part = list(itertools.islice(items, count))
                yield self._message(part, first_id + done, left == 0)
                done += count
                size = MORE_TASKS
        finally:
            # It refers back to this; the graph would be the collector's to find.
            del self.patterns

    def _message(
        self,
        items: list[tuple[Key, GraphNode | Row]],
        first_id: int,
        last: bool,
    ) -> SubmitMessage:
        names = self.packer.names
        span_id = self.packer.spans.id
        source_of = self.graph.attribution.of
        cut = self.texts.cut
        ids = self.ids
        wanted = self.wanted
        name_ids: dict[str, int] = {}
        groups: list[int] = []
        rests: list[str] = []
        functions: list[int] = []
        #: first row, span, origin: most graphs have one span.
        stretches: list[tuple[int, int, int]] = []
        templates: list[int] = []
        chunks: list[int] = []
        rows: list[int] = []
        flags = bytearray()
        first_dependencies: list[int] = []
        dependencies: list[int] = []
        last_source = None
        rest_of = self.texts.rest
        #: First text of keys that are tuples → number of the group's name and of the function's,
        #: length of the group's name.
        heads: dict[str, tuple[int, int, int]] = {}
        plans = self.plans
        head: Any = None
        head_length = group_name = function = 0

        task_id = first_id
        for key, node in items:
            ids[key] = task_id
            task_id += 1
            if type(key) is tuple and key and key[0] is head:
                rests.append(rest_of(key, head_length))
            elif type(key) is tuple and key and type(key[0]) is str and key[0] in heads:
                head = key[0]
                group_name, function, head_length = heads[head]
                rests.append(rest_of(key, head_length))
            else:
                group_text, short, function_text = cut(key)
                rest = short
                group_name = name_ids.get(group_text, -1)
                if group_name < 0:
                    group_name, rest = names.group(group_text, short)
                    if rest is short:
                        name_ids[group_text] = group_name
                function = name_ids.get(function_text, -1)
                if function < 0:
                    function = name_ids[function_text] = names.id_of(function_text)
                rests.append(rest)
                # The next key often begins with the same text, even the same object.
                head = None
                head_length = len(group_text)
                if rest is short and type(key) is tuple and key and type(key[0]) is str:
                    head = key[0]
                    heads[head] = group_name, function, head_length
            groups.append(group_name)
            functions.append(function)

            flag = FLAG_WANTED if key in wanted else 0
            first_dependencies.append(len(dependencies))
            plan = None
            kind = type(node)
            if kind is tuple:
                found = plans.get(node[0])
                if found is None:
                    found = plans[node[0]] = self._plan(key, node)
                plan, source = found
                if plan is None:
                    node = node_of(node)
                    kind = type(node)
            if kind is Alias:
                dependencies.append(ids[node.target])  # type: ignore[union-attr]
                templates.append(NONE_U32)
                chunks.append(NONE_U32)
                rows.append(0)
                flag |= FLAG_ALIAS
                source = source_of(key)
            else:
                if plan is not None:
                    _, inputs, literals, _ = node  # type: ignore[misc]
                    group = plan.group
                    if plan.inputs is not None:
                        inputs = plan.inputs(inputs)
                    if plan.literals is not None:
                        literals = plan.literals(literals)
                    if group.fused:
                        flag |= FLAG_FUSED
                else:
                    packed = self._plain(node)  # type: ignore[arg-type]
                    if packed is None:
                        group, inputs, literals = self._general(node)  # type: ignore[arg-type]
                        source = source_of(outer_key(key, node) if group.fused else key)  # type: ignore[arg-type]
                    else:
                        group, inputs, literals = packed
                        source = source_of(key)
                    if group.fused:
                        flag |= FLAG_FUSED
                    if kind is DataNode:
                        flag |= FLAG_DATA
                if inputs:
                    dependencies.extend([ids[key_of_input] for key_of_input in inputs])
                templates.append(group.template)
                if literals:
                    if group.chunk == NONE_U32:
                        self._open(group)
                    chunks.append(group.chunk)
                    rows.append(len(group.rows))
                    group.rows.append(literals)
                    for value in literals:
                        if type(value) not in SMALL_TYPES:
                            group.nbytes += weight_of(value)
                    if len(group.rows) == CHUNK_ROWS or group.nbytes > CHUNK_BYTES:
                        self._close(group)
                else:
                    chunks.append(NONE_U32)
                    rows.append(0)
            flags.append(flag)
            if source is not last_source:
                last_source = source
                if source.span is None:
                    origin = ORIGIN_DEFAULT
                else:
                    origin = ORIGIN_USER if source.exact else ORIGIN_INFERRED
                stretches.append((len(flags) - 1, span_id(source.span), origin))

        for group in list(self.open_groups.values()):
            self._close(group)
        suffixes, keys_blob = join_texts(rests)
        self.blobs.append(keys_blob)
        count = len(items)
        spans, origins = _span_columns(stretches, count)
        fields = {
            "generation": self.generation,
            "last": last,
            **names.take_new(),
            "spans": self.packer.spans.take_new(),
            "templates": self.template_rows,
            "chunks": self.chunk_rows,
            "keysBlob": len(self.blobs) - 1,
        }
        tasks = {
            "id": array("I", range(first_id, first_id + count)),
            "group": array("I", groups),
            "suffix": suffixes,
            "function": array("I", functions),
            "span": spans,
            "origin": origins,
            "template": array("I", templates),
            "chunk": array("I", chunks),
            "row": array("I", rows),
            "flags": flags,
            **option_columns([key for key, _ in items], self.options),
            "firstDependency": array("I", first_dependencies),
        }
        if self.options is not None:
            fields["restrictions"] = self.options.restrictions
        users = self.users
        message = SubmitMessage(
            fields,
            tasks,
            array("I", dependencies),
            self.blobs,
            users=None if users is None else array("I", [users.get(key, 0) for key, _ in items]),
            made_of=self.made_of,
        )
        self._clear()
        return message

    # -- one task ---------------------------------------------------------

    def _plan(self, key: Key, row: Row) -> tuple[Plan | None, Source]:
        """How rows of a pattern are taken apart, and their source."""
        # (a line's name is its own, also where its parts only hand a block on)
        source = self.graph.attribution.of(outer_key(key, node_of(row)))
        return self.patterns.plan_of_row(row), source

    def _plain(self, node: GraphNode) -> tuple[_Group, Any, Any] | None:
        """The short way for calls whose arguments are inputs and literals only."""
        if type(node) is not Task or node.kwargs or node.func is execute_subgraph:
            return None
        function = node.func
        arguments = node.args
        if not node._dependencies:
            for argument in arguments:
                if type(argument) not in SMALL_TYPES and isinstance(argument, GraphNode):
                    return None
            signature: Any = (id(function), len(arguments))
            group = self.groups.get(signature)
            if group is None:
                order = tuple(~i for i in range(len(arguments)))
                group = self._new_group(signature, Template(function, order), False)
            return group, (), arguments
        inputs: dict[Key, int] = {}
        literals: list[Any] = []
        slots: list[int] = []
        for argument in arguments:
            if isinstance(argument, TaskRef):
                slots.append(inputs.setdefault(argument.key, len(inputs)))
            elif isinstance(argument, GraphNode):
                return None
            else:
                literals.append(argument)
                slots.append(-len(literals))
        order = tuple(slots)
        signature = (id(function), order)
        group = self.groups.get(signature)
        if group is None:
            group = self._new_group(signature, Template(function, order), False)
        return group, inputs, tuple(literals)

    def _general(self, node: GraphNode) -> tuple[_Group, Any, Any]:
        if type(node) is DataNode:
            group = self.groups.get("data")
            if group is None:
                group = self._new_group("data", Template(identity, (-1,)), False)
            return group, (), (node.value,)
        return self.patterns.take_apart(node)

    # -- templates and chunks ---------------------------------------------

    def _group_of(self, shape: Shape) -> _Group:
        group = self.groups.get(shape.signature)
        if group is None:
            group = self._new_group(shape.signature, shape.build(), shape.fused)
        return group

    def _new_group(self, signature: Any, template: Template, fused: bool) -> _Group:
        blob = self.dump(template)
        number, is_new = self.packer.template(blob)
        group = self.groups[signature] = _Group(number, fused)
        if is_new:
            self.template_rows.append({"id": number, "blob": len(self.blobs)})
            if len(blob) > SMALL_ARGUMENTS:
                functions = [each.function for each in template.parts or (template,)]
                self.made_of[len(self.blobs)] = GivenWith(tuple(functions), {})
            self.blobs.append(blob)
        return group

    def _open(self, group: _Group) -> None:
        group.chunk = self.packer.new_chunk()
        self.open_groups[group.chunk] = group

    def _close(self, group: _Group) -> None:
        self.chunk_rows.append(
            {"id": group.chunk, "blob": len(self.blobs), "rows": len(group.rows)}
        )
        blob = self.dump(group.rows)
        if len(blob) > SMALL_ARGUMENTS * len(group.rows):
            self.made_of[len(self.blobs)] = group.rows
        self.blobs.append(blob)
        del self.open_groups[group.chunk]
        group.chunk = NONE_U32
        group.rows = []
        group.nbytes = 0


def _span_columns(
    stretches: list[tuple[int, int, int]], count: int
) -> tuple[array[int], bytearray]:
    """The columns `span` and `origin` of `count` rows from (first row, span, origin)."""
    spans = array("I")
    origins = bytearray()
    for number, (first, span, origin) in enumerate(stretches):
        stop = stretches[number + 1][0] if number + 1 < len(stretches) else count
        spans.extend(array("I", [span]) * (stop - first))
        origins.extend(bytes([origin]) * (stop - first))
    return spans, origins


def users_of(nodes: dict[Key, GraphNode | Row], wanted: Container[Key]) -> dict[Key, int]:
    """How many tasks use each key; keys that none uses are missing.

    An alias is no task of the scheduler's: its users are those of what it stands for, which
    stays until the graph is complete if the alias itself is wanted.
    """
    # (what `needs_of` says, without a call for each)
    needed: list[Any] = [
        node[1] if type(node) is tuple else node._dependencies  # type: ignore[union-attr]
        for node in nodes.values()
    ]
    users = Counter(chain.from_iterable(needed))
    # From the last to the first: an alias may stand for an alias.
    for key in reversed([key for key, node in nodes.items() if type(node) is Alias]):
        target = nodes[key].target  # type: ignore[union-attr]
        users[target] += users.pop(key, 0) - (key not in wanted)
    return users


def option_columns(keys: list[Key], options: TaskOptions | None) -> dict[str, Any]:
    """The three columns that are almost always zero."""
    count = len(keys)
    if not options:
        return {
            "retries": bytes(count),
            "restriction": array("H", bytes(2 * count)),
            "userPriority": array("i", bytes(4 * count)),
        }
    rows = [options.row(key) for key in keys]
    return {
        "retries": bytes(retries for retries, _, _ in rows),
        "restriction": array("H", [restriction for _, restriction, _ in rows]),
        "userPriority": array("i", [priority for _, _, priority in rows]),
    }


def outer_key(key: Key, node: GraphNode) -> Key:
    """The key whose span a fused task has as a whole: that of its last part."""
    if isinstance(node, Task) and node.func is execute_subgraph:
        return node.args[1]
    return key


def weight_of(value: Any) -> int:
    """About how many bytes a literal takes in a chunk."""
    if isinstance(value, (str, bytes, bytearray)):
        return len(value)
    nbytes = getattr(value, "nbytes", None)
    return nbytes if type(nbytes) is int else int(sizeof(value))


def join_texts(rests: list[str]) -> tuple[array[int], bytes]:
    """Start offsets in bytes, and the joined text."""
    joined = "".join(rests)
    blob = joined.encode("utf-8", "surrogatepass")
    if len(blob) == len(joined):
        lengths = map(len, rests)
    else:
        lengths = map(len, [rest.encode("utf-8", "surrogatepass") for rest in rests])
    starts = array("I", itertools.accumulate(lengths, initial=0))
    starts.pop()
    return starts, blob
