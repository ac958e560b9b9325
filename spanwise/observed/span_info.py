"""Spans as a program gets them, and how it names them when it asks."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import time
from typing import Any, Protocol

from spanwise.errors import ClusterError

#: What `with span(…) as id` gives, and what stands for the id of a default span.
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|span-\d{1,10}")

_UNFINISHED = frozenset({"waiting", "no-worker", "queued", "processing"})

#: Origins of spans that nobody opened by name.
_ROOTS = frozenset({"notebook", "cell"})

_MATCHES = ("any", "all", "not")


class _Questions(Protocol):
    def fine_metrics(self, span: Any) -> Any:
        """The fine metrics of a span and what is below it."""


class _Asked:
    """Whom a span asks for its metrics. A copy of the span asks the same; a pickled one nobody."""

    __slots__ = ("questions",)

    def __init__(self, questions: _Questions | None = None) -> None:
        self.questions = questions

    def __deepcopy__(self, memo: Any) -> _Asked:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _Asked, ()


@dataclass(frozen=True, slots=True)
class SpanInfo:
    """One span; figures are totals of its subtree unless they begin with ``own``.

    Attributes
    ----------
    id
        What ``with span(…) as id`` gave. Default spans have ids too; of the first ``"span-0"``.
    number
        Number within the cluster; 0 is the first default span.
    name
        Tags of ``with span(…)``, from the outermost; empty of a cell, notebook or script.
    path
        Tags from the root: the notebook's file, the first line of its cell, and `name`; of a
        script its file and `name`. (With ``spanwise.spans.cells: False`` both are the same.)
    origin
        ``"user"``; ``"cell"``; ``"notebook"``, also of a script; ``"default"``.
    parent, children
        Ids; children in the order in which they were first used.
    client
        Whose it is: the path of the notebook, or the program's name; empty: unknown.
    tasks, running, failed
        Runs of tasks: finished, running now, failed. A task that was tried again has several.
    running_cancelled
        How many of those that run were cancelled: Python cannot stop their code. 0 of a Dask
        cluster, whose scheduler forgets them.
    executions
        How often functions ran: tasks that are not divided, and the parts of fused ones,
        which may be tasks of other spans.
    duration
        Seconds on threads.
    all_durations
        Seconds by action (``compute``, ``transfer``, ``disk-read``, ``deserialize``, …).
    cpu, transfer
        Of these on a core; of these spent on transfers. None: unknown.
    idle
        The span's share of the threads' idle seconds: while they were idle, its tasks were
        among the unfinished ones (docs/measures.md). None: unknown.
    own_tasks, own_nanoseconds
        Of this span alone: they add up to the totals exactly.
    own_reused
        Results that were asked for in this span, and had been submitted before: their runs
        are those of the span that submitted them.
    exact, inferred
        Own runs whose span is known, and those whose span is guessed.
    nbytes_total
        Bytes of all results, also of those that have gone.
    opened, closed
        Wall clock of the block's begin and end; `closed` is None while it is open. Of a default
        span: when its first graph came, and when none of its tasks was left to do.
    enqueued
        Wall clock of the first task's submission. (If all its tasks are parts of other
        spans' tasks: of its first start.)
    start, stop
        Wall clock of the first start and last stop, seconds; None: nothing ran.
    nthreads_intervals
        From `enqueued` until `stop`, or until now while tasks run: begin, end and the
        cluster's threads, anew whenever their number changed.
    states
        How many tasks are in which state now: ``waiting``, ``no-worker``, ``queued``,
        ``processing``, ``memory``, ``erred``, ``released``, and ``forgotten``. Empty of what
        Dask's local schedulers ran.
    code
        Of a cell its code, ``In [n]`` and its id, ``cell``. Of others
        stacks of the callers that submitted in it, each once and outermost first, if Dask's
        setting ``distributed.diagnostics.computations.nframes`` is more than 0. Each frame has
        ``code``, ``lineno_frame``, ``lineno_relative`` and ``filename``.
    folded
        How many other spans are counted in this one: see docs/measures.md, *Many spans*.
    metadata
        ``{"collections": [{"type": …}, …]}``: what this client has submitted in the span itself,
        in order. ``"Future"`` of a call of ``submit`` or ``map``, the class of a collection given
        to ``client.compute`` or ``persist``, ``"low-level-graph"`` of another graph, as of
        ``x.compute()``.
        Empty of the default span, of what other clients submitted, and for ``observe()``.
    """

    id: str
    number: int
    name: tuple[str, ...]
    parent: str | None
    children: tuple[str, ...]
    origin: str
    tasks: int
    running: int
    failed: int
    duration: float
    cpu: float | None
    transfer: float
    idle: float | None
    own_tasks: int
    own_nanoseconds: int
    exact: int
    inferred: int
    opened: float
    closed: float | None
    start: float | None
    stop: float | None
    executions: int = 0
    running_cancelled: int = 0
    client: str = ""
    enqueued: float = 0.0
    all_durations: Mapping[str, float] = field(default_factory=dict, hash=False)
    nbytes_total: int = 0
    own_reused: int = 0
    folded: int = 0
    nthreads_intervals: tuple[tuple[float, float, int], ...] = ()
    states: Mapping[str, int] = field(default_factory=dict, hash=False)
    code: tuple[tuple[Mapping[str, Any], ...], ...] = field(default=(), hash=False)
    path: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: {"collections": []}, hash=False)
    _asked: _Asked = field(default_factory=_Asked, repr=False, compare=False)

    @property
    def tag(self) -> str:
        path = self.path or self.name
        return path[-1] if path else ""

    @property
    def done(self) -> bool:
        """Whether none of its tasks is running, or is going to."""
        return self.running == 0 and not _UNFINISHED.intersection(self.states)

    @property
    def active_cpu_seconds(self) -> float:
        """Seconds of all threads that the cluster had while the span was active."""
        return sum((end - begin) * threads for begin, end, threads in self.nthreads_intervals)

    @property
    def metrics(self) -> Any:
        """Where the subtree's time went: ``client.fine_metrics(span=…)``, asked for now.

        Raises
        ------
        ClusterError
            The span was pickled, or nobody answers any more.
        """
        if self._asked.questions is None:
            raise ClusterError(
                "This span does not know its cluster any more, because it was pickled: "
                "ask client.fine_metrics(span=span.id)."
            )
        return self._asked.questions.fine_metrics(span=self)


def span_infos(
    pages: Iterable[Mapping[str, Any]],
    epoch: float,
    questions: _Questions,
    states: Mapping[int, Mapping[str, int]] | None = None,
) -> list[SpanInfo]:
    """The spans in the pages of view ``spans``.

    Parameters
    ----------
    epoch
        Wall clock at second 0 of the log.
    states
        See :meth:`Recorded.states_by_span`.
    """
    rows: dict[int, Mapping[str, Any]] = {}
    clients: dict[int, str] = {}
    #: How many tags of its path a program has not given.
    roots: dict[int, int] = {}
    threads: Sequence[Sequence[float]] = []
    for page in pages:
        threads = page["threads"]
        names = page["clients"]
        for row in page["rows"]:
            number = row["span"]
            # The default span is there from the start; others are told of with their first task.
            is_unused = row["origin"] == "default" and row["enqueued"] is None
            if is_unused and not (row["executions"] or row["running"]):
                continue
            rows[number] = row
            is_root = row["origin"] in _ROOTS
            roots[number] = len(row["path"]) if is_root else roots.get(row["parent"], 0)
            client = row["client"]
            clients[number] = names[client] if client is not None and client < len(names) else ""
    children: dict[int, list[str]] = {}
    for row in rows.values():
        if row["parent"] is not None:
            children.setdefault(row["parent"], []).append(row["id"])
    all_states = {} if states is None else _of_subtrees(rows, states)
    asked = _Asked(questions)
    steps = [(epoch + t, int(count)) for t, count in threads]
    now = time()
    return [
        _info(
            row,
            rows[row["parent"]]["id"] if row["parent"] in rows else None,
            tuple(children.get(number, ())),
            roots[number],
            clients[number],
            epoch,
            steps,
            now,
            all_states.get(number, {}),
            asked,
        )
        for number, row in rows.items()
    ]


def _info(
    row: Mapping[str, Any],
    parent: str | None,
    children: tuple[str, ...],
    roots: int,
    client: str,
    epoch: float,
    steps: list[tuple[float, int]],
    now: float,
    states: Mapping[str, int],
    asked: _Asked,
) -> SpanInfo:
    def wall(seconds: float | None) -> float | None:
        return None if seconds is None else epoch + seconds

    start, stop = wall(row["firstStart"]), wall(row["lastStop"])
    enqueued = wall(row["enqueued"])
    if enqueued is None:
        enqueued = start
    if enqueued is None:
        enqueued = epoch + row["opened"]
    is_done = not row["running"] and not _UNFINISHED.intersection(states)
    end = stop if is_done else now
    return SpanInfo(
        id=row["id"],
        number=row["span"],
        name=tuple(row["path"][roots:]),
        path=tuple(row["path"]),
        client=client,
        parent=parent,
        children=children,
        origin=row["origin"],
        tasks=row["tasks"],
        executions=row["executions"],
        running=row["running"],
        running_cancelled=row.get("runningCancelled", 0),
        failed=row["failed"],
        duration=row["threadSeconds"],
        all_durations=row["seconds"],
        cpu=row["cpuSeconds"],
        transfer=row["transferSeconds"],
        idle=row["idleSeconds"],
        own_tasks=row["ownTasks"],
        own_nanoseconds=row["ownNanoseconds"],
        own_reused=row["ownReused"],
        exact=row["exact"],
        inferred=row["inferred"],
        nbytes_total=int(row["nbytes"]),
        opened=epoch + row["opened"],
        closed=wall(row["closed"]),
        enqueued=enqueued,
        start=start,
        stop=stop,
        nthreads_intervals=() if end is None else threads_between(steps, enqueued, end),
        states=states,
        code=tuple(tuple(json.loads(stack)) for stack in row["code"]),
        folded=row["joined"],
        _asked=asked,
    )


def _of_subtrees(
    rows: Mapping[int, Mapping[str, Any]], own: Mapping[int, Mapping[str, int]]
) -> dict[int, dict[str, int]]:
    """Counts of each span and what is below it; parents stand before their children."""
    found = {number: Counter(own.get(number, {})) for number in rows}
    for number in reversed(list(rows)):
        parent = rows[number]["parent"]
        if parent in found and parent != number:
            found[parent].update(found[number])
    for number, states in found.items():
        forgotten = rows[number]["submitted"] - states.total()
        if forgotten > 0:
            states["forgotten"] = forgotten
    return {number: dict(states) for number, states in found.items()}


def threads_between(
    steps: Sequence[tuple[float, int]], begin: float, end: float
) -> tuple[tuple[float, float, int], ...]:
    """The parts of a stretch of time in which there were so many threads.

    Parameters
    ----------
    steps
        From then on so many; in order.
    """
    first = max(0, bisect_right(steps, begin, key=lambda step: step[0]) - 1)
    found: list[tuple[float, float, int]] = []
    for place in range(first, len(steps)):
        since, threads = steps[place]
        if since >= end:
            break
        until = steps[place + 1][0] if place + 1 < len(steps) else end
        since, until = max(since, begin), min(until, end)
        if since < until:
            found.append((since, until, threads))
    return tuple(found)


def span_filter(span: Any) -> dict[str, list[dict[str, Any]]]:
    """The part of a filter that chooses among spans.

    Parameters
    ----------
    span
        An id, a tag, a path of tags, a SpanInfo; or a mapping of ``any``, ``all`` and ``not``
        to one of these, or to a list of them.
    """
    if not isinstance(span, Mapping):
        return {"any": [_term(span)]}
    unknown = [str(match) for match in span if match not in _MATCHES]
    if unknown:
        raise ValueError(f"span= takes 'any', 'all' and 'not', but was given {', '.join(unknown)}")
    return {
        match: [_term(each) for each in (of if isinstance(of, (list, set, frozenset)) else [of])]
        for match, of in span.items()
    }


def _term(span: Any) -> dict[str, Any]:
    if isinstance(span, SpanInfo):
        return {"path": [], "id": span.id}
    if isinstance(span, str):
        return {"path": [], "id": span} if _ID.fullmatch(span) else {"tag": span}
    if not isinstance(span, (list, tuple)):
        raise TypeError(
            "span is a tag, a tuple of tags, an id, a SpanInfo, or a mapping of 'any', 'all' and "
            f"'not' to these, not {span!r:.80}"
        )
    return {"path": [str(tag) for tag in span]}
