"""Runs on a Dask scheduler: notes what happens there in a ring, and answers who pulls.

Its text is sent to the scheduler (`ship.py`), which may have another Python and another
`distributed`. So it imports Python's library, `dask` and `distributed` alone, keeps to Python 3.9,
and takes whatever differs between releases by looking whether it is there.

    hooks ──▶ notes ──▶ ring of rows ──▶ pull(cursor) ──▶ columns, and states that changed
       (references)   (texts, numbers)

A hook notes references to what Dask holds anyway. Some notes at a time are written down as rows,
which hold nothing of Dask's; all else is done by a pull. What is asked and answered:
docs/contracts.md §12.
"""

from __future__ import annotations

import asyncio
import json
import math
import platform
import uuid
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain, islice
from time import monotonic
from typing import Any

import distributed
from dask.utils import key_split
from distributed import core as distributed_core
from distributed import spans as distributed_spans
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.metrics import time
from distributed.utils import key_split_group

#: Raised with each change of columns, of fields, or of what they mean.
VERSION = 7
#: The operation that viewers call, and the plugin's name on the scheduler: each version has its
#: own, so that viewers of several versions watch one scheduler.
OPERATION = f"spanwise_pull_{VERSION}"
NAME = f"spanwise-bridge-{VERSION}"

#: The ring holds no more rows, and by estimate no more bytes.
RING_ROWS = 131_072
RING_BYTES = 64 * 2**20
_CHUNK_ROWS = 512
_CHUNK_BYTES = 2**20
#: Bytes of a row, by estimate: without its texts and start/stops; of one start/stop; of a task in a
#: graph; and what a key takes more that is no text, such as those of arrays.
_ROW_BYTES = 400
_PART_BYTES = 200
_SUBMITTED_BYTES = 150
_KEY_BYTES = 150
#: Rows of Dask's own recorder that are copied when the plugin starts.
_HISTORY_ROWS = 50_000
#: Tasks of one graph that are told one by one.
_GRAPH_TASKS = 20_000

LIMIT_ROWS = 20_000
_STATE_ROWS = 50_000
_EXECUTING_ROWS = 5_000
#: Of tasks for which Dask has found no worker, in how many a look finds out what they lack; of what
#: these name, how many are told, and in how many characters.
_UNPLACED_TASKS = 1_000
_NEEDS, _NEED_LENGTH = 3, 300
#: Of so many prefixes and spans it is told how far their tasks are, the others together.
_PROGRESS_ROWS = 2_000
#: What several tasks need is told of so many that need different things.
_DIFFERENT_NEEDS = 3
#: How a worker counts the tasks that it was given.
_COUNTED_STATES = ("executing", "waiting", "constrained")
#: Of workers whose bandwidth is told: of a thousand workers there may be a million.
_PAIRS = 50_000
_TEXT_LENGTH = 4_096
#: Rows between two moments in which the scheduler may do something else.
_AT_ONCE = 500
#: Of what has happened no more is kept unsorted.
_UNSORTED = 64

_SHORTEST_LEASE = 5.0
_LONGEST_LEASE = 120.0
#: For who ships the plugin and never pulls.
_FIRST_LEASE = 30.0
#: Of who waits to be told that the scheduler closes; then it asks again.
_LONGEST_WAIT = 30.0
#: A scheduler that closes waits so long for viewers that fetch what is new.
FAREWELL_SECONDS = 2.0
_VIEWERS = 64
#: A section is looked at no more often, and takes at most this share of the scheduler's time (there
#: are ten of them), but for one that would be looked at less often than the last of these.
_STATE_SECONDS = 0.45
_STATE_SHARE = 0.002
_LONGEST_STATE_SECONDS = 10.0
#: What has not changed for so long rests: a look visits one in so many of those that do.
_REST_SECONDS = 30.0
_RESTING_LOOKS = 16
#: After so long the scheduler may do something else; the clock is read once in so many rows.
_STRETCH_SECONDS = 0.003
_STRETCH_ROWS = 64
#: A larger number is refused by who reads an answer.
_LARGEST = 2**62
#: How much of a text that failed is told.
_ERROR_LENGTH = 2_000
#: And of an action, or of the address of a source.
_NAME_LENGTH = 256
_GONE = 10_000

#: Before the id of a graph's span in the name of its stimulus: spanwise/client/spans_on_dask.py.
_MARK = "-spanwise-"
#: Begins the text of a label that is no text.
_LABEL_MARK = "\u2063"
#: Contexts of fine metrics that say before the activity whose it is: a function, or a part of p2p.
_OF_FUNCTIONS = ("execute", "p2p")
#: And those whose sums each span has of its own.
_OF_SPANS = frozenset(getattr(distributed_spans, "CONTEXTS_WITH_SPAN_ID", _OF_FUNCTIONS))

#: Kinds of rows. A row is a tuple that begins with its kind and its time; one of DONE goes on::
#:
#:     key names worker thread nbytes typename parts text given ran
#:
#: `names` are those of its group, its prefix and its span; None: Dask has forgotten them. `parts`
#: has four values of each of Dask's start/stops: action, start, stop, source. `text` says why it
#: failed, None if it has not; `ran` is 1 if it has computed. A row has texts and numbers alone:
#: once Python's garbage collector has seen that, it does not look through it again.
DONE, ENDED, GRAPH, JOINED, LEFT, CLIENT, RESTART, EVENT = range(8)
PARTS_AT, _RAN_AT = 8, 11
_FINISHED = frozenset(("memory", "erred"))
#: Of what the scheduler does not say of a transition.
_NONE: Any = object()
_TOPICS = frozenset(
    ("all", "scheduler", "transitions", "worker-fail-hard", "worker-restart-memory")
)


def _described(**columns: str) -> dict[str, list[str]]:
    return {kind: said.split() for kind, said in columns.items()}


#: Columns of each kind of rows; texts are told by their numbers.
ROW_COLUMNS = _described(
    done="n t key group prefix span worker thread erred nbytes type given parts text",
    parts="action start stop source",
    ended="n t key group prefix span state why",
    graphs="n t client keys wanted tasks",
    submitted="key group prefix span inferred",
    joined="n t worker threads",
    left="n t worker expected",
    client="n t client joined",
    restart="n t",
    event="n t topic text",
)
_STATES = ("released", "waiting", "processing", "memory", "erred", "forgotten", "queued")
STATE_COLUMNS = _described(
    workers="worker name host pid threads memory_limit joined status nanny version",
    gone="worker",
    clients="client joined seen",
    spans="id parent name enqueued start stop done nbytes groups",
    groups="group prefix span start stop nbytes done state_released state_waiting "
    "state_processing state_memory state_erred state_forgotten state_queued state_no_worker types",
    durations="group action seconds",
    fine="context span function activity unit value",
    memory="worker t at process managed spilled unmanaged_old optimistic cpu fds net_read "
    "net_write disk_read disk_write host_disk_read host_disk_write executing ready tick",
    executing="worker key group span seconds t",
    bandwidth="kind a b value",
    loop="t cpu memory fds net_read net_write disk_read disk_write tick",
    tasks="key group prefix span state worker nbytes type",
    waiting="reason tasks key need needs",
    progress="prefix span done memory running waiting failed dropped",
)
#: What tasks wait for, by the words of WaitReason (docs/contracts.md §11).
_REASONS = (
    *("no-worker", "no-named", "no-resource", "unplaced"),
    *("paused", "resource", "thread", "input"),
)
#: Columns of sections that hold texts.
_TEXTUAL = _described(
    workers="worker name host status nanny version",
    clients="client",
    spans="id parent name",
    groups="group prefix span types",
    fine="context span function activity unit",
    memory="worker",
    bandwidth="kind a b",
    loop="",
    waiting="reason key need needs",
    progress="prefix span",
)


class WrongRequest(Exception):
    """What was asked cannot be answered."""


class Ring:
    """Rows under running numbers; the oldest go.

    Attributes
    ----------
    first, newest : int
        The number of the oldest row, and the number that the next one gets.
    first_runs : int
        How many rows before `first` told of runs (see `is_run`).
    """

    def __init__(self, most_rows: int = RING_ROWS, most_bytes: int = RING_BYTES) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self.first = self.first_runs = self.newest = 0
        #: Each: number of its first row, runs before that, its rows, bytes.
        self._chunks: list[tuple[int, int, list[tuple], int]] = []
        self._open: list[tuple] = []
        self._open_first = self._open_runs = 0
        self._runs = 0
        self._open_bytes = 0
        self._bytes = 0
        #: Numbers and times of chunks that have gone, the newest.
        self._gone: list[tuple[int, float]] = []
        #: Where answers have ended: runs before that.
        self._runs_before: dict[int, int] = {}

    def add(self, row: tuple, size: int) -> None:
        """Append a row: its kind, its time, and what belongs to it."""
        self.add_all([row], size, int(is_run(row)))

    def add_all(self, rows: list[tuple], size: int, runs: int) -> None:
        """Append some rows, fewer than a chunk has: of what size and how many runs in all."""
        self._open += rows
        self._runs += runs
        self.newest += len(rows)
        self._open_bytes += size
        if len(self._open) >= _CHUNK_ROWS or self._open_bytes >= _CHUNK_BYTES:
            self._close()

    def _close(self) -> None:
        self._chunks.append((self._open_first, self._open_runs, self._open, self._open_bytes))
        self._bytes += self._open_bytes
        self._begin_chunk()
        while self._chunks and (
            self.newest - self.first > self._most_rows or self._bytes > self._most_bytes
        ):
            number, _, rows, size = self._chunks.pop(0)
            self._bytes -= size
            self._gone.append((number, rows[0][1]))
            self.first = number + len(rows)
            self.first_runs = self._chunks[0][1] if self._chunks else self._open_runs
        if len(self._gone) > 4_096:
            del self._gone[:2_048]

    def _begin_chunk(self) -> None:
        self._open_first = self.newest
        self._open_runs = self._runs
        self._open = []
        self._open_bytes = 0

    def rows(self, number: int) -> list[tuple]:
        """The rows from a number on that lie together; none: it is not there."""
        if not self.first <= number < self.newest:
            return []
        start, _, rows = self._chunk(number)
        return rows[number - start :]

    def runs(self, number: int) -> int:
        """How many rows before a number told of runs; it is there, or the next."""
        known = self._runs_before.get(number)
        if known is not None:
            return known
        start, runs, rows = self._chunk(number)
        return runs + sum(map(is_run, islice(rows, number - start)))

    def ended_at(self, number: int, runs: int) -> None:
        """An answer has ended before a row, where the next begins: what `runs` are before it."""
        if len(self._runs_before) >= 2 * _VIEWERS:
            self._runs_before.clear()
        self._runs_before[number] = runs

    def _chunk(self, number: int) -> tuple[int, int, list[tuple]]:
        """The chunk of a row that is there: its first number, runs before it, its rows."""
        if number >= self._open_first:
            return self._open_first, self._open_runs, self._open
        low, high = 0, len(self._chunks)
        while high - low > 1:
            middle = (low + high) // 2
            if self._chunks[middle][0] <= number:
                low = middle
            else:
                high = middle
        return self._chunks[low][:3]

    def time_of_lost(self, number: int) -> float:
        """When a row that is no longer there was noted, or somewhat before."""
        found = 0.0
        for first, t in self._gone:
            if first > number and found:
                break
            found = t
        return found

    def clear(self) -> None:
        """Let go of all rows."""
        self._chunks = []
        self._bytes = 0
        self._runs_before = {}
        self._begin_chunk()
        self.first, self.first_runs = self._open_first, self._open_runs


class Texts(dict):
    """Every text of an answer once: the numbers of texts; -1 of None."""

    def __init__(self) -> None:
        super().__init__({None: -1})
        self.texts: list[str] = []

    def __missing__(self, text: Any) -> int:
        if type(text) is not str:
            return self[str.__str__(str(text))]
        number = self[text] = len(self.texts)
        is_plain = len(text) <= _TEXT_LENGTH and text.isascii()
        self.texts.append(text if is_plain else plain(text))
        return number

    def of_all(self, several: Iterable[Any]) -> list[int]:
        """The numbers of many texts, most of which are new."""
        found = []
        known, texts = self.get, self.texts
        for text in several:
            number = known(text)
            if number is None:
                if type(text) is str and text.isascii() and len(text) <= _TEXT_LENGTH:
                    number = self[text] = len(texts)
                    texts.append(text)
                else:
                    number = self[text]
            found.append(number)
        return found

    def __call__(self, text: Any) -> int:
        """The number of a text, or of that of anything else."""
        return self[text if type(text) is str or text is None else str(text)]


class Told:
    """Rows of an answer, as columns.

    Without an object for each row, of which there would be many at once: the scheduler's garbage
    collector looks at all that it has each time when some have come.
    """

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._columns: dict[str, list[list[Any]]] = {
            kind: [[] for _ in names] for kind, names in ROW_COLUMNS.items()
        }
        #: By the names of a group, prefix, span: the numbers of these texts.
        self._names: dict[tuple, tuple[int, int, int]] = {}

    def columns(self) -> dict[str, dict[str, list[Any]]]:
        """Columns of the kinds of which there are rows."""
        return {
            kind: dict(zip(ROW_COLUMNS[kind], columns))
            for kind, columns in self._columns.items()
            if columns[0]
        }

    def _put(self, kind: str, *values: Any) -> None:
        for column, value in zip(self._columns[kind], values):
            column.append(value)

    def _put_all(self, kind: str, *columns: Iterable[Any]) -> None:
        for column, values in zip(self._columns[kind], columns):
            column += values

    def _named(self, key: Any, names: Any) -> tuple[int, int, int]:
        if names is None:
            return named(key, None, self._texts)[1:]
        found = self._names.get(names)
        if found is None:
            texts = self._texts
            group, prefix, span = names
            found = self._names[names] = texts(group), texts(prefix), texts(span)
        return found

    def add_all(self, n: int, rows: list[tuple]) -> int:
        """Rows of the ring, and the number of the first; returns how many of them `is_run`."""
        numbers = []
        done = []
        for number, row in enumerate(rows, n):
            if row[0] == DONE:
                numbers.append(number)
                done.append(row)
            else:
                self.add(number, row)
        return self._add_done(numbers, done) if done else 0

    def _add_done(self, numbers: list[int], rows: list[tuple]) -> int:
        """Those of tasks that have ended, column by column: each is read once."""
        texts = self._texts
        text_of = texts.__getitem__
        columns = zip(*rows)
        _, times, keys, names, workers, threads, sizes, types, parts, why, given, ran = columns
        flat = [*chain.from_iterable(parts)]
        self._put_all(
            "done",
            numbers,
            times,
            texts.of_all(keys),
            *zip(*map(self._named, keys, names)),
            map(text_of, workers),
            threads,
            [int(text is not None) for text in why],
            sizes,
            map(text_of, types),
            given,
            [len(some) // 4 for some in parts],
            map(text_of, why),
        )
        self._put_all(
            "parts", map(text_of, flat[::4]), flat[1::4], flat[2::4], map(text_of, flat[3::4])
        )
        return sum(ran)

    def add(self, n: int, row: tuple) -> None:
        """A row of the ring, and its number."""
        texts, put = self._texts, self._put
        kind, t = row[0], row[1]
        if kind == DONE:
            self._add_done([n], [row])
        elif kind == ENDED:
            _, _, key, names, state, why = row
            put("ended", n, t, texts(key), *self._named(key, names), texts(state), texts(why))
        elif kind == GRAPH:
            _, _, client, keys, wanted, new, alike = row
            put("graphs", n, t, texts(client), keys, wanted, len(new))
            self._put_all("submitted", texts.of_all(new))
            for names, inferred, count in alike:
                values = (*self._named(None, names), inferred)
                for column, value in zip(self._columns["submitted"][1:], values):
                    column += [value] * count
        elif kind == JOINED:
            put("joined", n, t, texts(row[2]), row[3])
        elif kind == LEFT:
            put("left", n, t, texts(row[2]), row[3])
        elif kind == CLIENT:
            put("client", n, t, texts(row[2]), row[3])
        elif kind == RESTART:
            put("restart", n, t)
        else:
            put("event", n, t, texts(row[2]), texts(row[3]))


def plain(text: str) -> str:
    """A text that can be sent: not too long, and no half of a surrogate pair."""
    if len(text) > _TEXT_LENGTH:
        text = text[: _TEXT_LENGTH - 1] + "…"
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text


class Turns:
    """Which of many things a look visits: those that changed of late, and of the others some.

    ::

        changed of late ──30 s without a change──▶ at rest: visited in turn, once in 16 looks
               ▲─────────────── touch ───────────────┘

    Dask keeps each span for ever, and each computation without one makes one: to read them all
    would take the longer, the more has been computed.
    """

    def __init__(self) -> None:
        self._late: dict[Any, float] = {}
        self._resting: dict[Any, None] = {}
        #: Those at rest that this round has not visited yet, and how many a look visits.
        self._round: list[Any] = []
        self._at_once = 1
        #: How many things there were.
        self._known = 0
        #: Those that rest when the look has come to its end, and since when each is late.
        self._tired: list[tuple[Any, float]] = []

    def touch(self, key: Any) -> None:
        """It has changed, or may change soon."""
        self._late[key] = monotonic()
        self._resting.pop(key, None)

    def take_all_next(self) -> None:
        """The next look visits all."""
        self._round = [*self._resting]
        self._at_once = max(1, len(self._round))

    def visits(self, things: dict[Any, Any], forget: Callable[[Any], None]) -> Iterator[Any]:
        """Keys of those that are to be visited, and None after some work without one.

        `forget` is called for those that have gone. What a look visits has had its turn when that
        look has come to its `end`.
        """
        now = monotonic()
        late, resting = self._late, self._resting
        count = len(things)
        is_whole = count < self._known or not self._round
        # (each new one follows the others, if none has gone)
        for place, key in enumerate([*islice(things, 0 if is_whole else self._known, None)]):
            if key not in late and key not in resting:
                late[key] = now
            if place % _STRETCH_ROWS == 0:
                yield None
        if is_whole:
            for place, key in enumerate([*late, *resting]):
                if key not in things:
                    late.pop(key, None)
                    resting.pop(key, None)
                    forget(key)
                if place % _STRETCH_ROWS == 0:
                    yield None
        self._known = count
        if not self._round:
            self._round = [*resting]
            self._at_once = max(1, math.ceil(len(resting) / _RESTING_LOOKS))
        # (after a visit that finds nothing: there may have been no look for long)
        self._tired = [(key, since) for key, since in late.items() if now - since > _REST_SECONDS]
        some = self._round[-self._at_once :]
        # (one may have been touched before Dask made it)
        yield from (key for key in [*late] if key in things)
        # (and since this round began)
        yield from (key for key in some if key in resting and key in things)

    def end(self) -> None:
        """The look has come to its end: what it has visited has had its turn."""
        for key, since in self._tired:
            if self._late.get(key) == since:
                del self._late[key]
                self._resting[key] = None
        self._tired = []
        del self._round[-self._at_once :]


class Section:
    """One kind of state: what is known by key, and in which answer each key changed.

    With `keeps` a look finds what may have changed, and all else stays; without, what it does not
    find has gone.
    """

    def __init__(
        self, take: Callable[[], Iterator[tuple[Any, tuple] | None]], keeps: bool = False
    ) -> None:
        #: None: nothing was found, after some work.
        self._take = take
        self._keeps = keeps
        self.turns = Turns()
        #: Of the last looks how long each took: the least is a look's own, since what else the
        #: machine does, and Python's garbage collector, come amid some of them.
        self._took: deque[float] = deque(maxlen=3)
        #: Whether the look before has not come to its end: what it had found is not known.
        self.was_cut = False
        self._is_looking = False
        self.rows: dict[Any, tuple[int, tuple]] = {}
        self.gone: dict[Any, int] = {}
        self.due = 0.0
        #: The last number that was given by a look, and that of the last change.
        self.looked = self.newest = 0
        #: Held by who looks: others wait.
        self.lock = asyncio.Lock()

    def look(self, number: int) -> int:
        """Take the state anew; what has changed gets the number, of very much the next ones.

        Returns the last number that it has given.
        """
        numbers = iter(range(number, 2**62))
        for _ in self.looking(lambda: next(numbers)):
            pass
        return self.looked

    def looking(self, number: Callable[[], int]) -> Iterator[None]:
        """The same in stretches, between which anything may happen, but no other look.

        What changed together gets a number together, when that is done.
        """
        self.due = math.inf
        try:
            took = yield from self._look_on(number)
            self._took.append(took)
        finally:
            # (another look that was asked for meanwhile stays due)
            if self.due == math.inf:
                pause = max(_STATE_SECONDS, min(self._took, default=0.0) / _STATE_SHARE)
                self.due = monotonic() + min(pause, _LONGEST_STATE_SECONDS)

    def _look_on(self, number: Callable[[], int]) -> Generator[None, None, float]:
        """Returns how long all stretches took.

        (By the clock: the CPU time of a thread is a call of the system, which takes longer than
        most looks on some machines.)
        """
        began = monotonic()
        took = 0.0
        rows, keeps = self.rows, self._keeps
        seen = set()
        changed = []
        self.was_cut, self._is_looking = self._is_looking, True
        # (all of it, or nothing if it fails)
        for place, found in enumerate(self._take(), 1):
            if place % _STRETCH_ROWS == 0 and monotonic() - began >= _STRETCH_SECONDS:
                took += monotonic() - began
                yield
                began = monotonic()
            if found is None:
                continue
            key, values = found
            if not keeps:
                seen.add(key)
            known = rows.get(key)
            if known is None or known[1] != values:
                changed.append(found)
        self.looked = number()
        for place, (key, values) in enumerate(changed):
            if place and place % _STATE_ROWS == 0:
                took += monotonic() - began
                yield
                began = monotonic()
                self.looked = number()
            self.newest = self.looked
            rows[key] = (self.looked, values)
            self.gone.pop(key, None)
        if not keeps and len(seen) < len(rows):
            for key in [key for key in rows if key not in seen]:
                del rows[key]
                self.gone[key] = self.looked
            while len(self.gone) > _GONE:
                del self.gone[next(iter(self.gone))]
        self.turns.end()
        self._is_looking = False
        return took + monotonic() - began

    def until(self, since: int, newest: int) -> int:
        """The last number up to which the changes after `since` fit into one answer."""
        if len(self.rows) <= _STATE_ROWS or self.newest <= since:
            return newest
        counts = Counter(number for number, _ in self.rows.values() if number > since)
        told = 0
        until = newest
        for number in sorted(counts):
            told += counts[number]
            if told > _STATE_ROWS:
                return until
            until = number
        return newest

    def changed(self, since: int, until: int) -> Iterator[tuple]:
        """Rows that have changed after that answer, up to another one."""
        if self.newest > since:
            for number, values in self.rows.values():
                if since < number <= until:
                    yield values


class Bridge(SchedulerPlugin):  # type: ignore[misc]
    """The plugin: one for all viewers of a scheduler."""

    name = NAME

    def start(self, scheduler: Any) -> None:
        """Begin: copy what is there, and offer the operation."""
        self.scheduler = scheduler
        self.id = uuid.uuid4().hex[:16]
        self.attached = time()
        self._ring = Ring()
        self._given: dict[Any, float] = {}
        #: Tasks that Dask lets go although they are not done, and in which state they were. They
        #: leave it in the same turn: forgotten, or to be tried again.
        self._undone: dict[Any, str] = {}
        #: What has happened and is in neither of them yet (`_sort`).
        self._unsorted: list[tuple] = []
        self._joined: dict[str, float] = {}
        #: The span that Dask kept when the newest graph came. The same object at the next one:
        #: that one has said none (`_written_in`).
        self._last_said: Any = None
        #: When each viewer's ends.
        self._leases: dict[str, float] = {}
        #: When the scheduler began to close; 0.0: it does not.
        self.closing = 0.0
        #: Viewers that ask to be told so, and the calls that wait for it.
        self._listeners: set[str] = set()
        self._waiting: dict[str, Any] = {}
        #: When it closes: those that have not left yet, and what comes when all have.
        self._behind: set[str] = set()
        self._none_behind: Any = None
        self._begin_states()
        #: Emptied when it leaves: Dask keeps each handler in a cache.
        cell: list[Any] = [self]

        async def spanwise_pull(**request: Any) -> Any:
            bridge = cell[0]
            return None if bridge is None else await bridge.answer(request)

        self._cell = cell
        self._handler = spanwise_pull
        scheduler.handlers[OPERATION] = spanwise_pull
        self.transition = self._noting()
        self._copy_history()
        self.live = self.ring.newest
        self._live_runs = self.ring.runs(self.live)
        self._loop_now = asyncio.get_running_loop()
        self._timer: Any = None
        self._unpulled_ends = monotonic() + _FIRST_LEASE
        self._watch_leases()

    def _begin_states(self) -> None:
        """Know nothing yet of workers, spans, groups, sums and the rest."""
        self._state = 0
        self._sections = {
            "workers": Section(self._workers),
            "clients": Section(self._clients),
            "spans": Section(self._spans, keeps=True),
            "groups": Section(self._groups, keeps=True),
            # (before the sums: a worker that was heard of by then has told those)
            "memory": Section(self._memory),
            "fine": Section(self._fine, keeps=True),
            "bandwidth": Section(self._bandwidth),
            "loop": Section(self._loop),
            "waiting": Section(self._waits),
            "progress": Section(self._progress),
        }
        #: By id: groups of which the last look at progress has told, and of those that Dask has
        #: forgotten how many tasks were done, had failed, and were neither.
        self._counted_groups: dict[int, Any] = {}
        self._past: dict[tuple[Any, Any], list[int]] = {}
        #: By id: a group, and how many of its tasks Dask has forgotten that had failed, and that
        #: were neither done nor had failed.
        self._given_up: dict[int, tuple[Any, list[int]]] = {}
        #: By id: a group, when Dask was seen to know it, whether its last figures are told.
        self._known_groups: dict[int, tuple[Any, float, bool]] = {}
        #: Spans whose sums the look found that goes on, or that was cut.
        self._fine_found: set[Any] = set()
        #: Span → its sums as they were looked at last, and their rows.
        self._fine_seen: dict[Any, tuple[dict[Any, Any], list[tuple[Any, tuple]]]] = {}
        #: Span → how many of its sums cannot be told, if there are any.
        self._fine_untold: dict[Any, int] = {}

    # -- hooks: called for everything that happens ---------------------------

    @property
    def ring(self) -> Ring:
        """All that has happened until now."""
        if self._unsorted:
            self._sort()
        return self._ring

    def _noting(self) -> Callable[..., None]:
        """The hook for tasks that change their state: ``transition`` of a plugin.

        The scheduler does other things before and after, so that here each step takes several
        times as long as in a loop, and each object that is touched had left the processor's cache:
        what can be done later is, and nothing of the plugin is touched that need not be.
        """
        unsorted = self._unsorted
        append, sort, note_ended = unsorted.append, self._sort, self._note_ended
        undone, note_left = self._undone, self._note_left
        known = self.scheduler.tasks.get
        now, none, flat = time, _NONE, parts_of

        def transition(
            key: Any,
            start: str,
            finish: str,
            stimulus_id: Any = None,
            startstops: Any = none,
            worker: Any = none,
            thread: Any = None,
            nbytes: Any = None,
            typename: Any = None,
            **kwargs: Any,
        ) -> None:
            if start == "processing":
                if startstops is none or worker is none or finish not in _FINISHED:
                    note_ended(key, start, finish)
                    return
                task = known(key)
                group = None if task is None else task.group
                # (an exception is not kept, nor Dask's start/stops, which are read while the
                # processor has them)
                text = failure_text(kwargs) if finish == "erred" else None
                parts = flat(startstops)
                append((DONE, now(), key, group, worker, thread, nbytes, typename, parts, text))
            elif finish == "processing":
                append((key, now()))
            elif finish == "erred":
                note_ended(key, start, finish)
                return
            else:
                if finish == "released":
                    if start != "memory":
                        undone[key] = start
                elif undone and start == "released":
                    note_left(key, finish)
                return
            if len(unsorted) >= _UNSORTED:
                sort()

        return transition

    def _sort(self) -> None:
        """Write down what has happened, in its order."""
        unsorted = [*self._unsorted]
        # (the hook holds the list itself)
        self._unsorted.clear()
        given = self._given
        given_at = given.pop
        group = names = None
        done: list[tuple] = []
        spans: set[Any] = set()
        size = runs = 0
        for row in unsorted:
            if len(row) == 2:
                key, t = row
                given[key] = t
                continue
            _, t, key, of_group, worker, thread, nbytes, typename, parts, text = row
            if of_group is not group:
                group, names = of_group, names_of(of_group)
                if names is not None:
                    spans.add(names[2])
            what = worker, thread, nbytes, typename
            told = done_row(t, key, names, what, parts, text, given_at(key, 0.0))
            done.append(told)
            runs += told[_RAN_AT]
            size += _ROW_BYTES + _PART_BYTES * len(parts) // 4
            size += len(key) if type(key) is str else _KEY_BYTES
            if type(typename) is str:
                size += len(typename)
            if text is not None:
                size += len(text)
            if size >= _CHUNK_BYTES:
                # (large rows together would be a chunk that leaves the ring with all that it has)
                self._ring.add_all(done, size, runs)
                done, size, runs = [], 0, 0
        self._ring.add_all(done, size, runs)
        self._touch(spans)

    def _touch(self, spans: Iterable[Any]) -> None:
        """Something has become of tasks of these spans: their figures and sums will change."""
        sections = [self._sections[name] for name in ("spans", "fine") if name in self._sections]
        for span in spans:
            if span is not None:
                for section in sections:
                    section.turns.touch(span)

    def _note_ended(self, key: Any, start: str, finish: str) -> None:
        ring = self.ring
        if start == "processing":
            self._given.pop(key, None)
        if finish == "released":
            self._undone[key] = start
        else:
            self._undone.pop(key, None)
        task = self.scheduler.tasks.get(key)
        names = names_of(None if task is None else task.group)
        self._touch(() if names is None else (names[2],))
        why = finish
        if finish == "erred":
            blamed = getattr(getattr(task, "exception_blame", None), "key", None)
            why = "lost" if start == "processing" else str(blamed)[:_ERROR_LENGTH]
        ring.add((ENDED, time(), key, names, finish, why), _ROW_BYTES + len(why))

    def _note_left(self, key: Any, finish: str) -> None:
        """A task that was let go is tried again, or forgotten: its group counts it as one done."""
        start = self._undone.pop(key, None)
        task = self.scheduler.tasks.get(key)
        group = None if task is None else task.group
        if start is None or finish != "forgotten" or group is None:
            return
        known = self._given_up.get(id(group))
        if known is None:
            if len(self._given_up) >= _GONE:
                return
            known = self._given_up[id(group)] = group, [0, 0]
        known[1][0 if start == "erred" else 1] += 1

    def update_graph(self, scheduler: Any, *args: Any, **kwargs: Any) -> None:
        """A client has submitted tasks."""
        tasks = kwargs.get("tasks") or ()
        known = scheduler.tasks
        new: list[Any] = []
        #: Names, whether they are inferred, and of how many of these in turn.
        alike: list[tuple[Any, int, int]] = []
        written = self._written_in(scheduler)
        told = self._told_span(kwargs.get("stimulus_id"))
        group, inferred, before = None, 0, 0
        is_fused = keeps_layers = False
        for key in islice(tasks, _GRAPH_TASKS):
            task = known.get(key)
            if task is not None and task.state == "released":
                if task.group is not group:
                    if len(new) > before:
                        alike.append((names_of(group), inferred, len(new) - before))
                        before = len(new)
                    group = task.group
                    if told is None:
                        is_fused = is_fused or fused(task)
                        is_own = group.span_id != written and not self._is_default(group.span_id)
                        inferred = int(self._had_span(group, written, is_own))
                        keeps_layers = keeps_layers or (is_own and not inferred)
                    else:
                        inferred = int(not self._is_span(group.span_id, told))
                new.append(key)
        if len(new) > before:
            alike.append((names_of(group), inferred, len(new) - before))
        self._touch({names[2] for names, _, _ in alike})
        if is_fused and not keeps_layers:
            # (Dask has forgotten in which spans its layers were written, or they were in none)
            alike = [(names, 1, count) for names, _, count in alike]
        wanted = len(kwargs.get("keys") or ())
        row = (GRAPH, time(), kwargs.get("client"), len(tasks), wanted, (*new,), (*alike,))
        self.ring.add(row, _ROW_BYTES + _SUBMITTED_BYTES * len(new) + 300 * len(alike))

    def _told_span(self, stimulus: Any) -> Any:
        """The id of the span that all of a graph was written in, as spanwise.Client says it.

        "": in none; None: it does not say.
        """
        _, mark, span = str(stimulus or "").rpartition(_MARK)
        return span if mark else None

    def _is_span(self, span_id: Any, told: str) -> bool:
        return span_id == told if told else self._is_default(span_id)

    def _written_in(self, scheduler: Any) -> Any:
        """The id of the span around the call by which a graph has come; None: none is known."""
        computations = getattr(scheduler, "computations", None)
        annotations = computations[-1].annotations if computations else {}
        said: Any = annotations.get("span")
        before, self._last_said = self._last_said, said
        if said is before and not str(scheduler.address).startswith("inproc"):
            return None  # (Dask keeps what an earlier graph said)
        try:
            return said["ids"][-1]
        except (IndexError, KeyError, TypeError):
            return None

    def _had_span(self, group: Any, written: Any, is_own: bool) -> bool:
        """Whether Dask gave new tasks the span of their group's first task, not known as theirs."""
        states = group.states
        is_new = sum(states.values()) == states.get("released", 0)
        return not is_new and group.span_id != written and (is_own or written is not None)

    def _is_default(self, span_id: Any) -> bool:
        extension = self._span_extension()
        span = None if extension is None else extension.spans.get(span_id)
        return span is None or span.name == ("default",)

    def add_worker(self, scheduler: Any, worker: str, *args: Any, **kwargs: Any) -> None:
        """A worker has come."""
        now = self._joined[worker] = time()
        self._sections["workers"].due = 0.0
        described = scheduler.workers.get(worker)
        threads = whole(getattr(described, "nthreads", None))
        self.ring.add((JOINED, now, worker, threads), _ROW_BYTES)

    def remove_worker(self, scheduler: Any, worker: str, *args: Any, **kwargs: Any) -> None:
        """A worker has gone."""
        self._joined.pop(worker, None)
        # (how it left is told by this row alone, and must come with the state that lacks it)
        self._sections["workers"].due = 0.0
        expected = kwargs.get("expected")
        self.ring.add(
            (LEFT, time(), worker, -1 if expected is None else int(bool(expected))), _ROW_BYTES
        )

    def add_client(self, scheduler: Any, client: str, *args: Any, **kwargs: Any) -> None:
        """A client has come."""
        self.ring.add((CLIENT, time(), client, 1), _ROW_BYTES)

    def remove_client(self, scheduler: Any, client: str, *args: Any, **kwargs: Any) -> None:
        """A client has gone."""
        self.ring.add((CLIENT, time(), client, 0), _ROW_BYTES)

    def restart(self, scheduler: Any) -> None:
        """All tasks were dropped."""
        ring = self.ring
        self._given.clear()
        self._undone.clear()
        ring.add((RESTART, time()), _ROW_BYTES)

    def log_event(self, topic: str, msg: Any) -> None:
        """Something was published."""
        if topic not in _TOPICS and not (
            topic in self.scheduler.workers
            and isinstance(msg, dict)
            and msg.get("action") == "worker-status-change"
        ):
            return
        text = _event_text(msg)
        self.ring.add((EVENT, time(), topic, text), _ROW_BYTES + len(text))

    async def before_close(self) -> None:
        """The scheduler ends: viewers that wait for it are told, and may fetch what is new."""
        self.closing = time()
        if self._timer is not None:
            self._timer.cancel()
        # (one that does not wait just now asks again at once)
        self._behind = self._listeners & {*self._leases}
        if self._behind:
            self._none_behind = self._loop_now.create_future()
            self._wake_all()
            await asyncio.wait([self._none_behind], timeout=FAREWELL_SECONDS)

    # -- coming and going -----------------------------------------------------

    def _copy_history(self) -> None:
        """Copy what Dask's own recorder holds, if somebody has switched it on."""
        recorder = self.scheduler.plugins.get("task-stream")
        buffer = getattr(recorder, "buffer", None)
        if buffer is None:
            return
        for record in islice(buffer, max(0, len(buffer) - _HISTORY_ROWS), None):
            try:
                key, parts, told = record["key"], record["startstops"], record.get
                stopped = max(float(part["stop"]) for part in parts)
                text = failure_text(record) if told("status") == "error" else None
                task = self.scheduler.tasks.get(key)
                group = None if task is None else task.group
                what = map(told, ("worker", "thread", "nbytes", "typename"))
                self._unsorted.append((DONE, stopped, key, group, *what, parts_of(parts), text))
                if len(self._unsorted) >= _UNSORTED:
                    self._sort()
            except (KeyError, OverflowError, TypeError, ValueError):
                continue

    def _watch_leases(self) -> None:
        now = monotonic()
        ends = [*self._leases.values()] or [self._unpulled_ends]
        self._due = max(now + 0.1, min(ends))
        self._timer = self._loop_now.call_later(self._due - now, self._end_leases)

    def _end_leases(self) -> None:
        now = monotonic()
        late = now - self._due
        if late > 1.0:
            # The scheduler itself stood still, and those who pull are waiting for it.
            late += _SHORTEST_LEASE
            self._leases = {each: end + late for each, end in self._leases.items()}
            self._unpulled_ends += late
        self._leases = {each: end for each, end in self._leases.items() if end > now}
        self._listeners &= {*self._leases}
        if self._leases or (self._unpulled_ends > now):
            self._watch_leases()
        else:
            self.leave()

    def leave(self) -> None:
        """Be gone as if never there; twice is safe."""
        if self._cell[0] is None:
            return
        self._cell[0] = None
        del self.transition
        if self._timer is not None:
            self._timer.cancel()
        self._wake_all()
        scheduler = self.scheduler
        if scheduler.handlers.get(OPERATION) is self._handler:
            del scheduler.handlers[OPERATION]
        if scheduler.plugins.get(NAME) is self:
            scheduler.remove_plugin(name=NAME)
        self.ring.clear()
        self._sections = {}
        self._known_groups = {}
        self._fine_seen = {}
        self._fine_untold = {}
        self._counted_groups = {}
        self._given_up = {}
        self._given = {}
        forget = getattr(getattr(distributed_core, "_expects_comm", None), "cache_clear", None)
        if forget is not None:
            forget()

    # -- a pull ---------------------------------------------------------------

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Rows from a cursor on, and states that have changed."""
        try:
            return await self._answer(request)
        except WrongRequest as error:
            return {"version": VERSION, "error": plain(str(error))}
        except Exception as error:  # noqa: BLE001 (told to who asked: the scheduler goes on)
            said = plain(f"{type(error).__name__}: {error}")
            return {"version": VERSION, "error": said}

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        viewer = request.get("viewer")
        if not isinstance(viewer, str) or not 0 < len(viewer) <= 64:
            raise WrongRequest("viewer is a text of 1 to 64 characters")
        lease = _number(request, "lease", 0.0, math.inf)
        cursor = int(_number(request, "cursor", -1, 2**62))
        state = int(_number(request, "state", -1, 2**62))
        limit = min(LIMIT_ROWS, int(_number(request, "limit", 1, 2**62)))
        want = request.get("want")
        if not isinstance(want, (list, tuple)) or not all(isinstance(w, str) for w in want):
            raise WrongRequest("want is a list of sections")
        same = request.get("plugin") == self.id
        if not same:
            cursor = state = -1
        texts = Texts()
        if request.get("wait") is not None:
            return await self._wait(viewer, lease, _number(request, "wait", 0.0, math.inf))
        said = self._said(viewer, lease)
        if lease == 0.0:
            return said
        # (before the rows: of what ends meanwhile a row is in this answer, or it runs still)
        running = await self._executing(texts) if "executing" in want else None
        ring = self.ring
        lost, lost_from, lost_to = 0, 0.0, 0.0
        is_first = cursor < 0
        if is_first:
            # (what happened since the plugin came is missing for who comes later)
            cursor = min(self.live, ring.first)
        if cursor < ring.first:
            lost = ring.first - cursor
            lost_from = self.attached if is_first else ring.time_of_lost(cursor) or self.attached
            cursor = ring.first
            oldest = ring.rows(cursor)
            lost_to = oldest[0][1] if oldest else time()
        cursor = min(cursor, ring.newest)
        first, first_runs = ring.first, ring.first_runs
        # (counted on from here: the ring may lose the rows of this answer meanwhile)
        runs = ring.runs(cursor)
        rows, cursor, ran = await self._rows(cursor, limit, texts)
        ring.ended_at(cursor, runs + ran)
        said.update(
            cursor=cursor,
            runs=runs + ran,
            first=first,
            first_runs=first_runs,
            newest=ring.newest,
            live=self.live,
            live_runs=self._live_runs,
            lost=lost,
            lost_from=lost_from,
            lost_to=lost_to,
            rows=rows,
        )
        spans = self._spans_of(rows, texts)
        fresh = request.get("fresh") is True
        said.update(await self._states(state, set(want), fresh, spans, texts, running))
        said["texts"] = texts.texts
        said["now"] = time()
        return said

    async def _wait(self, viewer: str, lease: float, seconds: float) -> dict[str, Any]:
        """Answer when the scheduler closes, or when it has not for so long."""
        said = self._said(viewer, lease)
        self._listeners.add(viewer)
        self._wake(viewer)  # (one call of a viewer waits at a time)
        if not self.closing and self._cell[0] is not None:
            told = self._waiting[viewer] = self._loop_now.create_future()
            try:
                await asyncio.wait([told], timeout=min(seconds, _LONGEST_WAIT))
            finally:
                if self._waiting.get(viewer) is told:
                    del self._waiting[viewer]
        return {**said, "now": time(), "closing": self.closing}

    def _wake(self, viewer: str) -> None:
        told = self._waiting.pop(viewer, None)
        if told is not None and not told.done():
            told.set_result(None)

    def _wake_all(self) -> None:
        for viewer in [*self._waiting]:
            self._wake(viewer)

    def _has_left(self, viewer: str) -> None:
        """It waits for nothing more, and the scheduler not for it."""
        self._wake(viewer)
        self._listeners.discard(viewer)
        self._behind.discard(viewer)
        waits = self._none_behind
        if waits is not None and not self._behind and not waits.done():
            waits.set_result(None)

    def _said(self, viewer: str, lease: float) -> dict[str, Any]:
        """Renew or end a lease; what every answer says."""
        if lease == 0.0:
            self._leases.pop(viewer, None)
            self._has_left(viewer)
            self._unpulled_ends = -math.inf
            if not self._leases:
                self.leave()
        else:
            if viewer not in self._leases and len(self._leases) >= _VIEWERS:
                raise WrongRequest(f"{_VIEWERS} viewers watch this scheduler already")
            lease = min(_LONGEST_LEASE, max(_SHORTEST_LEASE, lease))
            ends = monotonic() + lease
            self._leases[viewer] = ends
            self._unpulled_ends = -math.inf
            if ends < self._due and not self.closing:
                self._timer.cancel()
                self._watch_leases()
        scheduler = self.scheduler
        started = getattr(scheduler, "time_started", None)
        return {
            "version": VERSION,
            "plugin": self.id,
            "scheduler": plain(str(scheduler.id)),
            "address": plain(str(scheduler.address)),
            "python": platform.python_version(),
            "distributed": plain(str(distributed.__version__)),
            "now": time(),
            "attached": self.attached,
            "started": float(started) if started is not None else self.attached,
            "viewers": len(self._leases),
            "closing": self.closing,
        }

    async def _rows(self, cursor: int, limit: int, texts: Texts) -> tuple[dict[str, Any], int, int]:
        """Rows from a cursor on, the next cursor, and how many of them tell of runs."""
        out = Told(texts)
        newest = self.ring.newest
        told = paused = runs = 0
        while cursor < newest and told < limit:
            some = self.ring.rows(cursor)[: newest - cursor]
            if not some:
                break  # (it has left the ring meanwhile: the next pull tells so)
            fitting = 0
            some = some[:_AT_ONCE]
            for row in some:
                size = row_size(row)
                if told and told + size > limit:
                    break
                told += size
                fitting += 1
            runs += out.add_all(cursor, some[:fitting])
            cursor += fitting
            if fitting < len(some):
                break
            if told - paused >= _AT_ONCE:
                paused = told
                await asyncio.sleep(0)
        return out.columns(), cursor, runs

    # -- states ---------------------------------------------------------------

    def _spans_of(self, rows: dict[str, Any], texts: Texts) -> set[str]:
        """The spans of the tasks of an answer."""
        numbers: set[int] = set()
        for kind in ("done", "ended", "submitted"):
            numbers.update(rows.get(kind, {}).get("span", ()))
        return {texts.texts[number] for number in numbers if number >= 0}

    def _lacks(self, spans: set[str]) -> bool:
        """Whether the state of spans was taken before one of these was there."""
        extension, known = self._span_extension(), self._sections["spans"].rows
        return extension is not None and any(
            each not in known and each in extension.spans for each in spans
        )

    def _later_spans(self, spans: set, until: int) -> list[tuple]:
        """Rows of spans, and of those around them, that are told later but for their tasks or sums.

        What a viewer reads of a span that it does not know, it counts to none.
        """
        rows = self._sections["spans"].rows
        found: dict[str, tuple] = {}
        for each in spans:
            number, values = rows.get(each, (0, ()))
            while number and each not in found:
                if number > until:
                    found[each] = values
                each = values[1]
                number, values = rows.get(each, (0, ()))
        return list(found.values())

    def _next_state(self) -> int:
        """A number that no answer has said yet."""
        self._state += 1
        return self._state

    async def _states(
        self, since: int, want: set, fresh: bool, spans: set[str], texts: Texts, running: Any
    ) -> dict[str, Any]:
        now = monotonic()
        cannot: dict[str, str] = {}
        sections = self._sections
        began = now
        for name in [name for name in sections if name in want]:
            section = sections[name]
            async with section.lock:
                # (who reads a task of a span must know that)
                lacks = name == "spans" and self._lacks(spans)
                if not (fresh or lacks or now >= section.due):
                    continue
                if fresh:
                    section.turns.take_all_next()
                try:
                    for _ in section.looking(self._next_state):
                        await asyncio.sleep(0)
                except Exception as error:  # noqa: BLE001 (told to who asked)
                    cannot[name] = plain(f"{type(error).__name__}: {error}")
            if monotonic() - began >= _STRETCH_SECONDS:
                await asyncio.sleep(0)
                began = monotonic()
        wanted = [name for name in sections if name in want and name not in cannot]
        # (what does not fit is told by the next answers)
        newest = self._state
        until = min([newest, *(sections[name].until(since, newest) for name in wanted)])
        states: dict[str, Any] = {}
        more: dict[str, int] = {}
        if "fine" in wanted and not self._has_metrics():
            cannot["fine"] = "this release of distributed keeps no fine performance metrics"
        if "spans" in wanted and self._span_extension() is None:
            cannot["spans"] = "this scheduler has no spans"
        found = {name: list(sections[name].changed(since, until)) for name in wanted}
        if "spans" in found and until < newest:
            of_sums = {span for _, span, *_ in found.get("fine", ())}
            found["spans"] += self._later_spans(spans | of_sums, until)
        for name in ("waiting", "progress"):
            if name in found:
                # (always whole: who wants it again has not followed it)
                found[name] = list(sections[name].changed(-1, self._state))
        for name, changed in found.items():
            if changed:
                self._put(states, name, changed, texts)
        workers = sections.get("workers")
        if workers is not None and "workers" in want and since >= 0:
            gone = [
                (texts(key),) for key, number in workers.gone.items() if since < number <= until
            ]
            if gone:
                states["gone"] = _column_lists("gone", gone)
        if running is not None:
            states["executing"], left = running
            if left > 0:
                more["executing"] = left
        if "tasks" in want and since < 0:
            states["tasks"] = await self._tasks(texts)
            left = len(self.scheduler.tasks) - _STATE_ROWS
            if left > 0:
                more["tasks"] = left
        pairs = len(self.scheduler.bandwidth_workers) if "bandwidth" in want else 0
        if pairs > _PAIRS:
            more["bandwidth"] = pairs - _PAIRS
        out = {"state": until, "state_newest": newest, "states": states, "cannot": cannot}
        if "fine" in wanted:
            more["fine"] = sum(self._fine_untold.values())
        more = {name: count for name, count in more.items() if count > 0}
        if more:
            out["states_more"] = more
        return out

    def _put(self, states: dict[str, Any], name: str, found: list[tuple], texts: Texts) -> None:
        """Rows of a section whose texts are texts still."""
        if name == "groups":
            durations = [
                (texts(row[0]), texts(action), seconds)
                for row in found
                for action, seconds in row[-1]
            ]
            if durations:
                states["durations"] = _column_lists("durations", durations)
            found = [row[:-1] for row in found]
        columns = STATE_COLUMNS[name]
        textual = [place for place, each in enumerate(columns) if each in _TEXTUAL[name]]
        lists: list[list[Any]] = [list(column) for column in zip(*found)]
        for place in textual:
            lists[place] = [texts(each) for each in lists[place]]
        states[name] = dict(zip(columns, lists))

    def _workers(self) -> Iterator[tuple[Any, tuple]]:
        # (one that leaves meanwhile is told as it was)
        for address, worker, joined in [
            (address, worker, self._joined.get(address, 0.0))
            for address, worker in self.scheduler.workers.items()
        ]:
            packages = getattr(worker, "versions", None) or {}
            if isinstance(packages, dict):
                packages = packages.get("packages", packages)
            version = packages.get("distributed") if isinstance(packages, dict) else None
            status = getattr(worker, "status", None)
            yield (
                address,
                (
                    address,
                    str(worker.name),
                    str(getattr(worker, "host", "")),
                    whole(getattr(worker, "pid", -1)),
                    whole(worker.nthreads),
                    whole(worker.memory_limit or 0),
                    joined,
                    str(getattr(status, "name", status)),
                    getattr(worker, "nanny", None),
                    version if isinstance(version, str) else None,
                ),
            )

    def _clients(self) -> Iterator[tuple[Any, tuple]]:
        for name, client in list(self.scheduler.clients.items()):
            if name != "fire-and-forget":
                # (when it was last seen changes all the time, and is told with other changes)
                yield name, (name, 1, float(getattr(client, "last_seen", 0.0) // 10 * 10))

    def _span_extension(self) -> Any:
        found = self.scheduler.extensions.get("spans")
        return found if isinstance(getattr(found, "spans", None), dict) else None

    def _spans(self) -> Iterator[tuple[Any, tuple] | None]:
        extension = self._span_extension()
        if extension is None:
            return
        section = self._sections["spans"]
        rows, turns = section.rows, section.turns
        for number, span in self._and_around(turns.visits(extension.spans, self._forget_span)):
            if span is None:
                yield None
                continue
            start, stop, nbytes, done = self._span_figures(span)
            parent = span.parent
            values = (
                number,
                None if parent is None else parent.id,
                str(span.name[-1]),
                float(span.enqueued),
                start,
                stop,
                int(done),
                nbytes,
                len(span.groups),
            )
            known = rows.get(number)
            if not done or known is None or known[1] != values:
                turns.touch(number)
            yield number, values

    def _forget_span(self, number: Any) -> None:
        self._sections["spans"].rows.pop(number, None)

    def _and_around(self, numbers: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
        """Spans and those around them, whose figures hold theirs: outer ones first.

        None for a span: some work was done.
        """
        spans = self._span_extension().spans
        found: set[Any] = set()
        for number in numbers:
            around = []
            span = spans.get(number)
            while span is not None and number not in found:
                found.add(number)
                around.append((number, span))
                span = span.parent
                number = None if span is None else span.id
            yield from reversed(around)
            yield None, None

    def _span_figures(self, span: Any) -> tuple[float, float, int, bool]:
        """Start, stop (0.0: it goes on), bytes, whether all is done: as the span itself says.

        A span keeps all of its groups, and looks through them for each figure.
        """
        known = self.scheduler.task_groups.get
        start = stop = 0.0
        nbytes, done = 0, True
        for group in span.traverse_groups():
            begun, ended = group.start, group.stop
            if begun and not 0.0 < start <= begun:
                start = begun
            if ended > stop:
                stop = ended
            nbytes += group.nbytes_total
            # (one that Dask has forgotten is done for good)
            done = done and (known(group.name) is not group or bool(group.done))
        enqueued = float(span.enqueued)
        return (
            max(float(start), enqueued) if start else 0.0,
            max(float(stop), enqueued) if done else 0.0,
            whole(nbytes),
            done,
        )

    def _groups(self) -> Iterator[tuple[Any, tuple]]:
        now = monotonic()
        known = self._known_groups
        section = self._sections["groups"]
        for group in self.scheduler.task_groups.values():
            known[id(group)] = (group, now, False)
        # One that Dask has forgotten stays until each viewer must have its last figures.
        for number in [each for each, of in known.items() if of[1] < now - _LONGEST_LEASE]:
            del known[number]
            section.rows.pop(number, None)
        for number, (group, seen, is_told) in list(known.items()):
            if is_told and not section.was_cut:
                continue
            # (what it has when Dask has forgotten it stays so)
            known[number] = (group, seen, seen < now)
            states = group.states
            durations = dict(group.all_durations)
            types = sorted(map(str, islice(getattr(group, "types", ()), 20)))
            yield (
                number,
                (
                    group.name,
                    group.prefix.name,
                    group.span_id,
                    float(group.start),
                    float(group.stop),
                    whole(group.nbytes_total),
                    int(bool(group.done)),
                    *(whole(states.get(state, 0)) for state in (*_STATES, "no-worker")),
                    json.dumps(types),
                    tuple((str(action), float(s)) for action, s in durations.items()),
                ),
            )

    def _has_metrics(self) -> bool:
        return isinstance(getattr(self.scheduler, "cumulative_worker_metrics", None), dict)

    def _fine(self) -> Iterator[tuple[Any, tuple] | None]:
        extension = self._span_extension()
        section = self._sections["fine"]
        if not section.was_cut:
            self._fine_found.clear()
        # (before the spans: what one of them adds meanwhile must not be there once more)
        metrics = getattr(self.scheduler, "cumulative_worker_metrics", None)
        total = dict(metrics) if isinstance(metrics, dict) else {}
        if extension is not None:
            spans = self._sections["spans"]
            for number in section.turns.visits(extension.spans, self._forget_fine):
                metrics = _sums_of(extension.spans.get(number))
                if metrics:
                    if number in spans.rows:
                        yield from self._fine_changes(number, metrics)
                    else:
                        # (whose sums they are must be known first)
                        spans.due = 0.0
                        section.turns.touch(number)
                yield None
        # What spans have is there once more, without them.
        of_spans = () if extension is None else _OF_SPANS
        rest = {
            key: value
            for key, value in total.items()
            if not (isinstance(key, tuple) and key and key[0] in of_spans)
        }
        yield from self._fine_changes(None, rest)

    def _fine_changes(self, span: Any, metrics: dict[Any, Any]) -> list[tuple[Any, tuple]]:
        """The sums of a span, if one has changed since a look found them and came to its end."""
        section = self._sections["fine"]
        before = self._fine_seen.get(span)
        rows = self._fine_of(span, metrics)
        if before is not None and rows is before[1]:
            return rows if span in self._fine_found else []
        self._fine_found.add(span)
        if span is not None:
            section.turns.touch(span)
        if before is not None:
            for key in {key for key, _ in before[1]}.difference(key for key, _ in rows):
                section.rows.pop(key, None)
        return rows

    def _forget_fine(self, span: Any) -> None:
        self._fine_untold.pop(span, None)
        for key, _ in self._fine_seen.pop(span, ({}, []))[1]:
            self._sections["fine"].rows.pop(key, None)

    def _fine_of(self, span: Any, metrics: dict[Any, Any]) -> list[tuple[Any, tuple]]:
        known = self._fine_seen.get(span)
        # (a sum of them would miss what is small beside the others, or goes from one to another)
        if known is not None and known[0] == metrics:
            return known[1]
        rows = []
        untold = 0
        for key, value in metrics.items():
            if not isinstance(key, tuple) or len(key) < 3:
                continue  # (a figure of the worker's own loop, such as its latency)
            if not can_be_told(value):
                # (users measure whatever they like: a loss that is not finite, FLOPs)
                untold += 1
                continue
            context, unit = str(key[0]), str(key[-1])
            middle = key[1:-1]
            function = None
            if context in _OF_FUNCTIONS and len(middle) > 1:
                function, middle = str(middle[0]), middle[1:]
            activity = label_text(middle[0] if len(middle) == 1 else middle)
            values = (context, span, function, activity, unit, float(value))
            rows.append(((span, key), values))
        self._fine_seen[span] = (dict(metrics), rows)
        self._fine_untold.pop(span, None)
        if untold:
            self._fine_untold[span] = untold
        return rows

    def _memory(self) -> Iterator[tuple[Any, tuple]]:
        # Dask counts results at once, and the process with the worker's heartbeat: so figures are
        # of the time at which they were seen here first.
        now = time()
        known = self._sections["memory"].rows
        for address, worker in list(self.scheduler.workers.items()):
            metrics = worker.metrics
            if not metrics:
                continue
            memory = worker.memory
            net = metrics.get("host_net_io") or {}
            disk = metrics.get("host_disk_io") or {}
            counts = metrics.get("task_counts") or metrics
            heard = (address, float(worker.last_seen))
            figures = (
                amount(getattr(memory, "process", None)),
                amount(getattr(memory, "managed", None)),
                amount(getattr(memory, "spilled", None)),
                amount(getattr(memory, "unmanaged_old", None)),
                amount(getattr(memory, "optimistic", None)),
                amount(metrics.get("cpu")),
                amount(metrics.get("num_fds")),
                amount(net.get("read_bps")),
                amount(net.get("write_bps")),
                -1.0,
                -1.0,
                amount(disk.get("read_bps")),
                amount(disk.get("write_bps")),
                amount(counts.get("executing", 0)),
                amount(counts.get("ready", 0)),
                amount(metrics.get("event_loop_interval")),
            )
            before: tuple = known[address][1] if address in known else ()
            is_same = before[:2] == heard and before[3:] == figures
            yield address, (*heard, before[2] if is_same else now, *figures)

    def _bandwidth(self) -> Iterator[tuple[Any, tuple]]:
        scheduler = self.scheduler
        yield "total", ("total", None, None, amount(scheduler.bandwidth))
        for name, value in dict(scheduler.bandwidth_types).items():
            yield ("type", name), ("type", str(name), None, amount(value))
        for (to, source), value in list(islice(scheduler.bandwidth_workers.items(), _PAIRS)):
            yield ("pair", to, source), ("pair", str(to), str(source), amount(value))

    def _loop(self) -> Iterator[tuple[Any, tuple]]:
        monitor = getattr(self.scheduler, "monitor", None)
        recent = monitor.recent() if monitor is not None else {}
        yield (
            0,
            (
                amount(recent.get("time")),
                amount(recent.get("cpu")),
                amount(recent.get("memory")),
                amount(recent.get("num_fds")),
                amount(recent.get("host_net_io.read_bps")),
                amount(recent.get("host_net_io.write_bps")),
                amount(recent.get("host_disk_io.read_bps")),
                amount(recent.get("host_disk_io.write_bps")),
                amount(getattr(self.scheduler, "_tick_interval_observed", None)),
            ),
        )

    def _waits(self) -> Iterator[tuple[Any, tuple] | None]:
        """How many tasks wait, by reason; of those without a worker, one and what it needs.

        Of groups, workers, and some tasks without a worker: not of all tasks.
        """
        scheduler = self.scheduler
        counts = dict.fromkeys(_REASONS, 0)
        examples: dict[str, tuple[Any, str]] = {}
        needs: dict[str, dict[str, None]] = {}
        for each in counted(scheduler):
            counts["input"] += each.states.get("waiting", 0)
            yield None
        for worker in list(scheduler.workers.values()):
            for reason, count in waits_at(worker).items():
                counts[reason] += count
            yield None
        # (Dask queues those of large groups, also where there is no worker at all)
        anywhere = why_on(scheduler.workers.values())
        counts[anywhere] += len(scheduler.queued)
        lacks = Lacks(scheduler)
        unplaced = list(islice(scheduler.unrunnable, _UNPLACED_TASKS))
        more = len(scheduler.unrunnable) - len(unplaced)
        for task in unplaced:
            reason, need = lacks.of(task)
            counts[reason] += 1
            examples.setdefault(reason, (task.key, need))
            needs.setdefault(reason, {})[need] = None
            yield None
        counts["unplaced"] += more
        for reason, count in counts.items():
            key, need = examples.get(reason, (None, ""))
            yield reason, (reason, count, text_or_none(key), need, _some_of(needs.get(reason, ())))

    def _progress(self) -> Iterator[tuple[Any, tuple] | None]:
        """How far tasks are, by prefix and span: what Dask's groups have counted themselves.

        Dask forgets a group with its last task. What it had is counted on, from the first look.
        """
        counts: dict[tuple[Any, Any], list[int]] = {}
        counted, before = {}, self._counted_groups
        groups, given_up = self.scheduler.task_groups, self._given_up
        for group in list(groups.values()):
            counted[id(group)] = group
            of = counts.setdefault((group.prefix.name, group.span_id), [0] * 6)
            for i, count in enumerate(far(group.states, *self._given_up_of(group))):
                of[i] += count
            yield None
        for number in before.keys() - counted.keys():
            group = before[number]
            pair = (group.prefix.name, group.span_id)
            if pair not in self._past and len(self._past) >= _PROGRESS_ROWS:
                pair = (None, None)
            done, _, _, waiting, failed, dropped = far(group.states, *self._given_up_of(group))
            past = self._past.setdefault(pair, [0] * 3)
            # (of one that Dask dropped at a restart tasks wait still)
            for i, count in enumerate((done, failed, dropped + waiting)):
                past[i] += count
        self._counted_groups = counted
        for number, (group, _) in [*given_up.items()]:
            if groups.get(group.name) is not group:
                del given_up[number]
        for pair, past in self._past.items():
            of = counts.setdefault(pair, [0] * 6)
            for i, count in zip((0, 4, 5), past):
                of[i] += count
        for worker in list(self.scheduler.workers.values()):
            # (as it said with its last heartbeat: some may have ended)
            for task in list(worker.executing):
                group = task.group
                if task.state != "processing" or group is None:
                    continue
                of = counts.get((group.prefix.name, group.span_id), [0] * 6)
                of[2] += 1
                of[3] = max(0, of[3] - 1)
            yield None
        # Those of which some are still to come first.
        pairs = sorted(counts, key=lambda pair: -sum(counts[pair][2:4]))
        rest = [0] * 6
        for pair in pairs[_PROGRESS_ROWS:]:
            rest = [sum(each) for each in zip(rest, counts[pair])]
        for pair in pairs[:_PROGRESS_ROWS]:
            yield pair, (*map(text_or_none, pair), *counts[pair])
        if any(rest):
            yield (None, ""), (None, None, *rest)

    def _given_up_of(self, group: Any) -> list[int]:
        known = self._given_up.get(id(group))
        return [0, 0] if known is None else known[1]

    async def _executing(self, texts: Texts) -> tuple[dict[str, Any], int]:
        """What runs, of some thousands, and how many more tasks do."""
        rows: list[tuple] = []
        left = paused = 0
        # (one that leaves meanwhile is told as it was)
        for address, worker in list(self.scheduler.workers.items()):
            if paused + _AT_ONCE <= len(rows) < _EXECUTING_ROWS:
                paused = len(rows)
                await asyncio.sleep(0)
            # (the seconds are those until the worker was seen: both as they are now)
            executing, seen = worker.executing.items(), float(worker.last_seen)
            # (since then some have ended)
            running = [each for each in executing if each[0].processing_on is worker]
            told = running[: _EXECUTING_ROWS - len(rows)]
            left += len(running) - len(told)
            on = texts(address)
            for task, seconds in told:
                key, name, _, span = named(task.key, task.group, texts)
                rows.append((on, key, name, span, amount(seconds), seen))
        return _column_lists("executing", rows), left

    async def _tasks(self, texts: Texts) -> dict[str, Any]:
        rows = []
        tasks = list(islice(self.scheduler.tasks.values(), _STATE_ROWS))
        for number, task in enumerate(tasks):
            if number % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            on = task.processing_on or next(iter(task.who_has or ()), None)
            nbytes = task.nbytes
            rows.append(
                (
                    *named(task.key, task.group, texts),
                    texts(task.state),
                    texts(None if on is None else on.address),
                    nbytes if type(nbytes) is int else -1,
                    texts(getattr(task, "type", None)),
                )
            )
        return _column_lists("tasks", rows)


def counted(scheduler: Any) -> list[Any]:
    """What counts tasks by state: prefixes, or the groups where prefixes would add those up."""
    prefixes = scheduler.task_prefixes.values()
    adds_up = any(isinstance(getattr(type(each), "states", None), property) for each in prefixes)
    return list(scheduler.task_groups.values() if adds_up else prefixes)


def far(states: Any, failed: int, dropped: int) -> tuple[int, int, int, int, int, int]:
    """Of the tasks of a group: done, kept, running (not known), waiting, failed, and dropped.

    Parameters
    ----------
    failed, dropped
        Of those that Dask has forgotten, how many had failed, and were neither done nor failed.
    """
    memory = states.get("memory", 0)
    gone = states.get("released", 0) + states.get("forgotten", 0)
    return (
        memory + max(0, gone - failed - dropped),
        memory,
        0,
        sum(states.get(each, 0) for each in ("waiting", "queued", "no-worker", "processing")),
        states.get("erred", 0) + failed,
        dropped,
    )


def is_paused(worker: Any) -> bool:
    """Whether a worker begins no task, for want of memory."""
    return getattr(worker.status, "name", "") == "paused"


def waits_at(worker: Any) -> dict[str, int]:
    """How many tasks wait that Dask has given to a worker, by reason.

    What they wait for there the worker has told with its last heartbeat.
    """
    counts = worker.metrics.get("task_counts") or {}
    told = {state: max(0, whole(counts.get(state, 0))) for state in _COUNTED_STATES}
    # (those that have seceded go on beside the threads)
    there = max(0, len(worker.processing) - len(worker.long_running))
    if is_paused(worker):
        return {"paused": max(0, there - told["executing"])}
    # Inputs come while others run; who waits for a resource has none of the threads.
    inputs = min(there, told["waiting"])
    resource = min(there - inputs, told["constrained"])
    thread = max(0, there - inputs - resource - max(0, whole(worker.nthreads)))
    return {"input": inputs, "resource": resource, "thread": thread}


def why_on(workers: Iterable[Any]) -> str:
    """For what a task waits that may run on these workers."""
    of = list(workers)
    if any(getattr(worker.status, "name", "") == "running" for worker in of):
        return "thread"
    return "paused" if any(map(is_paused, of)) else "no-worker"


class Lacks:
    """What tasks lack for which Dask has found no worker; those that need the same are alike."""

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self._known: dict[Any, tuple[str, str]] = {}

    def of(self, task: Any) -> tuple[str, str]:
        """The reason, and the workers or resources that it names, cut."""
        need = (
            frozenset(task.worker_restrictions or ()),
            frozenset(task.host_restrictions or ()),
            frozenset((task.resource_restrictions or {}).items()),
        )
        found = self._known.get(need)
        if found is None:
            found = self._known[need] = self._look(*need)
        return found

    def _look(self, named: Any, hosts: Any, resources: Any) -> tuple[str, str]:
        scheduler = self._scheduler
        able = set(scheduler.workers)
        for name, amount_needed in resources:
            supplies = scheduler.resources.get(name) or {}
            able &= {each for each, supplied in supplies.items() if supplied >= amount_needed}
        if resources and not able:
            return "no-resource", _listed(f"{name}={value:g}" for name, value in resources)
        if named or hosts:
            may = set(named)
            for host in hosts:
                known = scheduler.host_info.get(scheduler.coerce_hostname(host)) or {}
                may |= known.get("addresses", set())
            able &= may
            if not able:
                return "no-named", _listed([*map(str, named), *map(str, hosts)])
        reason = why_on(scheduler.workers[each] for each in able)
        # (one that may run it is there: Dask looks again when a worker comes)
        return ("unplaced" if reason == "thread" else reason), ""


def _listed(names: Iterable[str]) -> str:
    several = sorted(names)
    more = ["…"] if len(several) > _NEEDS else []
    return ", ".join([*several[:_NEEDS], *more])[:_NEED_LENGTH]


def _some_of(needs: Iterable[str]) -> str:
    """What several tasks need, each in its own words: the first of them."""
    some = [*islice(needs, _DIFFERENT_NEEDS + 1)]
    more = ["…"] if len(some) > _DIFFERENT_NEEDS else []
    return "; ".join([*some[:_DIFFERENT_NEEDS], *more])[:_NEED_LENGTH]


def _number(request: dict[str, Any], name: str, least: float, most: float) -> float:
    value = request.get(name)
    if type(value) not in (int, float) or not least <= value <= most:  # type: ignore[operator]
        raise WrongRequest(f"{name} is a number from {least} on")
    return value  # type: ignore[return-value]


def whole(value: Any) -> int:
    """A whole number; -1: it is none."""
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else -1


def amount(value: Any) -> float:
    """A number; -1.0: it is none."""
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    return -1.0


def can_be_told(value: Any) -> bool:
    """Whether a sum can be told: it is a number, finite, and not too large for who reads it."""
    try:
        return -_LARGEST <= value <= _LARGEST
    except (TypeError, ValueError):
        return False


def _sums_of(span: Any) -> dict[Any, float]:
    metrics = getattr(span, "_cumulative_worker_metrics", None)
    return metrics if isinstance(metrics, dict) else {}


def fused(task: Any) -> bool:
    """Whether it is several tasks in one, which may have been written in several spans."""
    function = getattr(getattr(task, "run_spec", None), "func", None)
    return getattr(function, "__name__", "") == "_execute_subgraph"


def label_text(label: Any) -> str:
    """The text that stands for what users call a figure; as spanwise/wire/labels.py has it."""
    if type(label) is str and not label.startswith(_LABEL_MARK):
        return label
    return _LABEL_MARK + repr(label)


def done_row(
    t: float,
    key: Any,
    names: Any,
    what: tuple[Any, Any, Any, Any],
    parts: tuple,
    text: str | None,
    given: float,
) -> tuple:
    """A row of DONE of what the scheduler says, which may be anything.

    `what`: worker, thread, bytes, type. `parts`: of `parts_of`.
    """
    worker, thread, nbytes, typename = what
    return (
        DONE,
        t,
        key,
        names,
        worker if type(worker) is str else text_or_none(worker),
        thread if type(thread) is int and -_LARGEST < thread < _LARGEST else -1,
        nbytes if type(nbytes) is int and -_LARGEST < nbytes < _LARGEST else -1,
        typename if type(typename) is str else text_or_none(typename),
        parts,
        text,
        given,
        1 if "compute" in parts and "compute" in parts[::4] else 0,
    )


def parts_of(startstops: Any) -> tuple:
    """Of each start/stop that is as it must be: action, start, stop, source."""
    found: tuple = ()
    some: list[tuple] = []
    for part in startstops if isinstance(startstops, (list, tuple)) else ():
        try:
            action, start, stop = part["action"], part["start"], part["stop"]
            source = part.get("source")
            if type(action) is not str:
                action = str(action)
            if type(start) is not float or type(stop) is not float:
                start, stop = float(start), float(stop)
            if source is not None:
                source = str(source)[:_NAME_LENGTH]
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
            continue
        # (what is no number, or too large, has the whole column refused)
        if not (-_LARGEST < start < _LARGEST and -_LARGEST < stop < _LARGEST):
            continue
        if len(action) > _NAME_LENGTH:
            action = action[:_NAME_LENGTH]
        if not found:
            found = (action, start, stop, source)
        else:
            some.append((action, start, stop, source))
    # (most have one)
    return (*found, *chain.from_iterable(some)) if some else found


def text_or_none(value: Any) -> str | None:
    """The text of anything but None."""
    return None if value is None else str.__str__(str(value))


def is_run(row: tuple) -> bool:
    """Whether a row tells of a run: of a task that has computed."""
    return row[0] == DONE and row[_RAN_AT] == 1


def names_of(group: Any) -> tuple | None:
    """Names of a group, its prefix and its span."""
    return None if group is None else (group.name, group.prefix.name, group.span_id)


def row_size(row: tuple) -> int:
    """How many rows of an answer it is told in, which has a limit."""
    if row[0] == DONE:
        return 1 + len(row[PARTS_AT]) // 4
    return 1 + len(row[5]) if row[0] == GRAPH else 1


def named(key: Any, group: Any, texts: Texts) -> tuple[int, int, int, int]:
    """Numbers of the texts of a task: key, group, prefix, span."""
    if group is None:
        # (Dask has forgotten it: its names are those of the key)
        return (texts(key), texts(key_split_group(key)), texts(key_split(key)), -1)
    return (texts(key), texts(group.name), texts(group.prefix.name), texts(group.span_id))


def _column_lists(name: str, rows: list[tuple]) -> dict[str, list[Any]]:
    columns = STATE_COLUMNS[name]
    if not rows:
        return {column: [] for column in columns}
    return dict(zip(columns, map(list, zip(*rows))))


def failure_text(kwargs: dict[str, Any]) -> str:
    """What a task raised and where, cut."""
    said = str(kwargs.get("exception_text") or "")[:_ERROR_LENGTH]
    where = str(kwargs.get("traceback_text") or "")[-_ERROR_LENGTH:]
    return f"{said}\n{where}" if where else said


def _event_text(message: Any) -> str:
    """A message as JSON, of lists only the beginning."""
    return plain(json.dumps(_shortened(message, 0)))


def _shortened(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value[:500]
    if depth < 3 and isinstance(value, dict):
        return {
            str(key)[:100]: _shortened(each, depth + 1) for key, each in islice(value.items(), 20)
        }
    if depth < 3 and isinstance(value, (list, tuple, set, frozenset)):
        short = [_shortened(each, depth + 1) for each in islice(value, 20)]
        return [*short, f"… {len(value)} in all"] if len(value) > 20 else short
    return str(type(value).__name__) if isinstance(value, bytes) else str(value)[:500]
