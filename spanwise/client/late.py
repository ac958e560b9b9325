"""Why tasks are not done, for the error of who has waited for them in vain.

The scheduler is asked when the time is over, and once while a long wait goes on: what users were
told may have come where nobody saw it, as in a notebook of which no cell ran, or before this client
came. The question is sent by the thread that lets go of what was dropped, and the answer is awaited
for a moment only: a scheduler that is stopped, or to which nothing can be sent, holds nothing up.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.client.entries import PENDING, Entry
from spanwise.errors import ClusterError
from spanwise.notices import tell

if TYPE_CHECKING:
    from spanwise.client.needs import Questioned, Sleeper

#: The scheduler looks at some thousand tasks in a millisecond.
ANSWER_SECONDS = 0.5
#: An answer counts for so long: who waits for the same tasks over and over asks no more often.
_ANSWER_LASTS_SECONDS = 1.0
#: From then on it is said how old it is, for it tells of tenths of seconds.
_OLD_SECONDS = 0.05
#: Who waits for a shorter time looks over and over whether something is done, and asks nothing.
LEAST_SECONDS = 0.25
#: A wait that has lasted so long is told what still keeps its tasks from being done.
REMIND_SECONDS = 3.0
#: While the answer to such a wait is under way: how often it is looked for.
_LOOK_SECONDS = 0.02
#: Of more tasks these are asked for.
_MOST_ASKED = 16_384
#: How many of the scheduler's sentences are kept, for how long one counts for tasks that it does
#: not name, and how many tasks are looked for in it.
_MOST_SAID = 8
_RECENT_SECONDS = 600.0
_MOST_COMPARED = 1000


def not_done(late: int, seconds: float, of: int | None = None) -> str:
    """How many tasks were not done: the beginning of the error of who has waited.

    Parameters
    ----------
    of
        So many were waited for; None: all these. Of a single one it is not said.
    """
    if of == 1:
        late = 1
    count = f"{late:,}" if of is None or of == 1 else f"{late:,} of {of:,}"
    tasks = "task" if (late if of is None else of) == 1 else "tasks"
    return f"{count} {tasks} {'was' if late == 1 else 'were'} not done after {seconds:g} s"


class Question(NamedTuple):
    """What is to be asked of the scheduler, by the thread that sends."""

    request: int
    ids: array[int]


class _Answer(NamedTuple):
    """What the scheduler has answered."""

    #: Monotonic seconds.
    at: float
    #: The ids of the tasks of which it was asked.
    ids: bytes
    why: str
    #: What users were told that is still so.
    standing: str

    def told(self) -> str:
        """Why, and how long ago it was so."""
        old = time.monotonic() - self.at
        if not self.why or old < _OLD_SECONDS:
            return self.why
        return f"{self.why} (So it was {old:.1f} s ago.)"


class _InLoop:
    """Takes an answer to the event loop that waits for it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] = self._loop.create_future()

    def put(self, answer: Any) -> None:
        with contextlib.suppress(RuntimeError):  # (a loop that has ended needs no answer)
            self._loop.call_soon_threadsafe(self._set, answer)

    def _set(self, answer: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


class _Asked:
    """A question about tasks, for whose answer a thread and an event loop wait each in its way."""

    def __init__(
        self, late: Late, entries: Sequence[Entry], ids: array[int], answer: _Answer | None
    ) -> None:
        self._late = late
        self._entries = entries
        self._ids = ids
        #: This question's own, whatever others are answered meanwhile; None: there is none yet.
        self._answer = answer
        #: One may come.
        self.may_come = False

    def take(self, answer: Any) -> None:
        """It has come."""
        self._answer = self._late.taken(self._ids, answer)

    def sentence(self) -> str:
        """What follows on "tasks were not done"."""
        why = None if self._answer is None else self._answer.told()
        return self._late.sentence(self._entries, why)

    def standing(self) -> str:
        """What users were told that is still so; empty: nothing, as far as is known."""
        return "" if self._answer is None else self._answer.standing


class Late:
    """Says why the tasks of one session are not done."""

    def __init__(self, session: Questioned, send: Callable[[Question], None]) -> None:
        self._session = session
        #: Has another thread send a question.
        self._send = send
        #: What the scheduler told lately, when (monotonic seconds), and the task that came next.
        self._said: deque[tuple[float, int, str]] = deque(maxlen=_MOST_SAID)
        #: The last answer, of whatever tasks.
        self._answered = _Answer(-math.inf, b"", "", "")

    def note(self, next_id: int, sentence: str) -> None:
        """The scheduler has told something of itself, which may be why tasks are not done."""
        self._said.append((time.monotonic(), next_id, sentence))

    def why(self, entries: Sequence[Entry], waited: float | None) -> str:
        """What follows on "tasks were not done": a point and why, or nothing if it is not known.

        Parameters
        ----------
        waited
            For how many seconds, at the most.
        """
        answers: SimpleQueue[Any] = SimpleQueue()
        with self._asked(entries, waited, answers) as asked:
            if asked.may_come:
                with contextlib.suppress(Empty):
                    asked.take(answers.get(timeout=ANSWER_SECONDS))
        return asked.sentence()

    def wait(
        self, waiter: Sleeper, timeout: float | None, entries: Callable[[], Sequence[Entry]]
    ) -> bool:
        """Sleep until the waiter is woken, and tell what keeps its entries from being done.

        Returns
        -------
        bool
            Whether it was woken in time (seconds; None: no limit).
        """
        if timeout is not None and timeout <= REMIND_SECONDS:
            return waiter.wait(timeout)
        began = time.monotonic()
        if waiter.wait(REMIND_SECONDS):
            return True
        answers: SimpleQueue[Any] = SimpleQueue()
        with self._asked(entries(), REMIND_SECONDS, answers) as asked:
            if asked.may_come and _is_woken_first(waiter, asked, answers, _left(timeout, began)):
                return True
        self._remind(asked.standing(), began)
        return waiter.wait(_left(timeout, began))

    async def wait_in_loop(
        self, woken: asyncio.Event, entries: Callable[[], Sequence[Entry]]
    ) -> None:
        """The same in an event loop, without a limit."""
        began = time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REMIND_SECONDS):
                await woken.wait()
        if woken.is_set():
            return
        coming = _InLoop()
        with self._asked(entries(), REMIND_SECONDS, coming) as asked:
            if asked.may_come:
                await _until_either(woken, coming.answer)
                if coming.answer.done():
                    asked.take(coming.answer.result())
        if not woken.is_set():
            self._remind(asked.standing(), began)
            await woken.wait()

    def _remind(self, standing: str, began: float) -> None:
        """Tell what users were told that is still so.

        Without the sentences that came since `began` (monotonic seconds), while they wait.
        """
        for at, _, told in [*self._said]:
            if at >= began:
                standing = standing.replace(f"{told} ", "").replace(told, "")
        if standing:
            tell(standing.rstrip())

    async def why_in_loop(self, entries: Sequence[Entry], waited: float | None) -> str:
        """The same in an event loop, which goes on meanwhile."""
        coming = _InLoop()
        with self._asked(entries, waited, coming) as asked:
            if asked.may_come:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        asked.take(await coming.answer)
        return asked.sentence()

    @contextlib.contextmanager
    def _asked(
        self, entries: Sequence[Entry], waited: float | None, answers: Any
    ) -> Iterator[_Asked]:
        """Ask the scheduler, unless it has told just now or is not to be asked."""
        late = [entry for entry in entries if entry.status == PENDING]
        ids = _asked_for(late, waited)
        known = self._answer_to(ids)
        asked = _Asked(self, late, ids, known)
        request = None
        if ids and known is None:
            # (a client that is closed, or has lost its scheduler: that ends the tasks too)
            with contextlib.suppress(ClusterError):
                request, _ = self._session.open_request("answer", answers)
                self._send(Question(request, ids))
        asked.may_come = request is not None
        try:
            yield asked
        finally:
            if request is not None:
                self._session.close_request(request)

    def _answer_to(self, ids: array[int]) -> _Answer | None:
        """What the scheduler has said of these tasks just now."""
        answered = self._answered  # (other threads ask too)
        old = time.monotonic() - answered.at
        if not ids or old >= _ANSWER_LASTS_SECONDS or answered.ids != ids.tobytes():
            return None
        return answered

    def taken(self, ids: array[int], answer: Any) -> _Answer | None:
        """Keep the scheduler's answer about these tasks; None: it is none."""
        if isinstance(answer, BaseException):  # the scheduler has gone, or took no question
            return None
        why, standing = answer.fields["why"], answer.fields["standing"]
        taken = self._answered = _Answer(time.monotonic(), ids.tobytes(), why, standing)
        return taken

    def sentence(self, late: Sequence[Entry], why: str | None) -> str:
        """What follows on "tasks were not done".

        Parameters
        ----------
        why
            The scheduler's answer; empty: they are done by now; None: it gave none.
        """
        if why is not None:
            which = f"Of {_MOST_ASKED:,} of them: " if len(late) > _MOST_ASKED else ""
            return f". {which}{why}" if why else ""
        now = time.monotonic()
        for at, next_id, told in reversed([*self._said]):
            # It may be about what they need: what was submitted later needs nothing of it.
            recent = now - at < _RECENT_SECONDS and any(0 <= each.id < next_id for each in late)
            if recent or any(f" {each.key} " in told for each in late[:_MOST_COMPARED]):
                return f". The scheduler said {now - at:.0f} s ago: {told}"
        return ""


def _asked_for(late: Sequence[Entry], waited: float | None) -> array[int]:
    """The ids of tasks of which to ask; none: the wait was too short."""
    return _ids_of([] if waited is None or waited < LEAST_SECONDS else late)


def _ids_of(late: Sequence[Entry]) -> array[int]:
    return array("I", [entry.id for entry in late[:_MOST_ASKED] if entry.id >= 0])


def _is_woken_first(
    waiter: Sleeper, asked: _Asked, answers: SimpleQueue[Any], left: float | None
) -> bool:
    """Sleep until the answer comes or the waiter is woken, for a moment and no longer than is left.

    Returns
    -------
    bool
        Whether the waiter was woken.
    """
    end = time.monotonic() + (ANSWER_SECONDS if left is None else min(ANSWER_SECONDS, left))
    # A waiter cannot be woken for something else: it sleeps on between two looks.
    while (rest := end - time.monotonic()) > 0:
        if waiter.wait(min(rest, _LOOK_SECONDS)):
            return True
        with contextlib.suppress(Empty):
            asked.take(answers.get_nowait())
            break
    return False


async def _until_either(woken: asyncio.Event, answer: asyncio.Future[Any]) -> None:
    """The same in an event loop."""
    waking = asyncio.ensure_future(woken.wait())
    try:
        await asyncio.wait(
            (waking, answer), timeout=ANSWER_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        waking.cancel()


def _left(timeout: float | None, began: float) -> float | None:
    """What is left of a limit, in seconds."""
    return None if timeout is None else max(0.0, timeout - (time.monotonic() - began))
