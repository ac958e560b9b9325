"""A lock: a semaphore with one lease."""

from __future__ import annotations

from typing import Any

from spanwise.shared.semaphore import Semaphore
from spanwise.shared.steps import Steps, run


class Lock(Semaphore):
    """A lock that clients and tasks share under a name.

    It is free again when it is released, and when the process that holds it ends: see
    :class:`Semaphore`, with which it shares names.

    Parameters
    ----------
    name
        Default: one of its own.
    scheduler_rpc, loop
        Accepted for compatibility: there are none.

    Examples
    --------
    >>> def append(line):
    ...     with Lock("the-file"):
    ...         ...
    >>> client.map(append, lines)                               # doctest: +SKIP
    """

    _kind = "lock"

    def __init__(self, name: Any = None, scheduler_rpc: Any = None, loop: Any = None) -> None:
        super().__init__(1, name)

    def acquire(  # type: ignore[override]
        self, blocking: bool = True, timeout: Any = None
    ) -> Any:
        """Get it, in the order of asking.

        Parameters
        ----------
        blocking
            False: get it now or not at all.
        timeout
            Seconds, or a text such as ``"200ms"``; None: no limit.

        Returns
        -------
        bool
            Whether it was got in time.

        Raises
        ------
        RuntimeError
            It was closed.
        ValueError
            There is a `timeout`, and nothing is waited for.
        """
        if not blocking:
            if timeout is not None:
                raise ValueError("can't specify a timeout for a non-blocking call")
            timeout = 0
        return super().acquire(timeout)

    def locked(self) -> Any:
        """Whether anybody has it."""
        return run(self._place(), self._locked())

    def _locked(self) -> Steps[bool]:
        return (yield from self._count()) == 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, (self.name,)
