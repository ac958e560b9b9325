"""Who hears of what code measures itself: what `spanwise.metrics.context_meter` is made of.

A scope is a stretch of code. Scopes lie in a context variable, so that coroutines and threads
that copy their context inherit them; each begins and ends within the one around it::

    root of an executor's thread   → `heard`, which the executor empties when a run has ended
      └ add_callback(f)            → `heard`, f
          └ meter("decode")        → the same; seconds within are taken off its own
              └ clear_callbacks()  → nobody
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from contextvars import ContextVar
from typing import Any, Protocol

from spanwise.measure.names import OTHERS

#: (label, value, unit)
Event = tuple[Any, Any, Any]
Callback = Callable[[Hashable, float, str], object]

SECONDS = "seconds"
#: So many events are kept one by one before those of one label and unit are added up.
MOST_EVENTS = 4096
#: So many labels of a task are kept apart; later ones are `OTHERS`, of each unit.
MOST_LABELS = 4096


class Sum:
    """Seconds of a label of which meters of a thread tell again and again; None: not yet.

    A meter adds to them itself, which takes it a third less than to find its label's in a
    dictionary.
    """

    __slots__ = ("label", "seconds")

    def __init__(self, label: Hashable) -> None:
        self.label = label
        self.seconds: float | None = None


class Heard:
    """What the task that runs in a thread has told so far.

    Attributes
    ----------
    sums
        Of meters in the thread itself, the most frequent ones; a label again if its meter was let
        go meanwhile.
    seconds
        By label: of other meters in the thread. No other thread writes here or there.
    events
        All others.
    """

    __slots__ = ("_adding_up", "_most", "events", "seconds", "sums")

    def __init__(self) -> None:
        self.sums: list[Sum] = []
        self.seconds: dict[Hashable, float] = {}
        self.events: list[Event] = []
        #: Held by who replaces events; who appends some does not need it.
        self._adding_up = threading.Lock()
        #: Events are added up when there are more.
        self._most = MOST_EVENTS

    def add(self, event: Event) -> None:
        """Add one of any thread."""
        events = self.events
        events.append(event)
        if len(events) > self._most:
            with self._adding_up:
                # In place; others may append meanwhile.
                count = len(events)
                events[:count] = _added_up(events[:count])
                # Where few are alike, the next time comes after as many again.
                self._most = max(MOST_EVENTS, 2 * len(events))

    def take(self) -> list[Event]:
        """What there is, each label and unit once; forgets it."""
        seconds = self.seconds
        for each in self.sums:
            seconds[each.label] = seconds.get(each.label, 0.0) + (each.seconds or 0.0)
            each.seconds = None
        self.sums.clear()
        if len(seconds) == 1:
            events: list[Event] = [(*seconds.popitem(), SECONDS)]
        else:
            events = [(label, value, SECONDS) for label, value in seconds.items()]
            seconds.clear()
        if not self.events:
            # (of several threads' one that comes now counts for what comes next; in local runs,
            # where a task's thread drops what came between two tasks, for nothing)
            return events
        with self._adding_up:
            count = len(self.events)
            events += self.events[:count]
            del self.events[:count]
            self._most = MOST_EVENTS
        return _added_up(events)


class Scope:
    """A stretch of code.

    Attributes
    ----------
    callbacks
        Called with each event, the outermost first.
    keys
        Their keys, each at its callback's place.
    heard
        Of the task that runs, if one does; of an idle root None.
    inner
        Seconds of the events so far; of a root since its task began, of any other scope those of
        the meter that it was made for.
    waited
        Those of `inner` that Spanwise tells itself: no meter of the user's was within.
    returns
        Of a root: it is used again.
    is_idle
        Of such a root: it has stayed, while no task runs, and nobody hears of it.
    meters
        Of such a root: meters that are entered again, by label.
    refused
        Of such a root: how often a label found no place there since they were let go.
    kept, others
        Of such a root: those of any label, the first one and more. None: not yet.
    """

    __slots__ = (
        "callbacks",
        "heard",
        "inner",
        "is_idle",
        "kept",
        "keys",
        "meters",
        "others",
        "refused",
        "returns",
        "waited",
    )

    meters: dict[Hashable, Any]
    kept: Any
    others: tuple[Any, ...]
    refused: int
    returns: bool

    def __init__(
        self,
        callbacks: tuple[Callback, ...] = (),
        keys: tuple[Hashable, ...] = (),
        heard: Heard | None = None,
    ) -> None:
        self.callbacks = callbacks
        self.keys = keys
        self.heard = heard
        self.inner = self.waited = 0.0
        self.is_idle = False


#: Outside of everything.
NOWHERE = Scope()
#: The innermost scope.
SCOPE: ContextVar[Scope] = ContextVar("spanwise-scope", default=NOWHERE)


class Here(Protocol):
    """What a thread knows of its scopes.

    Attributes
    ----------
    root
        The root of this thread, while nothing but meters is open and none beside it can be; else
        `ELSEWHERE`, or not there at all.
    """

    root: Scope


#: In the place of a root.
ELSEWHERE = Scope()
ELSEWHERE.meters = {}
ELSEWHERE.kept = None
ELSEWHERE.others = ()
ELSEWHERE.returns = False
#: A look here is cheaper than a scope of its own for each meter. Event loops take turns within
#: one thread: meters look whether one runs. (Of a class of its own, with a default, attributes
#: would be looked up in the class first, which takes a tenth of a meter.)
HERE: Here = threading.local()  # type: ignore[assignment]


def root_here() -> Scope:
    """`HERE.root`, in any thread."""
    try:
        return HERE.root
    except AttributeError:
        HERE.root = ELSEWHERE
        return ELSEWHERE


class Hearing:
    """While it is entered, `heard` gets what code in this thread measures, as others do.

    It may be entered again when it was left, by the thread that made it.

    Of the tasks that a thread runs one after the other, :meth:`begin` and :meth:`end` tell when
    one does. Between them the scope stays where it is, since to put it there and to take it away
    costs more than all else of a short task. It hears nothing meanwhile, and is not `HERE.root`:
    a thread of a pool may go on with what is the user's, in a context of its own, and never
    comes to :meth:`leave`::

        begin   end      begin   end      begin   end   leave
          ├ task ┤ ─ idle ─ ├ task ┤ ─ idle ─ ├ task ┤ ─── ┤
    """

    __slots__ = ("_heard", "_outer", "_outer_root", "_root", "_stays", "_token", "_usual")

    def __init__(self, heard: Heard) -> None:
        root_here()  # (it is there from now on)
        self._heard = heard
        self._usual = self._root = _root(heard)
        self._stays = True
        self._outer = NOWHERE

    def begin(self) -> None:
        """A task begins."""
        outer = SCOPE.get()
        root = self._usual
        if outer is not root:
            if outer is not NOWHERE and not outer.is_idle:
                # Another one, or what hears of more than a task, is around it.
                self._nest(outer)
                return
            SCOPE.set(root)
        # (not when a task has ended: Ctrl-C may come in the place of that)
        self._stays = True
        HERE.root = root
        heard = root.heard = self._heard
        if heard.sums or heard.seconds or heard.events:
            # Of what the task before had left open, or of a thread that outlived it.
            heard.take()
        root.inner = 0.0
        root.is_idle = False

    def end(self) -> None:
        """It has ended."""
        if not self._stays:
            self._unnest()
            return
        root = self._usual
        root.is_idle = True
        root.heard = None
        HERE.root = ELSEWHERE
        if SCOPE.get() is not root:
            # (it has left something open)
            SCOPE.set(root)

    def leave(self) -> None:
        """No more tasks for now: this thread goes on with what is the user's."""
        root = self._usual
        if SCOPE.get() is root:
            SCOPE.set(NOWHERE)
        if HERE.root is root:
            # (Ctrl-C came in the place of its task's end)
            HERE.root = ELSEWHERE

    def _nest(self, outer: Scope) -> None:
        self._outer = outer
        root = self._root = _root(self._heard, outer)
        self._token = SCOPE.set(root)
        self._outer_root = HERE.root
        HERE.root = ELSEWHERE if outer.callbacks else root
        # (last, as Ctrl-C may come after each call: there would be nothing to go back to)
        self._stays = False

    def _unnest(self) -> None:
        HERE.root = self._outer_root
        SCOPE.reset(self._token)
        self._outer.inner += self._root.inner
        self._outer.waited += self._root.waited
        self._outer = NOWHERE

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *_: object) -> None:
        self.end()
        self.leave()


def _root(heard: Heard, outer: Scope = NOWHERE) -> Scope:
    root = Scope(outer.callbacks, outer.keys, heard)
    root.returns = outer is NOWHERE
    root.meters = {}
    root.refused = 0
    root.kept = None
    root.others = ()
    return root


def listen(heard: Heard) -> None:
    """From now on `heard` gets what code in this thread measures."""
    root = _root(heard)
    SCOPE.set(root)
    HERE.root = root


def tell(scope: Scope, label: Hashable, value: float, unit: str) -> None:
    """Tell those who hear what is said in `scope`."""
    heard = scope.heard
    if heard is not None:
        heard.add((label, value, unit))
    for callback in scope.callbacks:
        callback(label, value, unit)


def digest(label: Hashable, value: float, unit: str) -> None:
    """Tell a figure of any unit; seconds are taken off what is measured around them."""
    scope = SCOPE.get()
    if unit == SECONDS and scope is not NOWHERE:
        scope.inner += value
    tell(scope, label, value, unit)


def digest_wait(label: Hashable, seconds: float) -> None:
    """Tell a wait that Spanwise has measured: only what measures time on the wall held it."""
    scope = SCOPE.get()
    if scope is not NOWHERE:
        # (no thread lets another one go between reading and writing it)
        scope.waited += seconds
    digest(label, seconds, SECONDS)


def _added_up(events: Iterable[Event]) -> list[Event]:
    """One event for each label and unit, in the order of the first ones.

    What cannot be added up or looked up stays as it is, if there is not too much of it.
    """
    sums: dict[Any, Any] = {}
    rest: list[Event] = []
    for event in events:
        label, value, unit = event
        try:
            key = (label, unit)
            if len(sums) >= MOST_LABELS and key not in sums:
                key = (OTHERS, unit if len(sums) < 2 * MOST_LABELS else OTHERS)
            sums[key] = sums[key] + value if key in sums else value
        except Exception:  # noqa: BLE001 (a label or a value of a user's own; it is kept)
            if len(rest) < MOST_LABELS:
                rest.append(event)
    return [(label, value, unit) for (label, unit), value in sums.items()] + rest
