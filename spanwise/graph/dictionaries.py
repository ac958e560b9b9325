"""What the client has told the scheduler already: names, spans, shared templates."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice, repeat
from time import perf_counter
from typing import Any

from spanwise.bounded_map import BoundedMap
from spanwise.graph.provenance import Annotation
from spanwise.graph.span_record import SpanRecord
from spanwise.graph.spans import ForeignSpan, record_of
from spanwise.records.bounded_texts import BoundedTexts
from spanwise.records.enumerations import SPAN_WORDS

#: Numbers of spans from here on are the scheduler's to give (`FIRST_GIVEN` there).
LAST_SPAN = 2**31
#: So many spans that have closed, or of which nobody says so, are known, those that were met last:
#: 20 MB. One that is met again later has a new number, and is told of as another one of its id.
_CLOSED_KEPT = 32_768
#: So many spans, one around the other, are as new as the innermost that is met again.
_RENEWED_AROUND = 100
#: The types of what was submitted are known of so many spans, the newest: the first so many of
#: each, as stretches of equal ones.
_TYPED_SPANS = 4_096
_TYPES_KEPT = 10_000
_STRETCHES_KEPT = 256
#: What stands for the type of a graph that no collection has made.
RAW_GRAPH = "low-level-graph"
#: As many callers' code is known to have been told.
_CODE_KEPT = 256


#: The numbers of so many clients do not meet, as long as each has no more spans than that.
_APART = 2_048
_SPANS_APART = 2**20


class Names(BoundedTexts):
    """The client's texts, and which of them the scheduler has been sent."""

    __slots__ = ("_sent", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._sent = 0
        texts = self._texts
        super().__init__(lambda _, text: texts.append(text))

    def take_new(self) -> dict[str, Any]:
        """Header fields announcing the texts that the scheduler does not know yet."""
        first, self._sent = self._sent, len(self._texts)
        return {"firstName": first, "names": self._texts[first:]}

    @property
    def announced(self) -> int:
        """How many texts the scheduler has been sent."""
        return self._sent

    def text(self, number: int) -> str:
        """The text of a number."""
        return self._texts[number]

    def announce_again(self, first: int) -> None:
        """Send these and all later ones with the next message; twice does no harm."""
        self._sent = min(first, self._sent)


def _no_offset(_: float) -> float:
    return 0.0


class Spans:
    """Numbers the spans of one client.

    Parameters
    ----------
    closed
        Called with the header row of a span that closes after it was announced.
    offset_at
        What is added to a reading of perf_counter to get the clock of the rows' reader.
    client
        The client's number. Clients of one cluster begin to count in different places: the
        scheduler gives numbers that are taken others in their stead, but it cannot do so in
        pickled templates, whose parts have spans of their own.
    """

    __slots__ = (
        "__weakref__",
        "_again",
        "_by_id",
        "_closed",
        "_code",
        "_count",
        "_finished",
        "_first",
        "_first_new",
        "_met",
        "_new",
        "_offset_at",
        "_parents",
        "_recounted",
        "_reused",
        "_taken_again",
        "_types",
        "records",
    )

    def __init__(
        self,
        closed: Callable[[dict[str, Any]], None],
        offset_at: Callable[[float], float] = _no_offset,
        client: int = 0,
    ) -> None:
        self._offset_at = offset_at
        self._first = client % _APART * _SPANS_APART
        self._by_id: dict[str, int] = {}
        self._new: list[dict[str, Any]] = []
        #: The place of the first of these.
        self._first_new = 0
        #: Rows about numbers that have been announced.
        self._again: list[dict[str, Any]] = []
        #: Those that were taken since the last mark; None: nobody marks.
        self._taken_again: list[dict[str, Any]] | None = None
        self._parents: dict[int, int] = {}
        #: How many numbers have been given.
        self._count = 0
        #: Numbers of those of which nothing more is expected, in the order in which they were met.
        self._finished: OrderedDict[int, None] = OrderedDict()
        #: The last that was met: nothing is in another order when it is met once more.
        self._met = 0
        self._reused: dict[int, int] = {}
        #: Numbers whose count has not been told: once each, for a program may ask for the same
        #: result again and again, and nothing is sent then.
        self._recounted: dict[int, None] = {}
        #: What has been told: the newest.
        self._code: BoundedMap[tuple[int, str], bool] = BoundedMap(_CODE_KEPT)
        #: Span's id → types in order, and how many of each.
        self._types: BoundedMap[str, list[tuple[str, int]]] = BoundedMap(_TYPED_SPANS)
        self._closed = closed
        #: number → record; 0 is the default span.
        self.records: dict[int, SpanRecord] = {}

    def id(self, annotation: Annotation | None) -> int:
        """The number of the span an annotation means; 0 for none."""
        if annotation is None:
            return 0
        found = self._by_id.get(annotation["ids"][-1])
        if found is not None:
            if found != self._met and found in self._finished:
                self._renew(found)
            return found
        return self._number(record_of(annotation))

    def _number(self, record: SpanRecord) -> int:
        found = self._by_id.get(record.id)
        if found is not None:
            self._renew(found)
            return found
        parent = self._root_of(record) if record.parent is None else self._number(record.parent)
        self._count += 1
        number = self._number_at(self._count)
        while number in self.records:
            self._count += 1
            number = self._number_at(self._count)
        if not self._new:
            self._first_new = self._count
        self._by_id[record.id] = number
        self._parents[number] = parent
        self.records[number] = record
        self._new.append(self._new_row(number, record))
        if record.closed is None and not isinstance(record, ForeignSpan):
            record.watch(self._on_closed)
        else:
            self._finished[number] = None
        self._met = number
        while len(self._finished) > _CLOSED_KEPT:
            self._forget(self._finished.popitem(last=False)[0])
        return number

    def _renew(self, number: int) -> None:
        """A span was met again: it is forgotten later, and so are those around it."""
        finished = self._finished
        self._met = number
        try:
            for _ in range(_RENEWED_AROUND):
                if number not in finished:
                    return
                finished.move_to_end(number)
                number = self._parents[number]
        except KeyError:
            return  # another thread has forgotten it just now

    def _forget(self, number: int) -> None:
        """Keep nothing of a span; what is new of it is told first.

        One that nobody closes is told as closed, or its readers would keep it for ever.
        """
        record = self.records[number]
        if record.closed is None:
            closed = self._at(perf_counter())
            self._again.append({**self._row(number, record), "closed": closed})
            self._recounted.pop(number, None)
        elif number in self._recounted:
            del self._recounted[number]
            self._again.append(self._row(number, record))
        del self.records[number], self._by_id[record.id], self._parents[number]
        self._reused.pop(number, None)

    def count_reused(self, annotation: Annotation | None, count: int) -> None:
        """So many results were asked for in a span, and there already."""
        number = self.id(annotation) if count else 0
        if number == 0:
            return
        self._reused[number] = self._reused.get(number, 0) + count
        self._recounted[number] = None

    def _number_at(self, place: int) -> int:
        """The number of the first, second … span: from the client's own beginning on."""
        return (self._first + place - 1) % (LAST_SPAN - 1) + 1

    def _root_of(self, record: SpanRecord) -> int:
        """The number that stands for the parent of a span without one."""
        return 0 if record.root is None else self._number(record.root)

    def tell_code(self, annotation: Annotation | None, code: str) -> None:
        """These callers have submitted in a span."""
        number = self.id(annotation)
        if number == 0 or self._code.get((number, code)):
            return
        self._code.keep((number, code), True)
        record = self.records[number]
        self._again.append({**self._row(number, record), "code": code})

    def tell_types(self, numbers: Iterable[int], types: Sequence[str]) -> None:
        """Something of these types was submitted, whose tasks are of these spans.

        It stays here: nothing is sent. Of the default span nothing is kept.
        """
        for number in numbers:
            record = self.records.get(number)
            if record is None:
                continue
            found = self._types.get(record.id)
            if found is None:
                found = self._types.keep(record.id, [])
            for name in types:
                if found and found[-1][0] == name:
                    found[-1] = name, found[-1][1] + 1
                elif len(found) < _STRETCHES_KEPT:
                    found.append((name, 1))

    def types_of(self, id: str) -> list[str]:
        """The types of what was submitted in the span of this id, in order."""
        stretches = list(self._types.get(id) or ())
        every = chain.from_iterable(repeat(name, count) for name, count in stretches)
        return list(islice(every, _TYPES_KEPT))

    def _new_row(self, number: int, record: SpanRecord) -> dict[str, Any]:
        """The row that says the span's id as well, and its code, which are said once."""
        row = {**self._row(number, record), "uuid": str(record.id)}
        return {**row, "code": record.code} if record.code else row

    def _row(self, number: int, record: SpanRecord) -> dict[str, Any]:
        row = {
            "id": number,
            "parent": self._parents[number],
            "tag": record.tag,
            "opened": self._at(record.opened),
            "closed": None if record.closed is None else self._at(record.closed),
            "origin": SPAN_WORDS[record.origin],
        }
        reused = self._reused.get(number)
        return row if reused is None else {**row, "reused": reused}

    def _at(self, t: float) -> float:
        return t + self._offset_at(t)

    def _on_closed(self, record: SpanRecord) -> None:
        number = self._by_id[record.id]
        row = self._row(number, record)
        # (in any thread, so nothing is forgotten here)
        self._finished[number] = None
        self._met = number
        self._closed(row)

    @property
    def first_unannounced(self) -> int:
        """The place of the first span that has not gone out and was not about to."""
        return self._first_new if self._new else self._count + 1

    def mark(self) -> int:
        """What is taken from now on may have to be announced again, from this place on."""
        self._taken_again = []
        return self.first_unannounced

    def take_new(self) -> list[Mapping[str, Any]]:
        """Rows of the spans that the scheduler does not know yet."""
        new, self._new = self._new, []
        again, self._again = self._again, []
        recounted, self._recounted = self._recounted, {}
        for number in recounted:
            record = self.records[number]
            again.append(self._row(number, record))
        if self._taken_again is not None:
            self._taken_again += again
        return [*new, *again]

    def announce_again(self, first: int) -> None:
        """Send the spans from this place on with the next message; twice does no harm.

        So are the rows about others that were taken since the mark.
        """
        if self._taken_again:
            self._again = [*self._taken_again, *self._again]
            self._taken_again = []
        waiting = {row["id"] for row in self._new}
        self._first_new = min(first, self._first_new) if waiting else first
        for number in map(self._number_at, range(first, self._count + 1)):
            record = self.records.get(number)
            if record is not None and number not in waiting:
                self._new.append(self._new_row(number, record))


class _SpanOfTask(SpanRecord):
    """A span of the log, within which a task runs."""

    __slots__ = ("same",)

    def __init__(self, same: int) -> None:
        super().__init__("", None, f"span {same} of the log")
        self.same = same
        self.closed = self.opened


class SpansOfTasks(Spans):
    """Numbers the spans of tasks: what they submit outside of a span of their own is of theirs.

    Parameters
    ----------
    around
        The log's number of the span of the task that runs in this thread; 0: none.
    """

    __slots__ = ("_around",)

    def __init__(
        self,
        around: Callable[[], int],
        closed: Callable[[dict[str, Any]], None],
        offset_at: Callable[[float], float] = _no_offset,
        client: int = 0,
    ) -> None:
        super().__init__(closed, offset_at, client)
        self._around = around

    def id(self, annotation: Annotation | None) -> int:
        return self._root() if annotation is None else super().id(annotation)

    def _root(self) -> int:
        same = self._around()
        if same == 0:
            return 0
        found = self._by_id.get(f"span {same} of the log")
        return self._number(_SpanOfTask(same)) if found is None else found

    def _root_of(self, record: SpanRecord) -> int:
        return 0 if isinstance(record, _SpanOfTask) else self._root()

    def _new_row(self, number: int, record: SpanRecord) -> dict[str, Any]:
        if isinstance(record, _SpanOfTask):
            return self._row(number, record)
        return super()._new_row(number, record)

    def _row(self, number: int, record: SpanRecord) -> dict[str, Any]:
        row = super()._row(number, record)
        if isinstance(record, _SpanOfTask):
            row["same"] = record.same
        return row
