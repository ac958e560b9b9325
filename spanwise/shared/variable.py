"""A variable: a value under a name."""

from __future__ import annotations

from typing import Any

from spanwise.shared.place import find_place
from spanwise.shared.requests import Call
from spanwise.shared.steps import Steps, checked, run
from spanwise.shared.values import name_text, new_name, open_value, pack_value, seconds_of


class Variable:
    """A value that clients and tasks share under a name.

    The scheduler keeps it: at most 10 MiB. Futures are refused.

    Parameters
    ----------
    name
        Default: one of its own.
    client
        Default: in a task its worker, else the current client.
    """

    def __init__(self, name: Any = None, client: Any = None) -> None:
        self._client = client
        self.name = name or new_name("variable")

    def set(self, value: Any, timeout: Any = "30 s", **kwargs: Any) -> Any:
        """Give it a value; who waits for the first one gets it.

        Parameters
        ----------
        value
            Anything that can be pickled; lists of plain values arrive as tuples.
        timeout
            Accepted for compatibility: nothing is waited for but the scheduler's answer.

        Raises
        ------
        TypeError
            A future, or what cannot be pickled.
        ValueError
            It is too large.
        ClusterError
            There is no room for it.
        """
        return self._run(self._set(pack_value(value)))

    def get(self, timeout: Any = None, **kwargs: Any) -> Any:
        """Return its value; wait for the first one.

        Parameters
        ----------
        timeout
            Seconds, or a text such as ``"200ms"``; None: no limit.

        Raises
        ------
        TimeoutError
            It got none in time.
        """
        return self._run(self._get(seconds_of(timeout)))

    def delete(self) -> Any:
        """Forget its value, for all who use the name."""
        return self._run(self._delete())

    def _run(self, steps: Steps[Any]) -> Any:
        return run(find_place("Variable", self._client), steps)

    def _set(self, value: bytes) -> Steps[None]:
        yield from checked(Call("variable", "set", name_text(self.name), value=value))

    def _get(self, seconds: float | None) -> Steps[Any]:
        answer = yield from checked(Call("variable", "get", name_text(self.name), seconds))
        if answer.outcome != "done":
            raise TimeoutError(f"Variable {self.name!r} got no value in {seconds:g} s")
        return open_value(answer.values[0])

    def _delete(self) -> Steps[None]:
        yield from checked(Call("variable", "delete", name_text(self.name)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.name,)
