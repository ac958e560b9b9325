"""Events under topics: logged by clients and workers, kept by the scheduler, handed to handlers."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Callable, Collection, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from spanwise.client.arguments import check_function
from spanwise.client.patience import Patience, name_of
from spanwise.notices import tell, warn_asker
from spanwise.wire import plain
from spanwise.wire.foreign import said
from spanwise.wire.frame import Message

if TYPE_CHECKING:
    from spanwise.client.needs import Asking

#: Event handlers that are slower than the events come: what is beyond so many is left out, and
#: the user is told.
MOST_WAITING = 10_000
#: Topics that a client subscribes to: as many as the scheduler keeps.
MOST_TOPICS = 10_000
#: Those of the scheduler, of which nobody who asks for all topics need be told how many went.
_OWN_TOPICS = re.compile(r"all|scheduler|client-\d+")
#: How often the running handler is looked at.
_LOOK_SECONDS = 5.0
#: A time and a message.
Event = tuple[float, Any]
Handler = Callable[[Event], Any]


class EventMethods:
    """What a client does with events."""

    if TYPE_CHECKING:
        asynchronous: bool
        _session: Any

        def _call(self, function: Callable[..., Any], *args: Any) -> Any: ...

    def log_event(self, topic: str | Collection[str], msg: Any) -> Any:
        """Log something under a topic, for :meth:`get_events` and whoever subscribes to it.

        Parameters
        ----------
        topic
            A name, or several.
        msg
            Numbers, texts, bytes, None, True, False, and lists, tuples and dicts of them; lists
            arrive as tuples. At most 1 MiB.

        Raises
        ------
        TypeError
            The message is something else.
        ValueError
            It is too large.
        """
        fields, blobs = plain.event(topic, msg)
        return self._call(self._session.send, "logEvent", fields, None, blobs)

    def get_events(self, topic: str | None = None) -> Any:
        """What was logged, the older before the newer.

        The scheduler keeps the last 1,000 events of each topic, of 10,000 topics, in all 64 MiB.
        A warning says how many have gone. It logs events of its own under ``all``,
        ``scheduler``, the addresses of workers and the ids of clients.

        Parameters
        ----------
        topic
            Default: all topics.

        Returns
        -------
        tuple of (time, message), or a dict of them by topic
            Times are the scheduler's, in seconds of the wall clock.
        """
        return self._call(_get_events, self._session, topic)

    def subscribe_topic(self, topic: str, handler: Handler) -> Any:
        """Have a handler called with each ``(time, message)`` that is logged from now on.

        Handlers run one after another in a thread of their own, or in the event loop of an
        asynchronous client; what they raise is told and changes nothing. Of several handlers of
        a topic the newest counts.

        Parameters
        ----------
        topic
        handler
            A function or a coroutine function. Beyond 10,000 events that wait for slow handlers,
            events are left out, and a warning says so. One that runs for long is told of too.

        Raises
        ------
        ValueError
            The client has subscribed to 10,000 topics already.
        """
        check_function(handler, "subscribe_topic")
        loop = asyncio.get_running_loop() if self.asynchronous else None
        return self._call(self._session.subscriptions.add, topic, handler, loop)

    def unsubscribe_topic(self, topic: str) -> Any:
        """Have no handler called any more for a topic.

        Raises
        ------
        ValueError
            There is no handler for it.
        """
        return self._call(self._session.subscriptions.remove, topic)


def _get_events(session: Asking, topic: str | None) -> Any:
    if topic is not None:
        (topic,) = plain.topic_names([topic])
    answer = session.ask("askEvents", {"topic": topic})
    topics = answer.fields["topics"]
    found: list[list[Event]] = [[] for _ in topics]
    content = answer.blobs[0] if answer.blobs else b""
    at = 0
    for number, t, length in answer.table("events"):
        message = plain.unpack(content[at : at + length])
        found[number].append((session.wall_time(t), message))
        at += length
    lost = {
        each["topic"]: each["total"] - len(events)
        for each, events in zip(topics, found, strict=True)
        if each["total"] > len(events)
    }
    if topic is None:
        lost = {name: count for name, count in lost.items() if not _OWN_TOPICS.fullmatch(name)}
    if lost or (topic is None and answer.fields["forgotten"]):
        sentence = _lost_sentence(lost, answer.fields["forgotten"])
        warn_asker(sentence)
    by_topic = {each["topic"]: tuple(of) for each, of in zip(topics, found, strict=True)}
    return by_topic if topic is None else by_topic.get(topic, ())


def _lost_sentence(lost: dict[str, int], forgotten: int) -> str:
    gone = [f"{count:,} older events of {topic!r}" for topic, count in [*lost.items()][:5]]
    if len(lost) > 5:
        gone.append(f"those of {len(lost) - 5:,} more topics")
    if forgotten:
        gone.append(f"all events of {forgotten:,} topics")
    return f"No longer kept: {', '.join(gone)}."


class Subscriptions:
    """The handlers of a session, and the thread that calls them while there are any.

    Parameters
    ----------
    session
        Says to the scheduler what is wanted.
    """

    def __init__(self, session: Asking) -> None:
        self._session = session
        #: The topic whose handler runs now, and how patient its user is.
        self._running: tuple[str, Patience] | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._handlers: dict[str, tuple[Handler, asyncio.AbstractEventLoop | None]] = {}
        self._waiting: SimpleQueue[Message | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lost = 0

    def add(
        self, topic: str, handler: Handler, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        """Call a handler from now on; in `loop` if there is one."""
        (topic,) = plain.topic_names([topic])
        with self._lock:
            if topic not in self._handlers and len(self._handlers) >= MOST_TOPICS:
                raise ValueError(
                    f"A client subscribes to at most {MOST_TOPICS:,} topics: unsubscribe from "
                    "others, or log what belongs together under one topic."
                )
            self._handlers[topic] = handler, loop
            self._begin()
        self._session.send("subscribe", {"topic": topic, "on": True})

    def add_defaults(self, handlers: Mapping[str, Handler]) -> None:
        """Call these handlers from now on; the thread for it starts with the first event."""
        with self._lock:
            self._handlers.update({topic: (handler, None) for topic, handler in handlers.items()})
        for topic in handlers:
            self._session.send("subscribe", {"topic": topic, "on": True})

    def remove(self, topic: str) -> None:
        """Call its handler no more.

        Raises
        ------
        ValueError
            It has none.
        """
        with self._lock:
            if self._handlers.pop(topic, None) is None:
                raise ValueError(f"No event handler known for topic {topic!r}.")
        self._session.send("subscribe", {"topic": topic, "on": False})

    def _begin(self) -> None:
        """Start the thread unless it runs, or has ended; under the lock."""
        if self._thread is None and not self._ended.is_set():
            self._thread = threading.Thread(target=self._serve, name="spanwise-events", daemon=True)
            self._thread.start()
            threading.Thread(target=self._watch, name="spanwise-slow-handlers", daemon=True).start()

    def came(self, message: Message) -> None:
        """Take an event; called by the thread that reads the link, which must not wait."""
        if self._thread is None:
            with self._lock:
                self._begin()
        if self._waiting.qsize() >= MOST_WAITING:
            self._lost += 1 + message.fields["lost"]
        else:
            self._waiting.put(message)

    def remove_all(self) -> None:
        """Call no handler any more: their client is closed, and its cluster goes on."""
        with self._lock:
            topics = list(self._handlers)
            self._handlers.clear()
        for topic in topics:
            self._session.send("subscribe", {"topic": topic, "on": False})

    def close(self) -> None:
        """End the thread, behind the handler that it calls now."""
        with self._lock:
            self._handlers.clear()
            self._ended.set()
            if self._thread is not None:
                self._waiting.put(None)

    def _watch(self) -> None:
        """Tell of handlers that do not end: others wait behind them."""
        while not self._ended.wait(_LOOK_SECONDS):
            running = self._running
            if running is None or running[1].left > 0:
                continue
            topic, patience = running
            handler, loop = self._handlers.get(topic, (None, None))
            where = "" if loop is None else ", in the event loop of its client,"
            tell(
                f"The handler {name_of(handler)} of events of {topic!r} has been running{where} "
                f"for {patience.told():.0f} s, and {self._waiting.qsize():,} events wait behind "
                "it. Handlers run one after another: have it end sooner, or do its work in a "
                "thread of yours."
            )

    def _serve(self) -> None:
        while True:
            message = self._waiting.get()
            if message is None:
                return
            lost, self._lost = self._lost + message.fields["lost"], 0
            if lost:
                tell(
                    f"{lost:,} events were left out: their handlers are slower than events come. "
                    "Subscribe to fewer topics, or do less in the handlers."
                )
            topic = message.fields["topic"]
            handler, loop = self._handlers.get(topic, (None, None))
            if handler is None:
                continue  # it was on its way when its topic was unsubscribed from
            self._running = topic, Patience()
            try:
                t = self._session.wall_time(message.fields["t"])
                _handle(handler, (t, plain.unpack(message.blobs[0])), loop)
            except BaseException as error:  # noqa: BLE001 (the user's code; others come after it)
                tell(f"The handler of events of {topic!r} failed: {said(error)}")
            finally:
                self._running = None


def _handle(handler: Handler, event: Event, loop: asyncio.AbstractEventLoop | None) -> None:
    async def handle() -> None:
        answer = handler(event)
        if inspect.isawaitable(answer):
            await answer

    if loop is not None:
        asyncio.run_coroutine_threadsafe(handle(), loop).result()
    elif inspect.isawaitable(answer := handler(event)):

        async def wait() -> None:
            await answer

        asyncio.run(wait())
