"""Several locks that are taken together."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from math import inf
from operator import index
from typing import Any, TypeVar

from spanwise.shared.lock import Lock
from spanwise.shared.place import Place, find_place
from spanwise.shared.steps import Steps, run, run_async
from spanwise.shared.values import seconds_of

_Self = TypeVar("_Self", bound="MultiLock")

#: Who wants some of several locks waits so long for one of them before all are asked for again:
#: at first, and at the most.
LOOK_SECONDS = 0.05
MOST_LOOK_SECONDS = 1.0


class MultiLock:
    """Takes locks of several names together, or so many of them; nobody waits in a circle.

    Its names are its own: a :class:`Lock` of the same name is another lock. They are free again
    when they are released, and when the process that holds them ends.

    Parameters
    ----------
    names
        Of the locks, in any order: each counts once, as text. None: no lock.
    client
        Accepted for compatibility: the client or worker of the calling code is used.

    Examples
    --------
    >>> def move(source, target):
    ...     with MultiLock([source, target]):
    ...         ...
    """

    def __init__(self, names: Iterable[Any] | None = None, client: Any = None) -> None:
        if not (names is None or isinstance(names, Iterable)):
            raise TypeError(f"MultiLock() takes a list of names, not {names!r:.80}")
        # (the letters of a name are no names)
        self.names = [names] if isinstance(names, str) else list(names or [])
        self._held: list[Lock] = []

    def acquire(
        self, blocking: bool = True, timeout: Any = None, num_locks: int | None = None
    ) -> Any:
        """Get them, all or so many.

        Parameters
        ----------
        blocking
            False: get them now or not at all.
        timeout
            For all of them together: seconds, or a text such as ``"200ms"``; None: no limit.
        num_locks
            How many are enough, of whichever names; None, or more than there are: all.

        Returns
        -------
        bool
            Whether they were got in time; if not, none is held.

        Raises
        ------
        RuntimeError
            This object has them already.
        ValueError
            There is a `timeout`, and nothing is waited for.
        """
        if num_locks is not None:
            try:
                num_locks = index(num_locks)
            except TypeError:
                raise TypeError(
                    f"num_locks is how many are enough, or None for all, not {num_locks!r:.80}"
                ) from None
        if not blocking:
            if timeout is not None:
                raise ValueError("can't specify a timeout for a non-blocking call")
            timeout = 0
        place = find_place("MultiLock")
        return run(place, self._acquire(place, seconds_of(timeout), num_locks))

    def release(self) -> Any:
        """Give back all that this object has.

        Raises
        ------
        ValueError
            This object has none.
        """
        place = find_place("MultiLock")
        if not self._held:
            raise ValueError("Lock is not yet acquired")
        return run(place, self._release())

    def locked(self) -> bool:
        """Whether this object has them."""
        return bool(self._held)

    def _acquire(self, place: Place, seconds: float | None, enough: int | None) -> Steps[bool]:
        if self._held:
            raise RuntimeError("This MultiLock has its locks already: release it first")
        # Each name once, in one order for all: then nobody waits in a circle.
        names = sorted({("multi-lock", str(name)) for name in self.names})
        wanted = len(names) if enough is None else min(enough, len(names))
        end = None if seconds is None else time.monotonic() + seconds
        locks = [Lock("/".join(name)) for name in names]
        if wanted == len(locks):
            held = yield from _take(place, locks, end, len(locks))
        else:
            held = yield from _take_some(place, locks, end, wanted)
        self._held = held or []
        return held is not None

    def _release(self) -> Steps[None]:
        held, self._held = self._held, []
        yield from _let_go(held)

    def __enter__(self: _Self) -> _Self:
        place = find_place("MultiLock")
        if place.asynchronous:
            raise TypeError("Use `async with` for a MultiLock here")
        run(place, self._acquire(place, None, None))
        return self

    def __exit__(self, *error: Any) -> None:
        if self._held:
            self.release()

    async def __aenter__(self: _Self) -> _Self:
        place = find_place("MultiLock")
        await run_async(place, self._acquire(place, None, None))
        return self

    async def __aexit__(self, *error: Any) -> None:
        await run_async(find_place("MultiLock"), self._release())

    def __reduce__(self) -> tuple[Any, ...]:
        return MultiLock, (self.names,)


def _take(
    place: Place, locks: Sequence[Lock], end: float | None, wanted: int
) -> Steps[list[Lock] | None]:
    """Take them one after the other; None: not all in time, and none is kept.

    What is kept when an error comes, Ctrl-C too, goes with the objects that have it.
    """
    held: list[Lock] = []
    for lock in locks[:wanted]:
        left = None if end is None else max(0.0, end - time.monotonic())
        if not (yield from lock._acquire(place, left)):
            yield from _let_go(held)
            return None
        held.append(lock)
    return held


def _take_some(
    place: Place, locks: Sequence[Lock], end: float | None, wanted: int
) -> Steps[list[Lock] | None]:
    """Take so many of them, whichever are free; wait for one that was not, without any other."""
    waited: Lock | None = None
    look_seconds = LOOK_SECONDS
    while True:
        held = [] if waited is None else [waited]
        missed: Lock | None = None
        for lock in locks:
            if len(held) >= wanted:
                break
            if lock is not waited:
                if (yield from lock._acquire(place, 0.0)):
                    held.append(lock)
                else:
                    missed = lock
        if len(held) >= wanted:
            return held
        yield from _let_go(held)
        left = inf if end is None else end - time.monotonic()
        assert missed is not None
        if left <= 0:
            return None
        # Another one may be free first: all are asked for again after a while.
        got = yield from missed._acquire(place, min(left, look_seconds))
        waited = missed if got else None
        look_seconds = min(2 * look_seconds, MOST_LOOK_SECONDS)


def _let_go(held: Iterable[Lock]) -> Steps[None]:
    for lock in held:
        lease, shared = lock._leases.popleft()
        yield from lock._release(lease, shared)
