"""Asks the observer for what was measured: spans, fine metrics, the task stream.

The same queries that the panels make (``src/wire/panel-link.ts``), each answered once
and only after everything that had been measured when the question was asked is in.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import inf, isnan
from numbers import Integral, Real
from operator import index
from time import monotonic, sleep
from typing import Any, Protocol

from dask.utils import parse_timedelta

from spanwise.errors import ClusterError
from spanwise.observed.bandwidth import bandwidth_of
from spanwise.observed.fine_table import FineTable, fine_table
from spanwise.observed.html import table_html
from spanwise.observed.observer_address import ObserverAddress
from spanwise.observed.profiles import PageChanged, Profile, ProfilePages
from spanwise.observed.span_info import SpanInfo, span_filter, span_infos
from spanwise.observed.span_list import SpanList
from spanwise.observed.system import system_of
from spanwise.observed.task_records import TaskRecords
from spanwise.observed.view_answers import checked_answer, unreadable
from spanwise.wire.errors import LinkClosed, LinkError
from spanwise.wire.labels import checked_text, label_of
from spanwise.wire.link import Link, dial

#: Of what workers measure by themselves; tasks may tell others.
_UNITS = ("bytes", "count", "seconds")
#: Longest wait for the measurements made so far, and for an answer.
QUERY_SECONDS = 30.0
#: For so long the successor of an observer that died is looked for.
SUCCESSOR_SECONDS = 10.0
_TRY_SECONDS = 0.1
#: A profile whose oldest samples go while it is read is read again so often.
_MOST_READINGS = 5
#: Of so many numbers of spans one question asks in which rows they are counted.
_NUMBERS_OF_QUESTION = 10_000

#: The contexts whose entries divide seconds that other entries hold already.
DIVIDING_CONTEXTS = ("noncpu", "idle", "gather-dep")
#: What tasks of Dask did for a shuffle is there once more, under its own context.
SHUFFLE_IN_TASKS = ("p2p", "foreground")
#: Idle time under Dask's name for it: no thread did it, and no function.
IDLE = ("execute", "N/A", "idle or other spans")
#: What `FineMetrics.by_function` calls the work of no function, whose keys have "" there.
OUTSIDE_TASKS = "outside tasks"

#: Context, function, activity or label, unit. A label may be anything.
FineKey = tuple[str, str, Any, str]


class FineMetrics(Mapping[FineKey, float]):
    """``{(context, function, activity, unit): value}``, for one selection.

    Function ``""`` is what workers did outside tasks: sending, spilling, reporting results.

    Seconds of context ``execute`` add up to the time that tasks held threads, and the time in
    which these were idle: ``("execute", "N/A", "idle or other spans", "seconds")``. Context
    ``noncpu`` divides its ``thread-noncpu`` once more, where that is known: waiting for a
    ``core``, for the interpreter lock (``gil``, an estimate), and ``blocked``; context ``idle``
    divides idle time by what was waited for; context ``gather-dep`` has transfers of inputs as
    their requests took them, where ``background`` has them by task. These are the same
    seconds again, so the sums :meth:`by_activity` and :meth:`by_function` leave them out, and
    idle time; ``by_activity(context="noncpu")`` has them. Beside what tasks held threads for the
    sums have what went on behind other work (context ``background``, and what was sent,
    ``get-data``): ``by_activity(context="execute")`` has the former alone.

    What tasks have measured with `spanwise.metrics.context_meter` is there under its labels, in
    context ``execute``; of seconds only those that the run had, the others in context ``user``.

    Of a Dask cluster, context ``execute`` has what Dask itself adds up, in the time from when a
    worker takes a task up until its result is stored. Idle time is in context ``idle`` alone: it
    is by start and stop of tasks, and no rest of these seconds.

    Attributes
    ----------
    notes
        Sentences on what is missing in the figures.
    """

    def __init__(
        self,
        entries: dict[FineKey, float],
        summary: Mapping[str, Any],
        unit: str | None = None,
    ) -> None:
        self._entries = entries
        #: What the sums are in, if they are not asked for another: that of the question.
        self._unit = "seconds" if unit is None else unit
        #: The whole answer of the view, as the panel gets it.
        self.summary = summary
        self.notes: tuple[str, ...] = tuple(summary.get("notes", ()))

    def __getitem__(self, key: FineKey) -> float:
        return self._entries[key]

    def __iter__(self) -> Iterator[FineKey]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        """Activities with seconds and shares; how many functions; what is not among them."""
        return self._table().as_text()

    def _repr_html_(self) -> str:
        """The same, for notebooks: lines of a text break within words where there is no room."""
        return table_html(*self._table())

    def _table(self) -> FineTable:
        units = sorted({key[3] for key in self}, key=lambda unit: (unit != "seconds", unit))
        unit, *others = units or ["seconds"]
        activities = self.by_activity(unit)
        functions, beside = self.by_function(unit), {}
        if unit == "seconds":
            # What tasks held threads for: that makes a whole.
            user = sum(self.by_activity(unit, "user").values())
            # (added up by themselves: a difference of sums would leave what these were rounded by)
            behind = (
                value
                for key, value in self._entries.items()
                if key[3] == unit and key[0] not in ("execute", "user") and not counts_twice(key)
            )
            activities = self.by_activity(unit, "execute")
            functions = self.by_function(unit, "execute")
            idle = sum(self.by_activity(unit, "idle").values())
            beside = {
                "threads were idle": self.get((*IDLE, unit), idle),
                "behind other work": sum(behind),
                "told by tasks beyond their runs": user,
            }
        return fine_table(len(self), len(functions), activities, unit, beside, others, self.notes)

    def by_activity(self, unit: str | None = None, context: str | None = None) -> dict[Any, float]:
        """Values added up over functions, without idle time, if no context is named.

        Parameters
        ----------
        unit
            By default the one that was asked for, else seconds.
        context
            The only context whose entries are added up. By default all are that do not divide
            others: what tasks held threads for, and what went on behind other work.
        """
        return self._sum(2, unit, context)

    def by_function(self, unit: str | None = None, context: str | None = None) -> dict[str, float]:
        """Values added up over activities; else as :meth:`by_activity`.

        What workers did outside tasks, which is no function's, is under ``"outside tasks"``.
        """
        totals = self._sum(1, unit, context)
        if "" in totals:
            outside = totals.pop("")
            totals[OUTSIDE_TASKS] = totals.get(OUTSIDE_TASKS, 0.0) + outside
        return totals

    def _sum(self, position: int, unit: str | None, context: str | None) -> dict[Any, float]:
        known = sorted({*_UNITS, self._unit, *(key[3] for key in self._entries)})
        if unit is not None and unit not in known:
            raise ValueError(f"There are no figures in {unit!r:.80}; there are {', '.join(known)}")
        unit = self._unit if unit is None else unit
        totals: dict[Any, float] = {}
        for key, value in self._entries.items():
            is_meant = not counts_twice(key) if context is None else key[0] == context
            if key[3] == unit and is_meant and key[:3] != IDLE:
                totals[key[position]] = totals.get(key[position], 0.0) + value
        return totals

    def to_pandas(self) -> Any:
        """A series indexed by context, function, activity and unit."""
        import pandas as pd

        index = pd.MultiIndex.from_tuples(
            list(self._entries), names=["context", "function", "activity", "unit"]
        )
        return pd.Series(list(self._entries.values()), index=index, dtype=float)


def counts_twice(key: FineKey) -> bool:
    """Whether other entries have what is under this key, or nobody did it."""
    return key[0] in DIVIDING_CONTEXTS or key[:2] == SHUFFLE_IN_TASKS or key[:3] == IDLE


class Recorded(Protocol):
    """A log that an observer holds.

    Attributes
    ----------
    wall_epoch
        Wall clock at second 0 of the log.
    """

    cluster_id: str
    wall_epoch: float

    def wall_now(self) -> float:
        """Wall clock of this moment, as the log's clock has it."""

    def flush(self) -> int:
        """Wait until what was measured so far is on its way; returns the log's place."""

    def states_by_span(self) -> dict[int, dict[str, int]] | None:
        """By spans' numbers, how many of their own tasks are in which state; None: unknown."""


@dataclass
class Questions:
    """Queries about one log.

    Attributes
    ----------
    log
        Asked which measurements to wait for.
    find
        Finds the observer when first needed.
    keys
        Asked for each question about tasks: what gives the key for a text of the log.
    """

    log: Recorded
    find: Callable[[], ObserverAddress | None]
    keys: Callable[[], Callable[[str], Any]] = lambda: str
    _link: Link | None = None
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def query(
        self,
        view: str,
        filter: dict[str, Any] | None = None,
        time: Any = "all",
        params: dict[str, Any] | None = None,
        after: int | None = None,
    ) -> dict[str, Any]:
        """Ask for one view once; returns its result.

        Raises
        ------
        ClusterError
            There is no observer, or it could not answer.
        """
        after = self.log.flush() if after is None else after
        with self._lock:
            try:
                return self._ask_again_if_it_dies(view, filter or {}, time, params or {}, after)
            except (LinkError, TimeoutError) as error:
                self.close()
                raise ClusterError(f"The observer did not answer: {error}") from error
            except ClusterError:
                raise  # that was its answer
            except BaseException:
                self.close()  # Ctrl-C: the rest of this answer must not be read as the next answer
                raise

    def _ask_again_if_it_dies(self, *question: Any) -> dict[str, Any]:
        """Ask; if the observer dies, ask its successor.

        Once only, for the observer may have died of the question. The successor is looked for
        if there was an observer before.
        """
        give_up = monotonic() + SUCCESSOR_SECONDS
        may_return = self._link is not None
        asked = 0
        while True:
            try:
                link = self._open()
                asked += 1
                return self._ask(link, *question)
            except LinkClosed:
                self.close()
                observer = self.find()
                may_return = may_return or (observer is not None and observer.is_own)
                if asked > 1 or not may_return or monotonic() > give_up:
                    raise
            sleep(_TRY_SECONDS)

    def _ask(
        self,
        link: Link,
        view: str,
        filter: dict[str, Any],
        time: Any,
        params: dict[str, Any],
        after: int,
    ) -> dict[str, Any]:
        number = next(self._ids)
        link.send(
            "watch",
            {
                "id": number,
                "cluster": self.log.cluster_id,
                "view": view,
                "filter": filter,
                "time": time,
                "params": params,
                "maxHz": 0,
                "afterSeq": after,
            },
        )
        give_up = monotonic() + QUERY_SECONDS
        while True:
            message = link.read(give_up)
            if message.type == "state":
                raise ClusterError(message.fields["sentence"])
            if message.fields.get("id") != number:
                continue
            if message.type == "failure":
                raise ClusterError(message.fields["sentence"])
            if message.type == "snapshot":
                return checked_answer(view, dict(message.fields["result"]))

    def _open(self) -> Link:
        if self._link is None or self._link.closed:
            observer = self.find()
            if observer is None:
                raise ClusterError("This cluster has no observer: nothing was recorded.")
            self._link = dial(observer.address_to_ask(), observer.secret, "panel")
        return self._link

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    # -- the public questions ---------------------------------------------

    def spans(self) -> list[SpanInfo]:
        """All spans that have been used, parents before children."""
        after = self.log.flush()
        pages: list[dict[str, Any]] = []
        first: int | None = 0
        while first is not None:
            pages.append(self.query("spans", {}, "all", {"all": True, "after": first}, after))
            following = pages[-1]["next"]
            if following is not None and following <= first:
                # It would be asked for the same again and again.
                raise unreadable("spans", ValueError(f"after {first} comes {following}"))
            first = following
        states = self.log.states_by_span()
        try:
            if states is not None:
                states = self._in_rows(states, pages, after)
            return SpanList(span_infos(pages, self.log.wall_epoch, self, states))
        except (LookupError, TypeError, ValueError) as error:
            raise unreadable("spans", error) from error

    def _in_rows(
        self, states: Mapping[int, Mapping[str, int]], pages: list[dict[str, Any]], after: int
    ) -> dict[int, dict[str, int]]:
        """The states of tasks by the rows in which their spans are counted."""
        rows = {row["span"] for page in pages for row in page["rows"]}
        rowless = [number for number in states if number not in rows]
        counted_in: dict[int, int] = {}
        for first in range(0, len(rowless), _NUMBERS_OF_QUESTION):
            numbers = rowless[first : first + _NUMBERS_OF_QUESTION]
            answer = self.query("spans", {}, "all", {"numbers": numbers}, after)
            counted_in.update((number, row) for number, row in answer["countedIn"])
        found: dict[int, Counter[str]] = {}
        for number, counts in states.items():
            found.setdefault(counted_in.get(number, number), Counter()).update(counts)
        return {number: dict(counts) for number, counts in found.items()}

    def fine_metrics(
        self,
        span: Any = None,
        function: Any = None,
        worker: Any = None,
        start: float | None = None,
        stop: float | None = None,
        unit: str | None = None,
    ) -> FineMetrics:
        """Seconds, bytes and counts by activity; see :meth:`spanwise.Client.fine_metrics`."""
        filter = self._filter(span, function, worker)
        if not (unit is None or isinstance(unit, str)):
            raise TypeError(f"unit is a text, such as 'seconds' or 'bytes', not {unit!r:.80}")
        after = self.log.flush()
        # The entries are of every unit; the rest of the answer is of one.
        result = self.query(
            "fine-metrics",
            filter,
            self._range(*self._moments(start, stop)),
            {"unit": unit or "seconds", "entries": True},
            after,
        )
        try:
            entries: dict[FineKey, float] = {
                (
                    checked_text(context),
                    checked_text(name),
                    label_of(activity),
                    checked_text(entry_unit),
                ): float(value)
                for context, name, activity, entry_unit, value in result["entries"]
                if unit is None or entry_unit == unit
            }
            for note in result.get("notes", ()):
                checked_text(note)
        except (TypeError, ValueError) as error:
            raise unreadable("fine-metrics", error) from error
        if unit is not None and not entries and unit not in _UNITS:
            there = sorted({*_UNITS, *(checked_text(entry[3]) for entry in result["entries"])})
            note = f"There are no figures in {unit!r:.80}; there are {', '.join(there)}."
            result = {**result, "notes": [*result.get("notes", ()), note]}
        if span is not None and not entries and (note := self._no_such_span(span)):
            result = {**result, "notes": [*result.get("notes", ()), note]}
        return FineMetrics(entries, result, unit)

    def _no_such_span(self, span: Any) -> str:
        """A sentence, if a tag or path stands for no span; else nothing."""
        path = [span] if isinstance(span, str) else span
        if not isinstance(path, (list, tuple)) or not path:
            return ""
        there = {str(tag) for info in self.spans() for tag in info.name}
        missing = [str(tag) for tag in path if str(tag) not in there]
        if not missing or any(span_filter(tag).get("any", [{}])[0].get("id") for tag in missing):
            return ""  # (an id is told of by itself)
        near = get_close_matches(missing[0], there, 3, 0.5) or sorted(there)[:5]
        names = ", ".join(repr(each) for each in near)
        return f"There is no span {missing[0]!r:.80}; there are {names or 'none'}."

    def bandwidth(self, start: float | None = None, stop: float | None = None) -> dict[str, Any]:
        """How fast results went from worker to worker; see :meth:`spanwise.Client.bandwidth`."""
        answer = self.query("transfers", time=self._range(*self._moments(start, stop)))
        try:
            return bandwidth_of(answer)
        except (LookupError, TypeError, ValueError) as error:
            raise unreadable("transfers", error) from error

    def system(
        self, start: float | str | None = None, stop: float | str | None = None
    ) -> dict[str, dict[str, list[Any]]]:
        """What the system counted; see :meth:`spanwise.Client.system_monitor`."""
        answer = self.query("system", time=self._range(*self._moments(start, stop)))
        try:
            return system_of(answer, self.log.wall_epoch)
        except (LookupError, TypeError) as error:
            raise unreadable("system", error) from error

    def _filter(self, span: Any, function: Any, worker: Any) -> dict[str, Any]:
        filter: dict[str, Any] = {}
        if span is not None:
            filter["spans"] = span_filter(span)
        if function is not None:
            filter["functions"] = _each(function, str, "function is the name of a function")
        if worker is not None:
            filter["workers"] = _each(worker, Integral, "worker is the number of a worker")
        return filter

    def _range(self, start: float | None, stop: float | None) -> Any:
        if start is None and stop is None:
            return "all"
        epoch = self.log.wall_epoch
        return {
            "from": 0.0 if start is None else max(0.0, start - epoch),
            "to": 1e12 if stop is None else max(0.0, stop - epoch),
        }

    def task_stream(
        self,
        start: float | str | None = None,
        stop: float | str | None = None,
        count: int | None = None,
    ) -> list[dict[str, Any]]:
        """Records of runs; see :meth:`spanwise.Client.get_task_stream`."""
        params: dict[str, Any] = {}
        left: float = inf
        if count is not None:
            try:
                count = index(count)
            except TypeError:
                raise TypeError(f"count is a whole number of records, not {count!r:.80}") from None
            if count < 0:
                raise ValueError(f"count is a whole number of records from 0, not {count!r:.80}")
        if count is not None and (start is None or stop is None):
            left = count
            params = {"limit": left, "newest": start is None}
        return self._records(self._range(*self._moments(start, stop)), params, left)

    def _moments(
        self, start: float | str | None, stop: float | str | None
    ) -> tuple[float | None, float | None]:
        # (only a text needs it)
        now = self.log.wall_now() if isinstance(start, str) or isinstance(stop, str) else 0.0
        return moment(start, now), moment(stop, now)

    def end_of_runs(self) -> tuple[int, int]:
        """The places in the log where the next run that ends, and the next event, will be."""
        answer = self.query("records", params={"limit": 0})
        return int(answer["end"]), int(answer["marksEnd"])

    def task_stream_from(self, places: tuple[int, int]) -> list[dict[str, Any]]:
        """Records of what ended from the places on that :meth:`end_of_runs` gave."""
        run, event = places
        return self._records("all", {"after": [run, 0], "marks": event}, inf)

    def _records(self, range_: Any, params: dict[str, Any], left: float) -> list[dict[str, Any]]:
        after = self.log.flush()
        records = TaskRecords(self.log.wall_epoch, self.keys())
        while left > 0:
            page = self.query("records", {}, range_, params, after)
            before = params.get("after")
            try:
                records.add(page)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise unreadable("records", error) from error
            if page["next"] is None:
                break
            if before is not None and page["next"] <= before:
                # It would be asked for the same again and again.
                raise unreadable("records", ValueError(f"after {before} comes {page['next']}"))
            params |= {"after": page["next"], "end": page["end"]}
            params.pop("newest", None)
            if left < inf:
                # (one that goes on in the next page is counted there)
                is_cut = page["next"][1:] > [0]
                params["limit"] = left - len(records) + is_cut
        return records.in_order_of_start()

    def profile(
        self,
        key: str | None = None,
        start: float | str | None = None,
        stop: float | str | None = None,
        workers: list[str] | None = None,
        span: Any = None,
        by_worker: bool = False,
    ) -> Profile:
        """Where threads were; see :meth:`spanwise.Client.profile`.

        Parameters
        ----------
        workers
            Addresses.
        by_worker
            Below the root there is a node for each worker's address.
        """
        after = self.log.flush()
        asked: dict[str, Any] = {"order": "time", "groupBy": "address" if by_worker else "all"}
        if workers is not None:
            asked["addresses"] = workers
        question = self._filter(span, key, None), self._range(*self._moments(start, stop))
        for _ in range(_MOST_READINGS):
            pages = ProfilePages()
            place: dict[str, int] | None = {"after": 0}
            try:
                while place is not None:
                    page = self.query("profile", *question, {**asked, **place}, after)
                    place = pages.add(page)
            except PageChanged:
                continue
            except (LookupError, TypeError, ValueError) as error:
                raise unreadable("profile", error) from error
            profile = pages.whole()
            if span is not None and profile.missing and (says := self._no_such_span(span)):
                # (a profile has no place for a note)
                raise ValueError(says)
            return profile
        raise ClusterError(
            "The observer drops old samples faster than it tells them: ask for a profile of less "
            "(start=, key=, workers=)."
        )


def _each(given: Any, kind: type, says: str) -> list[Any]:
    """One of a kind, or several, as a list.

    Raises
    ------
    TypeError
    """
    is_list = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    found = [*given] if is_list else [given]
    if not all(isinstance(each, kind) and not isinstance(each, bool) for each in found):
        raise TypeError(f"{says}, or a list of those, not {given!r:.80}")
    return [int(each) for each in found] if kind is Integral else found


#: Of a duration such as "2 min 30 s", as panels write it.
_PIECE = re.compile(r"\s*([\d.]+\s*[a-zµ]+)")


def _as_written(text: str) -> float:
    """Seconds of a text that Dask reads, or that stands in a panel."""
    # (panels write spaces that break no line)
    text = " ".join(text.split())
    pieces = _PIECE.findall(text)
    if "".join(pieces).replace(" ", "") != text.replace(" ", ""):
        return float(parse_timedelta(text))
    read = (re.sub(r"min$", "m", piece).replace("µ", "u") for piece in pieces)
    return sum(float(parse_timedelta(piece)) for piece in read)


def moment(given: float | str | None, now: float) -> float | None:
    """Wall clock of ``given``; a text such as "500 ms" is that long before `now`.

    What `now` is, the clock says by which the records are told: the wall clock may have been set.
    """
    if given is None:
        return None
    says = (
        "start and stop are seconds since the epoch, or a text such as '500 ms' (that long ago), "
        f"not {given!r:.80}"
    )
    if isinstance(given, str):
        try:
            return now - _as_written(given)
        except (TypeError, ValueError, LookupError):
            raise ValueError(says) from None
    of_any_kind: Any = given
    if isinstance(of_any_kind, bool) or not isinstance(of_any_kind, Real):
        raise TypeError(says)
    if isnan(given):
        raise ValueError(says)
    return float(given)
