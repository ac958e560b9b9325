"""What one process asks of shared things, and who in it waits for the answers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any, NamedTuple

from spanwise.wire.frame import Message

#: How long an answer may take beyond the wait that was asked for: the scheduler may be busy.
ANSWER_SECONDS = 60.0
#: How long the end of a link waits for the thread that tells what is left.
_REST_SECONDS = 5.0


class Hold(int):
    """The number under which futures in values are held on their way; 0: there are none."""

    #: Whether the scheduler is told, or will be, that it need hold them no longer.
    is_let_go: bool = False


class Answer(NamedTuple):
    """What the scheduler says to a call."""

    outcome: str
    why: str = ""
    number: int = 0
    names: Sequence[str] = ()
    values: Sequence[bytes] = ()
    hold: Hold = Hold(0)
    #: The call that it answers.
    request: int = 0


class Call(NamedTuple):
    """One call: see the message `share`."""

    kind: str
    what: str
    name: str
    #: How long to wait; None: without a limit.
    seconds: float | None = 0.0
    fields: Mapping[str, Any] = MappingProxyType({})
    value: bytes | None = None
    #: What takes an answer back that comes when nobody waits for it any more.
    undo: Callable[[Answer], Sequence[Call]] | None = None
    #: In the value.
    futures: Sequence[Any] = ()


#: What gives back what an answer gave.
Undo = Callable[[Answer], Sequence[Call]]
#: Sends a message: type, fields, tables, blobs.
Send = Callable[[str, Any, Any, list[Any]], None]
_Take = Callable[[Answer | BaseException], None]


class SharedRequests:
    """The calls of one process.

    Parameters
    ----------
    send
        Sends to the scheduler.
    before_waiting
        Called by a thread that is about to wait.
    check
        Called before anything is asked; raises where the wait could not end.
    """

    def __init__(
        self,
        send: Send,
        before_waiting: Callable[[], None] = lambda: None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._send = send
        self._before_waiting = before_waiting
        self._check = check
        self._numbers = itertools.count(1)
        # Taken again within: Python collects objects at any moment, and their `__del__` may ask.
        self._lock = threading.RLock()
        #: Request → who takes its answer.
        self._waiting: dict[int, _Take] = {}
        #: Request that was given up → what takes its answer back, should it come.
        self._given_up: dict[int, Undo | None] = {}
        #: What takes answers back without waiting for those that are on their way.
        self._putting_back: set[Callable[[], None]] = set()
        #: Makes the error of all who ask once the link has ended.
        self._ended: Callable[[], BaseException] | None = None
        #: What nobody waits for, told from places where no message can be sent.
        self._later: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._teller: threading.Thread | None = None

    # -- asking -----------------------------------------------------------

    def ask(self, call: Call) -> Answer:
        """Make a call and wait for its answer.

        Interrupted, it is given up.

        Raises
        ------
        TimeoutError
            The scheduler does not answer.
        """
        self._check()
        came: list[Answer | BaseException] = []
        answered: SimpleQueue[None] = SimpleQueue()

        def take(answer: Answer | BaseException) -> None:
            came.append(answer)
            answered.put(None)

        request = self._open(take)
        try:
            self._send_call(call, request)
            if call.seconds != 0:
                self._before_waiting()
            try:
                answered.get(timeout=_limit(call))
            except Empty:
                if not came:
                    raise _unanswered(call) from None
            return _given(came)
        except BaseException:
            self._give_up(request, call, came)
            raise

    async def ask_async(self, call: Call) -> Answer:
        """The same in an event loop, holding no thread; cancelled, it is given up."""
        # A worker imports it for this alone: see spanwise/worker/awaiting.py.
        import asyncio

        loop = asyncio.get_running_loop()
        came: list[Answer | BaseException] = []
        answered = asyncio.Event()

        def take(answer: Answer | BaseException) -> None:
            came.append(answer)
            try:
                loop.call_soon_threadsafe(answered.set)
            except RuntimeError:
                return  # the loop has ended, and with it whoever waited

        request = self._open(take)
        try:
            self._send_call(call, request)
            if call.seconds != 0:
                self._before_waiting()
            try:
                async with asyncio.timeout(_limit(call)):
                    await answered.wait()
            except TimeoutError:
                if not came:  # (the loop may have been busy until the limit, and beyond)
                    raise _unanswered(call) from None
            return _given(came)
        except BaseException:
            self._give_up(request, call, came)
            raise

    def tell(self, call: Call) -> None:
        """Make a call whose answer nobody waits for."""
        self._send_call(call, 0)

    def tell_later(self, call: Call) -> None:
        """The same from a place that must not wait, such as ``__del__`` or a thread that reads."""
        self._later.put(partial(self.tell, call))

    def take_back(self, answer: Answer, undo: Undo | None = None) -> None:
        """Have the scheduler told that nobody took what it gave; waits for nothing."""
        calls = undo(answer) if undo is not None and answer.outcome == "done" else ()
        for call in calls:
            self.tell_later(call)
        if answer.hold:
            answer.hold.is_let_go = True
            # After what came has been given back, with what is held of it.
            fields = {"request": answer.request, "hold": int(answer.hold)}
            self._later.put(partial(self._send, "giveUp", fields, None, []))
        if calls or answer.hold:
            # Where no thread can be started it waits for the next: the error that is on its way up
            # from here is another.
            with suppress(RuntimeError):
                self.be_ready_to_tell()

    def put_back(self, answers: Sequence[Answer], undo: Undo, question: Call) -> None:
        """Take several answers back, the last first, and after one that is on its way still.

        Parameters
        ----------
        question
            Changes nothing. Its answer comes after all that were sent before.
        """
        is_back = False

        def finish() -> None:
            nonlocal is_back
            with self._lock:
                self._putting_back.discard(finish)
                if not is_back:
                    is_back = True
                    for answer in reversed(answers):
                        self.take_back(answer, undo)

        def take(came: Answer | BaseException) -> None:
            if isinstance(came, Answer):
                finish()

        try:
            self._putting_back.add(finish)
            self._send_call(question, self._open(take))
            # Only now is it certain that somebody takes them back.
            for answer in answers:
                if answer.hold:
                    answer.hold.is_let_go = True
        except BaseException as error:
            # Whether the question is answered is not known: rather in another order than never.
            finish()
            with self._lock:
                self._waiting = {
                    request: each for request, each in self._waiting.items() if each is not take
                }
            # (else the error that is on its way up from here is another)
            if not isinstance(error, Exception):
                raise

    def tell_rest(self) -> None:
        """Tell at once what would be told later: the link is about to be closed."""
        with self._lock:
            for finish in list(self._putting_back):
                finish()
            teller = self._teller
        if teller is not None and teller is not threading.current_thread() and teller.is_alive():
            # It tells, and nobody beside it, or the order would be lost.
            told = threading.Event()
            self._later.put(told.set)
            if told.wait(_REST_SECONDS):
                return
        while True:
            try:
                tell = self._later.get_nowait()
            except Empty:
                return
            if tell is None:
                self._later.put(None)
                return
            with suppress(Exception):  # as in `_tell`
                tell()

    def give_up_all(self) -> None:
        """Wait for nothing any more, and hold nothing."""
        self.tell_rest()
        self._send("giveUp", {"request": 0}, None, [])

    def be_ready_to_tell(self) -> None:
        """Have a thread that :meth:`tell_later` is done by."""
        with self._lock:
            if self._teller is None and self._ended is None:
                self._teller = threading.Thread(
                    target=self._tell, name="spanwise-shared", daemon=True
                )
                try:
                    self._teller.start()
                except RuntimeError:  # there can be no more threads now
                    self._teller = None
                    raise

    # -- answers ----------------------------------------------------------

    def came(self, message: Message) -> None:
        """Take an answer; called by the thread that reads the link, which must not wait."""
        fields = message.fields
        request = fields["request"]
        answer = Answer(
            fields["outcome"],
            fields["why"],
            fields["count"],
            fields["names"],
            [bytes(blob) for blob in message.blobs],
            Hold(fields["hold"]),
            request,
        )
        with self._lock:
            take = self._waiting.pop(request, None)
            undo = self._given_up.pop(request, None)
            if take is not None:
                # (under the lock: who gives up at this moment finds either a request or its answer)
                take(answer)
                return
        self.take_back(answer, undo)

    def end(self, error: Callable[[], BaseException]) -> None:
        """Nothing is answered any more: all who wait get an error."""
        with self._lock:
            self._ended = error
            waiting, self._waiting = self._waiting, {}
            self._given_up.clear()
            self._putting_back.clear()
        self._later.put(None)
        for take in waiting.values():
            take(error())

    # -- within -----------------------------------------------------------

    def _open(self, take: _Take) -> int:
        with self._lock:
            if self._ended is not None:
                raise self._ended()
            # Numbers of the wire have 32 bits.
            request = next(self._numbers) % 2**32 or next(self._numbers) % 2**32
            self._waiting[request] = take
        return request

    def _send_call(self, call: Call, request: int) -> None:
        fields = {
            **call.fields,
            "request": request,
            "kind": call.kind,
            "what": call.what,
            "name": call.name,
            "seconds": call.seconds,
        }
        tables = {"futures": [each._shared_name() for each in call.futures]}
        self._send(
            "share",
            fields,
            tables if call.futures else None,
            [] if call.value is None else [call.value],
        )

    def _give_up(self, request: int, call: Call, came: Sequence[Answer | BaseException]) -> None:
        with self._lock:
            if self._ended is not None:
                return
            is_open = self._waiting.pop(request, None) is not None
            if is_open:
                self._given_up[request] = call.undo
        if not is_open:
            # It came, and whoever asked does not get it.
            for answer in came:
                if isinstance(answer, Answer):
                    self.take_back(answer, call.undo)
            return
        try:
            self._send("giveUp", {"request": request}, None, [])
        except Exception:  # noqa: BLE001 (the link's end is told by `end`, and another error is raised)
            return

    def _tell(self) -> None:
        while True:
            tell = self._later.get()
            if tell is None:
                return
            # What cannot be sent is of a link that has ended, and all leases with it. Should it not
            # have ended, what follows is told.
            with suppress(Exception):
                tell()


def _limit(call: Call) -> float | None:
    return None if call.seconds is None else call.seconds + ANSWER_SECONDS


def _unanswered(call: Call) -> TimeoutError:
    return TimeoutError(
        f"The scheduler did not answer {call.what!r} of {call.kind} {call.name!r} in "
        f"{_limit(call):g} s: it is stopped, or very busy"
    )


def _given(came: Sequence[Answer | BaseException]) -> Answer:
    (answer,) = came
    if isinstance(answer, BaseException):
        raise answer
    return answer
