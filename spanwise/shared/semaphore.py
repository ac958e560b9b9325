"""A semaphore: so many leases under a name."""

from __future__ import annotations

import sys
import uuid
from collections import deque
from collections.abc import Generator
from operator import index
from typing import Any, TypeVar

import dask
from dask.utils import parse_timedelta

from spanwise.shared.place import Place, find_place
from spanwise.shared.requests import Answer, Call, SharedRequests
from spanwise.shared.steps import Steps, checked, run, run_async
from spanwise.shared.values import name_text, new_name, seconds_of

#: Where the settings do not say it: as `distributed`'s.
_LEASE_TIMEOUT = "30s"
_Self = TypeVar("_Self", bound="Semaphore")


class Semaphore:
    """So many leases that clients and tasks share under a name.

    A lease ends when it is released, and with the process that holds it. One whose semaphore
    object was forgotten without a release ends after
    ``distributed.scheduler.locks.lease-timeout``, 30 s; ``inf``: never.

    Parameters
    ----------
    max_leases
        How many may be held at a time; all who use the name must say the same.
    name
        Default: one of its own.
    scheduler_rpc, loop
        Accepted for compatibility: there are none.

    Examples
    --------
    >>> def read(path, two_at_a_time):
    ...     with two_at_a_time:
    ...         return open(path).read()
    >>> client.map(read, paths, two_at_a_time=Semaphore(2, "disk"))     # doctest: +SKIP
    """

    _kind = "semaphore"

    def __init__(
        self, max_leases: int = 1, name: Any = None, scheduler_rpc: Any = None, loop: Any = None
    ) -> None:
        try:
            self.max_leases = index(max_leases)
        except TypeError:
            raise TypeError(
                f"max_leases is a number of leases at a time, not {max_leases!r:.80}"
            ) from None
        self.name = name or new_name(self._kind)
        self.id = uuid.uuid4().hex
        self._registered = False
        #: The oldest first, each with the link by which it was got.
        self._leases: deque[tuple[str, SharedRequests]] = deque()

    def register(self, **kwargs: Any) -> Any:
        """Make it known, if it is not.

        Raises
        ------
        ValueError
            There is one of this name with another number of leases.
        """
        return run(self._place(), self._register())

    def acquire(self, timeout: Any = None) -> Any:
        """Get a lease, in the order of asking.

        Parameters
        ----------
        timeout
            Seconds, or a text such as ``"200ms"``; None: no limit.

        Returns
        -------
        bool
            Whether there was one in time.

        Raises
        ------
        RuntimeError
            It was closed.
        """
        place = self._place()
        return run(place, self._acquire(place, seconds_of(timeout)))

    def release(self) -> Any:
        """Give back the oldest lease that this object has.

        Returns
        -------
        bool
            True.

        Raises
        ------
        RuntimeError
            It has none.
        """
        if not self._leases:
            raise RuntimeError("Released too often")
        asynchronous = self._place().asynchronous
        lease, shared = self._leases.popleft()
        return run(Place(shared, asynchronous), self._release(lease, shared))

    def get_value(self) -> Any:
        """How many leases are held."""
        return run(self._place(), self._count())

    def close(self) -> Any:
        """Forget it: whoever waits for a lease, or asks again for one, gets an error."""
        return run(self._place(), self._close())

    def _place(self) -> Place:
        return find_place(type(self).__name__)

    def _call(self, what: str, seconds: float | None = 0.0, **fields: Any) -> Call:
        return Call("semaphore", what, name_text(self.name), seconds, fields)

    def _numbers(self) -> dict[str, Any]:
        return {"limit": max(0, self.max_leases), "leaseSeconds": _lease_seconds()}

    def _register(self) -> Steps[None]:
        if self._registered:
            return
        self._check((yield from checked(self._call("register", **self._numbers()))))
        self._registered = True

    def _acquire(self, place: Place, seconds: float | None) -> Steps[bool]:
        lease = uuid.uuid4().hex
        release = self._call("release", lease=lease)
        call = self._call(
            "acquire", seconds, lease=lease, isKnown=self._registered, **self._numbers()
        )._replace(undo=lambda answer: [release])
        place.shared.be_ready_to_tell()
        try:
            answer = yield from checked(call)
            self._check(answer)
            self._registered = True
            if answer.outcome == "done":
                self._leases.append((lease, place.shared))
        except Exception:
            raise
        except BaseException:  # Ctrl-C, maybe as the answer came
            place.shared.tell_later(release)
            raise
        return answer.outcome == "done"

    def _check(self, answer: Answer) -> None:
        if answer.outcome == "inconsistent":
            raise ValueError(answer.why)
        if answer.outcome == "unknown":
            raise RuntimeError(f"Semaphore or Lock `{self.name}` not known. {answer.why}")

    def _release(self, lease: str, shared: SharedRequests) -> Steps[bool]:
        release = self._call("release", lease=lease)
        try:
            yield from checked(release)
        except BaseException:
            shared.tell_later(release)  # it is in nobody's hands any more
            raise
        return True

    def _count(self) -> Steps[int]:
        return (yield from checked(self._call("count"))).number

    def _close(self) -> Steps[None]:
        yield from checked(self._call("close"))

    def __enter__(self: _Self) -> _Self:
        place = self._place()
        if place.asynchronous:
            raise TypeError(f"Use `async with` for a {type(self).__name__} here")
        run(place, self._acquire(place, None))
        return self

    def __exit__(self, *error: Any) -> None:
        self.release()

    async def __aenter__(self: _Self) -> _Self:
        place = self._place()
        await run_async(place, self._acquire(place, None))
        return self

    async def __aexit__(self, *error: Any) -> None:
        if not self._leases:
            raise RuntimeError("Released too often")
        lease, shared = self._leases.popleft()
        await run_async(Place(shared, True), self._release(lease, shared))

    def __await__(self: _Self) -> Generator[Any, None, _Self]:
        async def made() -> _Self:
            await run_async(self._place(), self._register())
            return self

        return made().__await__()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_leases, self.name)

    def __del__(self) -> None:
        if sys is None or sys.is_finalizing():
            return
        for lease, shared in getattr(self, "_leases", ()):
            shared.tell_later(self._call("abandon", lease=lease))


def _lease_seconds() -> float | None:
    said = dask.config.get("distributed.scheduler.locks.lease-timeout", _LEASE_TIMEOUT)
    return None if said in ("inf", None) else float(parse_timedelta(said, default="s"))
