"""What came into a worker from others and went out of it: the logs of the worker object.

A transfer is one request of results and its answer, however many frames that has::

    begin ─────────── ends_soon ──────── done
      open: counted       │   who reads     │   in the log
                          │  the log waits  │

Who asked may run a task and tell its client before this worker's thread has noted the end of
the answer: what is read after that must have it all the same.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from spanwise.graph.key_from_text import key_of
from spanwise.wire.clock import ClockOffset
from spanwise.wire.schema import MOST_KEYS_ASKED

#: Transfers in a log if its user did not say, as in Dask, and results in all of them together.
LOG_LENGTH = 1000
MOST_RESULTS = 100_000
#: As in Dask: nothing is infinitely fast.
SHORTEST_SECONDS = 0.001
#: So long a reader waits at most for transfers that are about to end.
SOON_SECONDS = 10.0

#: Finds the wall clock's time at the zero of the scheduler's clock, and the texts of keys.
AskKeys = Callable[[list[int]], tuple[float, list[str]]]


class Transfer:
    """One request and its answer. Times are perf_counter's.

    Attributes
    ----------
    who
        The number of the other worker; None: a client.
    ids, sizes
        What was transferred: tasks, and the bytes of their results.
    compressed
        What went through the socket, in bytes; of an answer that was received: not measured.
    """

    __slots__ = ("asked", "compressed", "ids", "is_open", "keys", "sizes", "start", "stop", "who")

    def __init__(self, who: int | None, start: float, asked: float) -> None:
        self.who = who
        self.start = start
        self.stop = start
        #: The bytes of what was asked for.
        self.asked = asked
        self.ids: array[int] = array("I")
        self.sizes: array[float] = array("d")
        self.compressed = 0
        self.is_open = True
        self.keys: list[Any] | None = None


class TransferLog:
    """The last transfers in one direction, and how many there are and were.

    Parameters
    ----------
    length
        So many are kept.

    Attributes
    ----------
    count, nbytes
        Of those that are open.
    count_total, nbytes_total
        Of all that were begun.
    """

    def __init__(self, length: int = LOG_LENGTH) -> None:
        self.length = length
        self.count = self.count_total = 0
        self.nbytes = self.nbytes_total = 0.0
        self._changed = threading.Condition()
        # Guarded by _changed.
        self._ended: deque[Transfer] = deque()
        self._results = 0
        self._ending: set[Transfer] = set()

    def begin(self, who: int | None, start: float, asked: float) -> Transfer:
        """Count one that begins."""
        transfer = Transfer(who, start, asked)
        with self._changed:
            self.count += 1
            self.count_total += 1
            self.nbytes += asked
            self.nbytes_total += asked
        return transfer

    def ends_soon(self, transfer: Transfer) -> None:
        """Have readers wait for it: what it brings may be used from now on."""
        with self._changed:
            self._ending.add(transfer)

    def done(
        self,
        transfer: Transfer,
        stop: float,
        moved: Sequence[tuple[int, float]],
        compressed: int = 0,
    ) -> None:
        """Log one that was answered to the end: (task id, bytes) of what moved."""
        transfer.stop = stop
        transfer.ids = array("I", [each[0] for each in moved])
        transfer.sizes = array("d", [each[1] for each in moved])
        transfer.compressed = compressed
        with self._changed:
            self._ended.append(transfer)
            self._results += len(moved)
            while len(self._ended) > self.length or (
                self._results > MOST_RESULTS and len(self._ended) > 1
            ):
                self._results -= len(self._ended.popleft().ids)
            self._close(transfer)

    def failed(self, transfer: Transfer) -> None:
        """Count one that was not answered to the end; nothing if it was."""
        with self._changed:
            if transfer.is_open:
                self._close(transfer)

    def _close(self, transfer: Transfer) -> None:
        transfer.is_open = False
        self.count -= 1
        self.nbytes -= transfer.asked
        if not self.count:
            self.nbytes = 0.0
        self._ending.discard(transfer)
        self._changed.notify_all()

    def ended(self) -> list[Transfer]:
        """Those in the log, after those that are about to end."""
        with self._changed:
            awaited = set(self._ending)
            self._changed.wait_for(lambda: not awaited & self._ending, SOON_SECONDS)
            return list(self._ended)


class Transfers:
    """All transfers of a worker.

    Parameters
    ----------
    length
        So many of each direction are kept.

    Attributes
    ----------
    addresses
        Worker number → address, also of workers that have gone.
    """

    def __init__(self, length: int = LOG_LENGTH) -> None:
        self.incoming = TransferLog(length)
        self.outgoing = TransferLog(length)
        self.addresses: dict[int, str] = {}
        #: What the wall clock said at the zero of the scheduler's clock; None: not asked yet.
        self._wall_zero: float | None = None

    def entries(self, log: TransferLog, ask: AskKeys, clock: ClockOffset) -> deque[dict[str, Any]]:
        """A log as Dask has it, oldest first.

        Parameters
        ----------
        ask
            Asks the scheduler for keys: workers are not told them.
        clock
            From perf_counter to the scheduler's.

        Raises
        ------
        TimeoutError
            The scheduler does not answer.
        """
        ended = log.ended()
        ids = list({task_id for each in ended if each.keys is None for task_id in each.ids})
        if ended and (ids or self._wall_zero is None):
            texts: dict[int, str] = {}
            for first in range(0, max(1, len(ids)), MOST_KEYS_ASKED):
                few = ids[first : first + MOST_KEYS_ASKED]
                self._wall_zero, told = ask(few)
                texts.update(zip(few, told, strict=True))
            for each in ended:
                if each.keys is None:
                    each.keys = [_key(task_id, texts[task_id]) for task_id in each.ids]
        is_outgoing = log is self.outgoing
        return deque((self._entry(each, is_outgoing, clock) for each in ended), log.length)

    def _entry(self, each: Transfer, is_outgoing: bool, clock: ClockOffset) -> dict[str, Any]:
        # One offset for both: an entry lasts as long as was measured.
        zero = (self._wall_zero or 0.0) + clock.at(each.start)
        start, stop = zero + each.start, zero + each.stop
        duration = max(SHORTEST_SECONDS, each.stop - each.start)
        sizes = [int(nbytes) for nbytes in each.sizes]
        total = sum(sizes)
        entry: dict[str, Any] = {
            "start": start,
            "stop": stop,
            "middle": (start + stop) / 2,
            "duration": duration,
            "who": None if each.who is None else self.addresses.get(each.who, f"worker {each.who}"),
            "keys": dict(zip(each.keys or (), sizes, strict=True)),
            "total": total,
        }
        if is_outgoing:
            entry["compressed"] = each.compressed
        entry["bandwidth"] = total / duration
        return entry


def _key(task_id: int, text: str) -> Any:
    return key_of(text) if text else f"forgotten-{task_id}"
