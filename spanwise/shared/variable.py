"""A variable: a value under a name."""

from __future__ import annotations

from typing import Any

from spanwise.shared.place import find_place
from spanwise.shared.requests import Call
from spanwise.shared.steps import Steps, checked, run
from spanwise.shared.values import name_text, new_name, open_values, pack_value, seconds_of


class Variable:
    """A value that clients and tasks share under a name.

    The scheduler keeps it: at most 10 MiB. Of a future in it, it is the task that is
    kept: whoever gets the value has a future of that task.

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
            It cannot be pickled.
        ValueError
            It is too large.
        ClusterError
            There is no room for it, or a future in it was released.
        """
        content, futures = pack_value(value)
        place = find_place("Variable", self._client).of(futures)
        return run(place, self._set(content, futures))

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

    def _set(self, value: bytes, futures: list[Any]) -> Steps[None]:
        name = name_text(self.name)
        yield from checked(Call("variable", "set", name, value=value, futures=futures))

    def _get(self, seconds: float | None) -> Steps[Any]:
        answer = yield from checked(Call("variable", "get", name_text(self.name), seconds))
        if answer.outcome != "done":
            raise TimeoutError(f"Variable {self.name!r} got no value in {seconds:g} s")
        return open_values(answer.values, self._client, [answer.hold])[0]

    def _delete(self) -> Steps[None]:
        yield from checked(Call("variable", "delete", name_text(self.name)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.name,)
