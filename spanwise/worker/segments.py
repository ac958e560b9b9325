"""Large results in memory that peers and clients see, instead of a copy through a socket.

::

    result ── first asked for ──▶ segment ── lent ──▶ peer, client, … each with a map of its own
                 copied once        │ kept for the next reader: arrays now lie in it, and the memory
                                    │ from before is free
    released here, given back by all ──▶ free: the next result is written into it ──▶ closed

A segment that a peer has lent may be lent on: a result that all workers hold is in memory once.
One is written to again only if everyone who had it has said that they have done with it. If
somebody ended without a word, it is closed, and the system frees it with the last process.

Each process that holds a segment tries for its lock: who has it counts the memory as its own
(:func:`spanwise.wire.segments.count_here`).
"""

from __future__ import annotations

import errno
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from spanwise.wire import payload
from spanwise.wire import segments as memory
from spanwise.wire.foreign import said
from spanwise.worker.segment import Segment

if TYPE_CHECKING:
    from spanwise.worker.needs import Sharing

#: Smaller results go through the socket.
SHARE_BYTES = 2**20
#: Free segments are kept for the next result for so long, and so many bytes of them; at most
#: this share of the memory limit.
FREE_SECONDS, FREE_BYTES, FREE_SHARE = 2.0, 2**30, 1 / 8
#: A result moves into its segment if so much of it are buffers: the rest would be there twice.
BUFFER_SHARE = 0.9
#: Packages of types that are the same after pickling and unpickling: results of these move. Others
#: are copied for each reader, as nobody knows what else holds on to them.
_MOVABLE = frozenset(("numpy", "pandas", "pyarrow"))
#: Copying the same result twice at the same time is prevented by one of so many locks.
_LOCKS = 16


class Segments:
    """The segments of one worker.

    Parameters
    ----------
    limit
        The worker's memory limit in bytes; 0: none.
    share_bytes
        From how many bytes on a result is shared; 0: never.
    """

    #: For sentences about what fills the memory.
    what = "memory kept ready for results"

    def __init__(self, limit: float, share_bytes: int = SHARE_BYTES) -> None:
        self.limit = limit
        self.share_bytes = share_bytes if memory.IS_POSSIBLE else 0
        #: Why nothing is shared now; empty: nothing has been refused.
        self.refusal = ""
        self._refused_until = 0.0
        self._is_full_told = False
        self._free_bytes = FREE_BYTES if limit <= 0 else min(FREE_BYTES, int(FREE_SHARE * limit))
        self._most = memory.most_at_once()
        self._copying = [threading.Lock() for _ in range(_LOCKS)]
        #: Around all below.
        self._lock = threading.Lock()
        self._all: dict[int, Segment] = {}
        self._serial = 0
        #: Own ones that are neither lent nor mapped, the newest last.
        self._free: list[Segment] = []
        #: Maps end on any thread at any moment: without the lock.
        self._ended: deque[Segment] = deque()

    # ── lending ───────────────────────────────────────────────────────────

    def room(self) -> int:
        """How many more segments this process may hold."""
        if not self.share_bytes or perf_counter() < self._refused_until:
            return 0
        return max(0, self._most - len(self._all))

    def kept(self, worker: Sharing, task_id: int, value: Any) -> Segment | None:
        """Return the segment in which a result lies, lent once more.

        `value`: as the caller holds it, so that its map stays.
        """
        with worker.lock:
            segment = worker.table.shared.get(task_id)
            if segment is None or worker.table.values.get(task_id) is not value:
                return None
        self.settle()
        with self._lock:
            # (code of the user's may have put other memory into a dataframe, or unpickling copied)
            if segment.has_map:
                segment.lent += 1
                return segment
        return None

    def copy(
        self, worker: Sharing, task_id: int, value: Any, buffers: Sequence[payload.Buffer]
    ) -> Segment | None:
        """Write a result into a segment, and lend it; None: it goes through the socket.

        The result moves into the segment if it can, so that it is not in memory twice.
        """
        nbytes = payload.nbytes(buffers)
        with self._copying[task_id % _LOCKS]:
            found = self.kept_now(worker, task_id)
            if found is not None:
                return found
            segment = self._take(worker, nbytes)
            if segment is None:
                return None
            try:
                memory.fill(segment.descriptor, buffers)
            except BaseException as error:
                self._given_up(segment)
                if not isinstance(error, OSError):
                    raise
                self._refused(worker, error)
                return None
            segment.nbytes = nbytes
            segment.used = max(segment.used, nbytes)
            if _is_movable(value, buffers, nbytes):
                self._move(worker, task_id, value, segment)
            return segment

    def kept_now(self, worker: Sharing, task_id: int) -> Segment | None:
        """The same as `kept` of whatever is the result now."""
        with worker.lock:
            value = worker.table.values.get(task_id)
        return None if value is None else self.kept(worker, task_id, value)

    def _take(self, worker: Sharing, nbytes: int) -> Segment | None:
        """Return a segment with room, marked as lent."""
        self.settle()
        with self._lock:
            for index in range(len(self._free) - 1, -1, -1):
                if nbytes <= self._free[index].length <= 2 * nbytes:
                    before = self._free.pop(index)
                    del self._all[before.number]
                    segment = before.renewed()
                    self._number(segment)
                    return segment
        if not self._fits(worker, nbytes):
            return None
        if self.room() <= 0:
            if self.share_bytes and not self._is_full_told and not self.refusal:
                self._is_full_told = True
                worker.send(
                    "event",
                    {
                        "kind": "sharing-full",
                        "text": f"{self._most} large results are shared without a copy; "
                        "others go through sockets.",
                    },
                )
            return None
        length = _rounded(nbytes)
        try:
            descriptor = memory.create(length)
        except OSError as error:
            self._refused(worker, error)
            return None
        segment = Segment(0, descriptor, length, True)
        segment.is_counted = memory.count_here(descriptor)
        segment.lent = 1
        self._add(segment)
        self.refusal = ""
        return segment

    def _fits(self, worker: Sharing, nbytes: int) -> bool:
        """Whether a copy would leave the process below the share at which results are spilled."""
        return worker.spill.fits(worker.process_bytes() + nbytes)

    def _add(self, segment: Segment) -> None:
        with self._lock:
            self._number(segment)

    def _number(self, segment: Segment) -> None:
        self._serial = (self._serial + 1) % 2**32
        while self._serial in self._all:
            self._serial = (self._serial + 1) % 2**32
        segment.number = self._serial
        self._all[segment.number] = segment

    def _move(self, worker: Sharing, task_id: int, value: Any, segment: Segment) -> None:
        """Let the result lie in its segment."""
        try:
            moved = worker.library.loads(self._map(segment))
        except Exception:  # noqa: BLE001 (whoever asked has the same error, and is told)
            return
        with worker.lock:
            if worker.table.values.get(task_id) is value:
                # (it keeps its place: it has not become newer)
                worker.table.values[task_id] = moved
                worker.table.shared[task_id] = segment

    def _map(self, segment: Segment) -> memoryview:
        mapped = memory.open_private(segment.descriptor, segment.nbytes)
        segment.has_map = True
        weakref.finalize(mapped.obj, self._ended.append, segment).atexit = False
        return mapped

    def descriptor(self, worker: Sharing, segment: Segment) -> int | None:
        """Return a descriptor to send; None: it goes through the socket."""
        try:
            with self._lock:
                # `look` may have closed it, and the number of its descriptor be another file's now:
                # a process that was stopped goes on with what it was at, seconds later.
                if self._all.get(segment.number) is not segment:
                    return None
                descriptor = memory.lend(segment.descriptor)
                segment.free_since = perf_counter()
        except OSError as error:
            self._refused(worker, error)
            self.returned([segment.number])
            return None
        return descriptor

    def returned(self, numbers: Sequence[int]) -> None:
        """Somebody no longer sees these: one number for each time that it was lent to them."""
        with self._lock:
            for number in numbers:
                segment = self._all.get(number)
                if segment is not None and segment.lent:
                    segment.lent -= 1
        self.settle(numbers)

    def lost(self, numbers: Sequence[int]) -> None:
        """Somebody is gone and may see these for ever: nothing may be written there again."""
        with self._lock:
            for number in numbers:
                segment = self._all.get(number)
                if segment is not None:
                    segment.is_safe = False
                    segment.lent = max(0, segment.lent - 1)
        self.settle(numbers)

    # ── what peers and clients lend ───────────────────────────────────────

    def take_in(self, worker: Sharing, lent: memory.Lent) -> tuple[Segment | None, memoryview]:
        """Map what a client has put, for good; without room for it, copy it.

        Raises
        ------
        OSError, BrokenFrame
            As `borrow`.
        """
        if self.room() or not lent.has_come:
            return self.borrow(worker, lent, None)
        descriptor = lent.take()
        try:
            return None, memory.read(descriptor, lent.nbytes)
        finally:
            os.close(descriptor)

    def borrow(
        self, worker: Sharing, lent: memory.Lent, return_it: Callable[[], None] | None
    ) -> tuple[Segment, memoryview]:
        """Map what was lent; `return_it` is called when nothing here sees it any more.

        Raises
        ------
        OSError
            There are no descriptors left, or no address space: nothing is shared for a while.
        BrokenFrame
            It is something else.
        """
        if not lent.has_come:
            error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            self._refused(worker, error)
            raise error
        segment = Segment(0, lent.take(), lent.nbytes, False)
        segment.used = segment.nbytes = lent.nbytes
        segment.return_it = return_it
        try:
            view = self._map(segment)
        except BaseException as error:
            os.close(segment.descriptor)
            if isinstance(error, OSError):
                self._refused(worker, error)
            raise
        self._add(segment)
        return segment, view

    def keep(self, worker: Sharing, task_id: int, value: Any, segment: Segment) -> None:
        """The value of a task lies in a segment, from which it can be lent on."""
        with worker.lock:
            if worker.table.values.get(task_id) is value:
                worker.table.shared[task_id] = segment

    # ── the ends of segments ──────────────────────────────────────────────

    def settle(self, numbers: Sequence[int] = ()) -> None:
        """Put what is free aside for the next result, and give back what was lent here.

        Parameters
        ----------
        numbers
            Look at these, besides those whose maps have ended.
        """
        if not self._ended and not numbers:
            return
        with self._lock:
            looked = [self._all[number] for number in numbers if number in self._all]
            with suppress(IndexError):
                while True:
                    segment = self._ended.popleft()
                    segment.has_map = False
                    segment.free_since = perf_counter()
                    looked.append(segment)
            for segment in looked:
                self._settle(segment)

    def _settle(self, segment: Segment) -> None:
        if segment.has_map or segment.lent or segment.number not in self._all:
            return
        if segment in self._free:
            return
        if segment.is_own and segment.is_safe:
            segment.free_since = perf_counter()
            self._free.append(segment)
            self._keep_few_free()
        else:
            self._close(segment)

    def _keep_few_free(self) -> None:
        while self._free and sum(each.used for each in self._free) > self._free_bytes:
            self._close(self._free[0])

    def _given_up(self, segment: Segment) -> None:
        with self._lock:
            segment.is_safe = False
            segment.lent = 0
            self._settle(segment)

    def _close(self, segment: Segment) -> None:
        """Let go of it; under the lock. Its memory goes with the last process that sees it."""
        self._all.pop(segment.number, None)
        if segment in self._free:
            self._free.remove(segment)
        os.close(segment.descriptor)
        if segment.return_it is not None and segment.is_safe and not segment.lent:
            segment.return_it()

    def look(self) -> None:
        """Let go of what has been free for long, and count what nobody else counts."""
        self.settle()
        if not self._all:
            return
        before = perf_counter() - FREE_SECONDS
        with self._lock:
            for segment in list(self._all.values()):
                if not segment.has_map and 0.0 < segment.free_since < before:
                    # Free, or readers that still see it have not said anything: it is theirs now.
                    self._close(segment)
                elif not segment.is_counted:
                    segment.is_counted = memory.count_here(segment.descriptor)

    # ── as a part of the worker's memory ──────────────────────────────────

    def counted_bytes(self) -> float:
        """Bytes of segments that are this process's memory."""
        with self._lock:
            return float(sum(each.used for each in self._all.values() if each.is_counted))

    def held_bytes(self) -> float:
        """Bytes of it in which no result here lies."""
        with self._lock:
            return float(sum(s.used for s in self._all.values() if s.is_counted and not s.has_map))

    def give_up(self, wanted: float) -> float:
        """Let go of free segments; return how many bytes went."""
        gone = 0.0
        self.settle()
        with self._lock:
            while self._free and gone < wanted:
                gone += self._free[0].used
                self._close(self._free[0])
        return gone

    def elsewhere_bytes(self, worker: Sharing) -> float:
        """Bytes of results here that another process counts as its memory."""
        if not worker.table.shared:
            return 0.0
        with worker.lock:
            table = worker.table
            return sum(
                table.sizes[task_id]
                for task_id, segment in table.shared.items()
                if segment.is_elsewhere
            )

    def _refused(self, worker: Sharing, error: OSError) -> None:
        self._refused_until = perf_counter() + memory.REFUSED_SECONDS
        is_told = bool(self.refusal)
        self.refusal = (
            "Large results go through sockets and are copied: memory cannot be shared with other "
            f"processes ({said(error)})."
        )
        if not is_told:
            worker.send("event", {"kind": "sharing-refused", "text": self.refusal})


def _rounded(nbytes: int) -> int:
    """A length that also suits a slightly larger result; what is not written takes nothing."""
    step = max(4096, 1 << max(0, nbytes.bit_length() - 4))
    return -(-nbytes // step) * step


def _is_movable(value: Any, buffers: Sequence[payload.Buffer], nbytes: int) -> bool:
    if type(value).__module__.partition(".")[0] not in _MOVABLE:
        return False
    large = sum(len(each) for each in map(_bytes_of, buffers) if each is not None)
    return large >= BUFFER_SHARE * nbytes


def _bytes_of(buffer: payload.Buffer) -> memoryview | None:
    """A buffer that is no part of the pickle itself."""
    return buffer.cast("B") if isinstance(buffer, memoryview) else None
