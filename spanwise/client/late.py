"""Why tasks are not done, for the error of who has waited for them in vain.

The scheduler is asked when the time is over, and not before: waiting costs nothing. The question is
sent by the thread that lets go of what was dropped, and the answer is awaited for a moment only: a
scheduler that is stopped, or to which nothing can be sent, holds no error up.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.client.entries import PENDING, Entry
from spanwise.errors import ClusterError

if TYPE_CHECKING:
    from spanwise.client.needs import Questioned

#: The scheduler looks at some thousand tasks in a millisecond.
ANSWER_SECONDS = 0.5
#: Who waits for a shorter time looks over and over whether something is done, and asks nothing.
LEAST_SECONDS = 0.25
#: Of more tasks these are asked for.
_MOST_ASKED = 16_384
#: How many of the scheduler's sentences are kept, for how long one counts for tasks that it does
#: not name, and how many tasks are looked for in it.
_MOST_SAID = 8
_RECENT_SECONDS = 600.0
_MOST_COMPARED = 1000


class Question(NamedTuple):
    """What is to be asked of the scheduler, by the thread that sends."""

    request: int
    ids: array[int]


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


class Late:
    """Says why the tasks of one session are not done."""

    def __init__(self, session: Questioned, send: Callable[[Question], None]) -> None:
        self._session = session
        #: Has another thread send a question.
        self._send = send
        #: What the scheduler told lately, when (monotonic seconds), and the task that came next.
        self._said: deque[tuple[float, int, str]] = deque(maxlen=_MOST_SAID)

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
        late = _pending(entries)
        answers: SimpleQueue[Any] = SimpleQueue()
        with self._asked(late, waited, answers) as asks:
            answer = None
            if asks:
                with contextlib.suppress(Empty):
                    answer = answers.get(timeout=ANSWER_SECONDS)
        return self._sentence(late, answer)

    async def why_in_loop(self, entries: Sequence[Entry], waited: float | None) -> str:
        """The same in an event loop, which goes on meanwhile."""
        late = _pending(entries)
        coming = _InLoop()
        with self._asked(late, waited, coming) as asks:
            answer = None
            if asks:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        answer = await coming.answer
        return self._sentence(late, answer)

    @contextlib.contextmanager
    def _asked(self, late: Sequence[Entry], waited: float | None, answers: Any) -> Iterator[bool]:
        """Ask the scheduler; whether an answer may come."""
        ids = array("I", [each.id for each in late[:_MOST_ASKED] if each.id >= 0])
        request = None
        if ids and waited is not None and waited >= LEAST_SECONDS:
            # (a client that is closed, or has lost its scheduler: that ends the tasks too)
            with contextlib.suppress(ClusterError):
                request, _ = self._session.open_request("answer", answers)
                self._send(Question(request, ids))
        try:
            yield request is not None
        finally:
            if request is not None:
                self._session.close_request(request)

    def _sentence(self, late: Sequence[Entry], answer: Any) -> str:
        # (an exception: the scheduler has gone, or did not take the question)
        why = "" if answer is None or isinstance(answer, BaseException) else answer.fields["why"]
        if why:
            which = f"Of {_MOST_ASKED:,} of them: " if len(late) > _MOST_ASKED else ""
            return f". {which}{why}"
        now = time.monotonic()
        for at, next_id, told in reversed([*self._said]):
            # It may be about what they need: what was submitted later needs nothing of it.
            recent = now - at < _RECENT_SECONDS and any(0 <= each.id < next_id for each in late)
            if recent or any(f" {each.key} " in told for each in late[:_MOST_COMPARED]):
                return f". The scheduler said {now - at:.0f} s ago: {told}"
        return ""


def _pending(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.status == PENDING]
