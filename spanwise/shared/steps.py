"""Runs what takes several calls: written once, run blocking or as a coroutine.

::

    def steps():                      run(place, steps())
        answer = yield Call(…)        → what it returns, or a coroutine of that
        return answer.count
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from spanwise.errors import ClusterError
from spanwise.shared.place import Place
from spanwise.shared.requests import Answer, Call, SharedRequests

T = TypeVar("T")
Steps = Generator[Call, Answer, T]


def run(place: Place, steps: Steps[Any]) -> Any:
    """Make the calls; returns a coroutine where the place is asynchronous."""
    if place.asynchronous:
        return _run_async(place.shared, steps)
    return _run(place.shared, steps)


async def run_async(place: Place, steps: Steps[T]) -> T:
    """Make the calls in an event loop, whatever the place."""
    return await _run_async(place.shared, steps)


def checked(call: Call) -> Steps[Answer]:
    """Make one call.

    Raises
    ------
    ClusterError
        There is no room for it.
    """
    answer = yield call
    if answer.outcome in ("full", "refused"):
        raise ClusterError(answer.why)
    return answer


def _run(shared: SharedRequests, steps: Steps[T]) -> T:
    held: list[Answer] = []
    try:
        call = next(steps)
        while True:
            try:
                answer = shared.ask(call)
            except BaseException as error:  # noqa: BLE001 (raised where the call was made)
                call = steps.throw(error)
            else:
                held += [answer] if answer.hold else []
                call = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        _let_go(shared, held)


async def _run_async(shared: SharedRequests, steps: Steps[T]) -> T:
    held: list[Answer] = []
    try:
        call = next(steps)
        while True:
            try:
                answer = await shared.ask_async(call)
            except BaseException as error:  # noqa: BLE001 (as above)
                call = steps.throw(error)
            else:
                held += [answer] if answer.hold else []
                call = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        _let_go(shared, held)


def _let_go(shared: SharedRequests, held: list[Answer]) -> None:
    """End all holds, those excepted whose end has been told: by who adopted, or put back."""
    for answer in held:
        if not answer.hold.is_let_go:
            shared.take_back(answer)
