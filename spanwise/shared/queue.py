"""A queue under a name."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from operator import index
from typing import Any

from spanwise.shared.place import find_place
from spanwise.shared.requests import Answer, Call
from spanwise.shared.steps import Steps, checked, run
from spanwise.shared.values import name_text, new_name, open_values, pack_value, seconds_of


class Queue:
    """A queue that clients and tasks share under a name.

    The scheduler keeps the items: each at most 10 MiB. Of a future in one, it is the task
    that is kept: whoever gets the item has a future of that task.

    Parameters
    ----------
    name
        Default: one of its own.
    client
        Default: in a task its worker, else the current client.
    maxsize
        How many items it takes, 0: any number. Of several who say it the first counts.
    """

    def __init__(self, name: Any = None, client: Any = None, maxsize: int = 0) -> None:
        try:
            maxsize = index(maxsize)
        except TypeError:
            raise TypeError(
                f"maxsize is a whole number of items, 0 for any number, not {maxsize!r:.80}"
            ) from None
        self._client = client
        self.name = name or new_name("queue")
        self.maxsize = maxsize
        self._opened = False
        try:
            place = find_place("Queue", client)
        except RuntimeError:
            return  # it is opened when it is first used
        place.shared.tell(self._call("open"))
        self._opened = True

    def put(self, value: Any, timeout: Any = None, **kwargs: Any) -> Any:
        """Put an item in; wait while it is full.

        Parameters
        ----------
        value
            Anything that can be pickled; lists of plain values arrive as tuples.
        timeout
            Seconds, or a text such as ``"200ms"``; None: no limit.

        Raises
        ------
        TimeoutError
            It was full for so long.
        TypeError
            It cannot be pickled.
        ValueError
            It is too large.
        ClusterError
            The scheduler has no room for it, or a future in it was released.
        """
        content, futures = pack_value(value)
        return self._run(self._put(content, futures, seconds_of(timeout)), futures)

    def get(self, timeout: Any = None, batch: bool | int = False, **kwargs: Any) -> Any:
        """Take the oldest item out; wait while there is none.

        Parameters
        ----------
        timeout
            Seconds, or a text such as ``"200ms"``; None: no limit.
        batch
            True: a list of what is there, without waiting. A number: a list of so many.

        Raises
        ------
        TimeoutError
            Nothing came in time.
        """
        seconds = seconds_of(timeout)
        if batch is True:
            return self._run(self._get_all())
        if batch is False:
            return self._run(self._get_one(seconds))
        try:
            batch = index(batch)
        except TypeError:
            raise TypeError(
                f"batch is True, False, or a whole number of items, not {batch!r:.80}"
            ) from None
        if batch < 0:
            raise ValueError(f"batch is a whole number of items from 0, not {batch}")
        if seconds is not None:
            raise NotImplementedError(
                "Queues don't support simultaneous use of integer batch sizes and timeouts"
            )
        return self._run(self._get_many(batch))

    def qsize(self, **kwargs: Any) -> Any:
        """How many items are in it."""
        return self._run(self._size())

    def close(self) -> Any:
        """Be done with it; when all who have opened it are, its items go."""
        return self._run(self._close())

    def _run(self, steps: Steps[Any], futures: Sequence[Any] = ()) -> Any:
        place = find_place("Queue", self._client)
        if not self._opened:
            place.shared.tell(self._call("open"))
            self._opened = True
        return run(place.of(futures), steps)

    def _call(self, what: str, seconds: float | None = 0.0, value: bytes | None = None) -> Call:
        fields = {"limit": max(0, self.maxsize)}
        return Call("queue", what, name_text(self.name), seconds, fields, value)

    def _put(self, value: bytes, futures: list[Any], seconds: float | None) -> Steps[None]:
        call = self._call("put", seconds, value)._replace(futures=futures)
        answer = yield from checked(call)
        if answer.outcome != "done":
            raise TimeoutError(f"Queue {self.name!r} was full for {seconds:g} s")

    def _get_one(self, seconds: float | None) -> Steps[Any]:
        answer = yield from self._take(1, seconds)
        return self._open(answer)[0]

    def _get_many(self, count: int) -> Steps[list[Any]]:
        answers: list[Answer] = []
        taken: list[bytes] = []
        # One for all answers: there may be one for each item, and the scheduler keeps 10,000 holds.
        hold = 0
        place = find_place("Queue", self._client)
        try:
            while len(taken) < count:
                answer = yield from self._take(count - len(taken), None, hold)
                answers.append(answer)
                hold = int(answer.hold) or hold
                taken += answer.values
        except BaseException:
            if answers:
                place.shared.put_back(answers, self._undo, self._call("count"))
            raise
        return open_values(taken, self._client, [answer.hold for answer in answers])

    def _get_all(self) -> Steps[list[Any]]:
        call = self._call("getAll")._replace(undo=self._undo)
        answer = yield from checked(call)
        return self._open(answer)

    def _open(self, answer: Answer) -> list[Any]:
        return open_values(answer.values, self._client, [answer.hold])

    def _take(self, most: int, seconds: float | None, hold: int = 0) -> Steps[Answer]:
        call = self._call("get", seconds)._replace(undo=self._undo)
        fields = {**call.fields, "count": most, "hold": hold}
        answer = yield from checked(call._replace(fields=fields))
        if answer.outcome != "done":
            raise TimeoutError(f"Nothing came into queue {self.name!r} in {seconds:g} s")
        return answer

    def _undo(self, answer: Answer) -> list[Call]:
        """Have items that were taken be the next ones again, in their order."""
        call = self._call("putBack")
        call = call._replace(fields={**call.fields, "hold": int(answer.hold)})
        return [call._replace(value=value) for value in reversed(answer.values)]

    def _size(self) -> Steps[int]:
        return (yield from checked(self._call("count"))).number

    def _close(self) -> Steps[None]:
        self._opened = False
        yield from checked(self._call("close"))

    def __await__(self) -> Generator[Any, None, Queue]:
        async def made() -> Queue:
            return self

        return made().__await__()

    def __reduce__(self) -> tuple[Any, ...]:
        return Queue, (self.name, None, self.maxsize)
