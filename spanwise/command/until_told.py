"""Waiting until a command is to end: what happens meanwhile comes as events, one at a time."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

Events = SimpleQueue[tuple[Any, ...]]
#: What asks a command to end.
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_as_events(events: Events) -> Iterator[None]:
    """Put ``("signal", name)`` for each that asks to end; restores what was there before.

    A `SimpleQueue` may be put to by a handler that interrupts its own `put`.
    """

    def asked(number: int, _: Any) -> None:
        events.put(("signal", signal.Signals(number).name))

    before = {each: signal.signal(each, asked) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def notices_as_lines(command: str) -> Iterator[None]:
    """Write warnings as sentences, without the place in our code that they come from."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"{command}: {message}\n")
        sys.stderr.flush()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
