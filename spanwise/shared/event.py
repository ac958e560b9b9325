"""An event: a flag under a name."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from spanwise.shared.place import find_place
from spanwise.shared.requests import Call
from spanwise.shared.steps import Steps, checked, run
from spanwise.shared.values import name_text, new_name, seconds_of


class Event:
    """A flag that clients and tasks share under a name; it is not set to begin with.

    Parameters
    ----------
    name
        Default: one of its own.
    client
        Default: in a task its worker, else the current client.

    Examples
    --------
    >>> ready = Event("ready")                                  # doctest: +SKIP
    >>> future = client.submit(Event("ready").wait)             # doctest: +SKIP
    >>> ready.set()                                             # doctest: +SKIP
    """

    def __init__(self, name: Any = None, client: Any = None) -> None:
        self._client = client
        self.name = name or new_name("event")

    def wait(self, timeout: Any = None) -> Any:
        """Wait until it is set.

        Parameters
        ----------
        timeout
            Seconds, or a text such as ``"200ms"``; None: no limit.

        Returns
        -------
        bool
            Whether it is set.
        """
        return self._run(self._ask("wait", seconds_of(timeout)))

    def set(self) -> Any:
        """Set it: all who wait go on."""
        return self._run(self._tell("set"))

    def clear(self) -> Any:
        """Clear it: who waits from now on waits until it is set again."""
        return self._run(self._tell("clear"))

    def is_set(self) -> Any:
        """Whether it is set."""
        return self._run(self._is_set())

    def _run(self, steps: Steps[Any]) -> Any:
        return run(find_place("Event", self._client), steps)

    def _ask(self, what: str, seconds: float | None) -> Steps[bool]:
        answer = yield from checked(Call("event", what, name_text(self.name), seconds))
        return answer.outcome == "done"

    def _tell(self, what: str) -> Steps[None]:
        yield from self._ask(what, 0)

    def _is_set(self) -> Steps[bool]:
        answer = yield from checked(Call("event", "count", name_text(self.name)))
        return answer.number > 0

    def __await__(self) -> Generator[Any, None, Event]:
        async def made() -> Event:
            return self

        return made().__await__()

    def __reduce__(self) -> tuple[Any, ...]:
        return Event, (self.name,)
