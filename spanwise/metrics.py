"""Clocks and the meter of users' code, under the names of `distributed.metrics`."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
from asyncio import _get_running_loop as running_loop
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import Token
from math import nan
from sys import getrefcount
from time import monotonic, perf_counter, process_time, thread_time, time
from typing import Any, Literal, TypeVar

from spanwise.measure.names import OTHERS
from spanwise.measure.scopes import (
    ELSEWHERE,
    HERE,
    MOST_LABELS,
    NOWHERE,
    SCOPE,
    SECONDS,
    Callback,
    Heard,
    Scope,
    Sum,
    digest,
    root_here,
    tell,
)

__all__ = ["context_meter", "monotonic", "process_time", "thread_time", "time"]

#: This very number: a look at which one it is is the quickest.
_FLOOR = 0.0
#: What stands still while a thread waits.
_CPU_CLOCKS = (thread_time, process_time)

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Decorates:
    """A meter that decorates a function: each call is metered anew."""

    __slots__ = ()

    def _again(self) -> Any:
        raise NotImplementedError

    def __call__(self, function: _Function) -> _Function:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def metered_coroutine(*args: Any, **kwargs: Any) -> Any:
                with self._again():
                    return await function(*args, **kwargs)

            return metered_coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def metered(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return metered  # type: ignore[return-value]


class _Meter(_Decorates):
    """A meter anywhere, of any unit, with a scope of its own.

    Attributes
    ----------
    start, stop, delta
        Readings of its function, and their difference less what was measured within; NaN
        until they are known.
    """

    __slots__ = (
        "_floor",
        "_func",
        "_label",
        "_outer",
        "_root",
        "_scope",
        "_token",
        "_unit",
        "delta",
        "start",
        "stop",
    )

    def __init__(
        self,
        label: Hashable,
        unit: str,
        func: Callable[[], float],
        floor: float | Literal[False],
    ) -> None:
        self._label = label
        self._unit = unit
        self._func = func
        self._floor = floor
        self._token: Token[Scope] | None = None
        self.start = self.stop = self.delta = nan

    def _again(self) -> _Meter | _TaskMeter:
        return context_meter.meter(self._label, self._unit, self._func, self._floor)

    def __enter__(self) -> _Meter:
        self._outer = outer = SCOPE.get()
        if self._unit == SECONDS:
            self._scope = Scope(outer.callbacks, outer.keys, outer.heard)
            self._token = SCOPE.set(self._scope)
            self._root: Scope | None = None
            root = root_here()
            if root is not ELSEWHERE and running_loop() is None:
                # Meters within have scopes too: what they tell is taken off this one.
                self._root, HERE.root = root, ELSEWHERE
        self.start = self._func()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop = self._func()
        delta = self.stop - self.start
        outer = self._outer
        if self._token is not None:
            inner, waited = self._scope.inner, self._scope.waited
            SCOPE.reset(self._token)
            self._token = None
            if self._root is not None:
                _put_back(self._root)
            delta -= inner - waited if waited and self._func in _CPU_CLOCKS else inner
            if self._floor is not False and delta < self._floor:
                delta = self._floor
            if outer is not NOWHERE:
                # (no thread lets another one go between reading and writing it)
                outer.inner += inner + delta
                outer.waited += waited
        elif self._floor is not False and delta < self._floor:
            delta = self._floor
        self.delta = delta
        tell(outer, self._label, delta, self._unit)


class _TaskMeter(_Decorates):
    """The same, of wall seconds, where only the task that runs in this thread hears of it.

    It needs no scope of its own, for what is open in the thread ends in the opposite order.
    """

    __slots__ = ("_before", "_label", "_root", "delta", "start", "stop")

    _label: Hashable
    _root: Scope

    def _again(self) -> _Meter | _TaskMeter:
        return context_meter.meter(self._label)

    def __enter__(self) -> _TaskMeter:
        self._before = self._root.inner
        self.stop = self.delta = nan
        self.start = perf_counter()
        return self

    def __exit__(self, _kind: object, _error: object, _traceback: object) -> None:
        self.stop = stop = perf_counter()
        root = self._root
        before = self._before
        whole = stop - self.start
        delta = whole - (root.inner - before)
        if delta < 0.0:
            delta = 0.0
        else:
            root.inner = before + whole
        self.delta = delta
        _tell_new(root, self._label, delta)


#: See `_count_of_free`.
_FREE = 0
#: So many labels have a meter of their own in each thread.
_MOST_KEPT = 64
#: After so many that found no place others get one: to make a meter takes as long as four blocks.
_MOST_REFUSED = 4096
#: So many more are kept in each: for blocks of one label within each other, those of further
#: labels, and those whose figures are read.
_MOST_OTHERS = 4


class _KeptKind(type):
    """Its class's methods are an object's own; who asks the class gets some for any object."""

    @property
    def __enter__(cls) -> Callable[[Any], Any]:
        return lambda kept: kept.__enter__()

    @property
    def __exit__(cls) -> Callable[..., None]:
        return lambda kept, *error: kept.__exit__(*error)


class _KeptMeter(metaclass=_KeptKind):
    """A :class:`_TaskMeter` that is entered again and again, while nobody else has it.

    Most blocks are as short as making their meter. So there is one for each label of a thread,
    and some for any, and their methods are functions made once, which keep what they need in
    cells.
    """

    __slots__ = ("__enter__", "__exit__", "_delta", "_held", "_stop", "label", "start")

    __enter__: Callable[[], _KeptMeter]
    __exit__: Callable[..., None]
    label: Hashable
    start: float
    _stop: float
    _delta: float
    #: While it is open it holds itself.
    _held: _KeptMeter | None

    @property
    def stop(self) -> float:
        return self._stop if self._held is None else nan

    @property
    def delta(self) -> float:
        return self._delta if self._held is None else nan

    def __call__(self, function: _Function) -> _Function:
        # (it may be called for as long as the process lives)
        quick = _TaskMeter()
        quick._label = self.label
        return quick(function)


def _kept_meter(root: Scope, label: Hashable, is_for_any: bool = False) -> _KeptMeter:
    heard = root.heard
    assert heard is not None
    own = _KeptMeter()
    own.label = label
    own.start = own._stop = own._delta = nan
    own._held = None
    total = Sum(label)
    before = 0.0

    def enter() -> _KeptMeter:
        nonlocal before
        own._held = own
        before = root.inner
        own.start = perf_counter()
        return own

    def leave(_kind: object, _error: object, _traceback: object) -> None:
        if own._held is None:
            # (it is left without having been entered, or twice: nothing was measured)
            return
        own._stop = stop = perf_counter()
        own._held = None
        delta = stop - own.start
        inner = root.inner
        if inner is before:
            # Nothing was told within: it is the same object, not only the same number.
            root.inner = inner + delta
        else:
            whole = delta
            delta -= inner - before
            if delta < 0.0:
                delta = 0.0
            else:
                root.inner = before + whole
        own._delta = delta
        seconds = total.seconds
        if seconds is not None:
            total.seconds = seconds + delta
        elif is_for_any:
            label, told = own.label, heard.seconds
            # (the first of a task is new each time: an exception takes as long as the whole block)
            if label in told:
                told[label] += delta
            else:
                _tell_new(root, label, delta)
        else:
            total.seconds = delta
            heard.sums.append(total)

    own.__enter__ = enter
    own.__exit__ = leave
    return own


def _tell_new(root: Scope, label: Hashable, delta: float) -> None:
    heard, meters = root.heard, root.meters
    if heard is None:
        # A task has left the meter open, and has ended.
        return
    seconds = heard.seconds
    has_room = len(seconds) + len(heard.sums) < MOST_LABELS
    if not has_room and label not in seconds:
        label = OTHERS
    seconds[label] = seconds.get(label, 0.0) + delta
    # What equals another label that is no text may have another text.
    if has_room and root.kept is not None and type(label) is str and label not in meters:
        if len(meters) >= _MOST_KEPT:
            root.refused += 1
            if root.refused < _MOST_REFUSED:
                return
            # Labels that came once would keep the place of those that come again and again.
            meters.clear()
            root.refused = 0
        # From the next time on.
        meters[label] = _kept_meter(root, label)


def _task_meter(root: Scope, label: Hashable) -> _KeptMeter | _TaskMeter:
    """A meter for the thread of a task whose first kept ones are taken, or not there yet."""
    for kept in root.others:
        if getrefcount(kept) == _FREE:
            kept.label = label
            return kept
    if root.returns and root.kept is None and _FREE:
        root.kept, *others = (_kept_meter(root, None, True) for _ in range(_MOST_OTHERS))
        root.others = tuple(others)
    quick = _TaskMeter()
    quick._label = label
    quick._root = root
    return quick


class ContextMeter:
    """Measures what code does within, for who called it: :data:`context_meter` is the one.

    In a task, what :meth:`meter` and :meth:`digest_metric` say belongs to the task: see
    `client.fine_metrics` and *Fine Performance Metrics*. Anywhere, those who wait for it with
    :meth:`add_callback` around the call are told.
    """

    __slots__ = ("__weakref__",)

    def __reduce__(self) -> str:
        return "context_meter"

    def meter(
        self,
        label: Hashable,
        unit: str = SECONDS,
        func: Callable[[], float] = perf_counter,
        floor: float | Literal[False] = _FLOOR,
    ) -> Any:
        """A context manager or decorator that tells how `func` grew meanwhile.

        It tells it also when the code within raises. Of seconds, those that were told
        within are taken off, so that all may be added up.

        Parameters
        ----------
        label
            What it is called: a text, or anything that can be a key of a dictionary.
        unit
            Any text.
        func
            A clock, or another figure that grows.
        floor
            The least that is told; False: none.

        Returns
        -------
        Any
            Entered, it has the figures ``start``, ``stop`` and ``delta``.
        """
        try:
            root = HERE.root
            kept = root.meters.get(label)
        except (AttributeError, TypeError):
            # There was no task in this thread, or this can be no key.
            root, kept = root_here(), None
        if unit is SECONDS and func is perf_counter and floor is _FLOOR and running_loop() is None:
            # (to None there are many)
            if getrefcount(kept) == _FREE:
                return kept
            kept = root.kept
            if getrefcount(kept) == _FREE:
                kept.label = label
                return kept
            if root is not ELSEWHERE:
                return _task_meter(root, label)
        return _Meter(label, unit, func, floor)

    def digest_metric(self, label: Hashable, value: float, unit: str) -> None:
        """Tell a figure of any unit."""
        digest(label, value, unit)

    @contextmanager
    def add_callback(
        self, callback: Callback, *, key: Hashable | None = None, allow_offload: bool = False
    ) -> Iterator[None]:
        """Have ``callback(label, value, unit)`` called with all that is told within.

        Parameters
        ----------
        callback
            Takes what :meth:`digest_metric` takes.
        key
            Of two callbacks of one key, one around the other, only the inner one is called.
        allow_offload
            What other threads tell is told in the thread of the event loop that runs here.
        """
        called = callback
        if allow_offload:
            loop = asyncio.get_running_loop()
            here = threading.get_ident()

            def called(label: Hashable, value: float, unit: str) -> None:
                if threading.get_ident() == here:
                    callback(label, value, unit)
                else:
                    loop.call_soon_threadsafe(callback, label, value, unit)

        outer = SCOPE.get()
        own = object() if key is None else key
        others = [
            (each, name)
            for each, name in zip(outer.callbacks, outer.keys, strict=True)
            if name != own
        ]
        callbacks = (*(each for each, _ in others), called)
        keys = (*(name for _, name in others), own)
        with _within(Scope(callbacks, keys, outer.heard)) as scope:
            try:
                yield
            finally:
                if outer is not NOWHERE:
                    outer.inner += scope.inner
                    outer.waited += scope.waited

    @contextmanager
    def clear_callbacks(self) -> Iterator[None]:
        """Tell nobody outside what is told within."""
        with _within(Scope()):
            yield


def _put_back(root: Scope) -> None:
    # What a task has left open may end when no task runs any more.
    HERE.root = ELSEWHERE if root.is_idle else root


@contextmanager
def _within(scope: Scope) -> Iterator[Scope]:
    token = SCOPE.set(scope)
    root = root_here()
    if running_loop() is None:
        HERE.root = ELSEWHERE
    try:
        yield scope
    finally:
        if running_loop() is None:
            _put_back(root)
        SCOPE.reset(token)


_METER = ContextMeter()
#: The one meter: pickles of it are it.
context_meter = _METER


def _is_free_alone(label: Hashable) -> bool:
    """Whether a kept meter is entered again when nobody has it, and only then."""

    def is_kept() -> bool:
        return type(context_meter.meter(label)) is _KeptMeter

    if not is_kept():
        return False
    held = context_meter.meter(label)
    is_held = is_kept()
    del held
    with context_meter.meter(label):
        is_open = is_kept()
    return is_kept() and not is_held and not is_open


def _count_of_free() -> int:
    """References to a kept meter that nobody has, where :meth:`ContextMeter.meter` counts them.

    Interpreters differ in those that they leave out, so it is tried. 0: counts do not tell.
    """
    global _FREE
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0
    own, of_any = Scope(heard=Heard()), Scope(heard=Heard())
    own.meters, own.others, own.returns = {}, (), False
    own.meters["own"] = _kept_meter(own, "own")
    of_any.meters, of_any.others, of_any.returns = {}, (_kept_meter(of_any, None, True),), False
    own.kept = of_any.kept = None
    alone = Scope(heard=Heard())
    alone.meters, alone.others, alone.returns = {}, (), False
    alone.kept = _kept_meter(alone, None, True)
    outer = root_here()
    try:
        for count in range(1, 10):
            _FREE = count
            HERE.root = own
            if _is_free_alone("own"):
                for HERE.root in (alone, of_any):
                    if not _is_free_alone(0):
                        return 0
                return count
    finally:
        HERE.root = outer
    return 0


def _know_counts() -> None:
    global _FREE
    _FREE = _count_of_free()


if running_loop() is None:
    _know_counts()
else:
    # (a thread without a loop, as tasks have it)
    _counting = threading.Thread(target=_know_counts)
    _counting.start()
    _counting.join()
