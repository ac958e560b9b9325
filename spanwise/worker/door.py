"""Serves a worker's results to peers and clients, and takes the data that clients put.

One thread per connected peer, which blocks: a busy worker answers within its thread
switch interval (0.5 ms), and two workers that send each other large results cannot
wait for each other, for fetching has threads of its own.

Large results do not go through the socket where they need not: `segments.py`.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.processes import forks
from spanwise.records.enumerations import (
    ITEM_MISSING,
    ITEM_NOT_PICKLED,
    ITEM_OK,
    ITEM_TOGETHER,
)
from spanwise.wire import direct, payload, raw_memory, small_arrays
from spanwise.wire.content import check_amounts, check_sizes
from spanwise.wire.errors import BrokenFrame, LinkClosed, LinkError
from spanwise.wire.foreign import said, type_name
from spanwise.wire.frame import Message
from spanwise.wire.frame_reader import MOST_DESCRIPTORS
from spanwise.wire.link import STALL_SECONDS, Link
from spanwise.wire.peer_answers import put_in_segments, together
from spanwise.worker.errors import CannotPickle, describe
from spanwise.worker.inline import plain_inline
from spanwise.worker.segments import BUFFER_SHARE
from spanwise.worker.spill_file import (
    Spilled,
    is_out_of_descriptors,
    tell_out_of_descriptors,
)
from spanwise.worker.transfer_log import Transfer

if TYPE_CHECKING:
    from spanwise.worker.segment import Segment
    from spanwise.worker.worker import Worker

#: A `data` frame holds about this much; the next item goes into another.
FRAME_BYTES = 32 * 2**20
#: And so many items: who asked opens these while the next ones are packed.
FRAME_ITEMS = 4096
#: The most numbers, or small arrays, in one list: two megabytes of numbers, for each is short.
MOST_TOGETHER = 65_536
#: Integers of more bits are long.
SHORT_BITS = 64
#: A caller that reads memory here does so at this many bytes per second at least.
SLOWEST_READ = 64 * 2**20
#: The longest that one request waits for data that was put here and is no task yet.
ADOPTION_SECONDS = 5.0
#: The context of what is measured here, as in Dask.
CONTEXT = "get-data"
_ABSENT = object()
_HAS_A_RESULT = frozenset((ITEM_OK, ITEM_TOGETHER))


class _Answer:
    """The answer to one `get`: frames of about `FRAME_BYTES`, and what it took to make them."""

    def __init__(self, link: Link, request: int, read_there: list[Any]) -> None:
        self._link = link
        self._request = request
        self._items: list[tuple[int, int, float]] = []
        self._blobs: list[Any] = []
        self._numbers: list[Any] = []
        #: Of the arrays among these.
        self._array_bytes = 0
        self._shared: list[tuple[int, int, float]] = []
        self._descriptors: list[int] = []
        self._direct: list[tuple[int, float, float, float]] = []
        #: What the caller reads from this process's memory stays until it has: of one frame.
        self._read_there = read_there
        self._is_being_read = False
        #: The memory of a result that has moved is freed when its answer is on its way.
        self._held: list[Any] = []
        self._size = 0
        self._begin = perf_counter()
        self.total = 0
        #: (task id, bytes) of the results that it has.
        self.moved: list[tuple[int, float]] = []
        #: Seconds of pickling, and of copying and sending.
        self.pickled = 0.0
        self.sent = 0.0

    @property
    def is_being_read(self) -> bool:
        """Whether the caller has still to say that it has read what the last frame names."""
        return self._is_being_read

    def missing(self, task_id: int) -> None:
        self._items.append((task_id, ITEM_MISSING, 0.0))

    def number(self, task_id: int, nbytes: float, value: Any) -> None:
        """Answer by one of the numbers that go together."""
        self._items.append((task_id, ITEM_TOGETHER, nbytes))
        self._numbers.append(value)
        if len(self._numbers) == MOST_TOGETHER:
            self.send(True)

    def array(self, task_id: int, nbytes: float, told: small_arrays.Told) -> None:
        """Answer by one of the arrays that go in a list with numbers."""
        self._array_bytes += len(told[2])
        self.number(task_id, nbytes, told)
        if self._size + self._array_bytes >= FRAME_BYTES:
            self.send(True)

    def payload(self, task_id: int, status: int, nbytes: float, blob: Any, size: int) -> None:
        """Answer by a blob of `size` bytes."""
        self._items.append((task_id, status, nbytes))
        self._blobs.append(blob)
        self._size += size
        if self._size + self._array_bytes >= FRAME_BYTES:
            self.send(True)

    def lent(
        self, task_id: int, nbytes: float, segment: Segment, descriptor: int, value: Any
    ) -> None:
        """Answer by a segment, whose descriptor is closed when it has been sent."""
        self._shared.append((len(self._items), segment.number, float(segment.nbytes)))
        self._descriptors.append(descriptor)
        self._held.append(value)
        if len(self._descriptors) == MOST_DESCRIPTORS:
            self._size = max(self._size, FRAME_BYTES - segment.nbytes)
        self.payload(task_id, ITEM_OK, nbytes, b"", segment.nbytes)

    def direct(self, task_id: int, nbytes: float, buffers: list[Any]) -> None:
        """Answer by saying where the payload lies."""
        if self._is_being_read:
            self._await_got()
        small, pieces = direct.split(buffers)
        item = len(self._items)
        self._direct += [(item, before, float(at), float(length)) for before, at, length in pieces]
        self._read_there.append(buffers)
        self.payload(task_id, ITEM_OK, nbytes, small, payload.nbytes(buffers))

    def _await_got(self) -> None:
        """Wait until the caller has read what the frame before names.

        Raises
        ------
        BrokenFrame, LinkClosed, TimeoutError
        """
        begin = perf_counter()
        message = self._link.read(_read_until(self._read_there))
        if message.type != "got" or message.fields["request"] != self._request:
            why = f'"{message.type}" where "got" of request {self._request} is awaited.'
            self._link.refuse("broken-frame", why)
            raise BrokenFrame(why)
        self._read_there.clear()
        self._is_being_read = False
        self.copied(perf_counter() - begin)

    def copied(self, seconds: float) -> None:
        """So much of the time until now was copying."""
        self.pickled -= seconds
        self.sent += seconds

    def send(self, more: bool) -> None:
        """Send what there is."""
        if self._numbers:
            numbers = together(self._numbers)
            self._blobs.append(numbers)
            self._size += len(numbers)
            self._numbers, self._array_bytes = [], 0
        now = perf_counter()
        self.pickled += now - self._begin
        tables: dict[str, Any] = {"items": self._items}
        if self._shared:
            tables["shared"] = self._shared
        if self._direct:
            tables["direct"] = self._direct
        try:
            self._link.send(
                "data",
                {"request": self._request, "more": more},
                tables,
                self._blobs,
                self._descriptors,
            )
        finally:
            self.close()
        self.total += self._size
        self.moved += [(item[0], item[2]) for item in self._items if item[1] in _HAS_A_RESULT]
        self._is_being_read = self._is_being_read or bool(self._direct)
        self._items, self._blobs, self._shared, self._direct = [], [], [], []
        self._held, self._size = [], 0
        self._begin = perf_counter()
        self.sent += self._begin - now

    def send_what_is_there(self) -> None:
        """Send what there is, if anything; more comes."""
        if self._items:
            self.send(True)

    def close(self) -> None:
        """Close the descriptors that were sent, or will never be."""
        while self._descriptors:
            os.close(self._descriptors.pop())


class _Gone(NamedTuple):
    """An answer that has gone: (task id, bytes) of its results, and the bytes of its frames."""

    transfer: Transfer
    moved: list[tuple[int, float]]
    written: int


class Server:
    """Answers what comes in through the peer door of `worker`."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        #: What callers look for in the memory of this process before they read results there.
        self._proof = secrets.token_bytes(direct.PROOF_BYTES)

    def welcome(self, role: str, intro: dict[str, Any]) -> dict[str, Any]:
        """What callers are told."""
        told: dict[str, Any] = {"share": self._worker.segments.share_bytes}
        if direct.IS_POSSIBLE:
            told["proof"] = self._proof.hex()
            told["proofAt"] = raw_memory.address_of(self._proof)
        return told

    def serve(self, link: Link) -> None:
        """Answer one link until it ends; runs in a thread of its own."""
        client = link.intro.get("client", 0)
        #: Segment → how often the caller has it.
        lent: Counter[int] = Counter()
        #: What the caller reads from memory here, until it says that it has.
        read_there: list[Any] = []
        #: The answer that has gone and that the caller still reads.
        unread: list[_Gone] = []
        try:
            while True:
                # No message is held while this waits: a put may be as large as memory.
                messages = link.read_batch(_read_until(read_there))
                self._answer(link, messages, client, lent, read_there, unread)
                del messages
        except LinkClosed:
            return  # peers and clients come and go
        except TimeoutError:
            return  # it looks at the link before it uses what it has read so late
        except LinkError as error:
            self._worker.send("event", {"kind": "peer-broken", "text": str(error)})
        except BaseException as error:  # noqa: BLE001 (told to who caused it; others are served on)
            link.refuse("request", said(error))
        finally:
            link.close()
            read_there.clear()
            for gone in unread:
                self._worker.transfers.outgoing.failed(gone.transfer)
            self._worker.segments.lost(list(lent.elements()))

    def _answer(
        self,
        link: Link,
        messages: list[Message],
        client: int,
        lent: Counter[int],
        read_there: list[Any],
        unread: list[_Gone],
    ) -> None:
        for message in messages:
            if message.type == "get":
                self._given_back(message, lent)
                # Who asks again has done with what it was told before.
                read_there.clear()
                self._has_read(unread)
                gone = self._get(link, message, lent, read_there)
                if gone is not None:
                    unread.append(gone)
            elif message.type == "got":
                read_there.clear()
                self._has_read(unread)
            elif message.type == "taken":
                self._taken(link, message)
            elif message.type == "put":
                self._put(link, message, client)

    def _taken(self, link: Link, message: Message) -> None:
        """Log what the caller has read here without asking."""
        now = perf_counter()
        log, ledger = self._worker.transfers.outgoing, self._worker.ledger
        ids, sizes, ago, seconds = message.table("reads").values()
        check_sizes(message, "reads.nbytes", sizes)
        check_amounts(message, "reads.ago", ago)
        check_amounts(message, "reads.seconds", seconds)
        for task_id, nbytes, before, duration in zip(ids, sizes, ago, seconds, strict=True):
            begin = now - before
            transfer = log.begin(link.intro.get("worker"), begin, nbytes)
            log.done(transfer, begin + duration, [(task_id, nbytes)])
        ledger.add(now, CONTEXT, "network", "seconds", sum(seconds))
        ledger.add(now, CONTEXT, "memory-read", "bytes", sum(sizes))
        ledger.add(now, CONTEXT, "memory-read", "count", float(len(ids)))

    def _has_read(self, unread: list[_Gone]) -> None:
        now = perf_counter()
        while unread:
            self._log(unread.pop(), now)

    def _log(self, gone: _Gone, stop: float) -> None:
        self._worker.transfers.outgoing.done(gone.transfer, stop, gone.moved, gone.written)

    def _given_back(self, message: Message, lent: Counter[int]) -> None:
        done = [number for (number,) in message.table("done") if number in lent]
        lent.subtract(done)
        for number in done:
            if lent[number] <= 0:
                del lent[number]
        self._worker.segments.returned(done)

    def _get(
        self, link: Link, message: Message, lent: Counter[int], read_there: list[Any]
    ) -> _Gone | None:
        """Answer; `read_there` gets what must stay until the caller has read it.

        Returns
        -------
        What is to be logged once the caller has read it; None: it was logged.
        """
        worker = self._worker
        log = worker.transfers.outgoing
        begin, written = perf_counter(), link.written_bytes
        answer = _Answer(link, message.fields["request"], read_there)
        may_share = message.fields["share"] if link.can_share else 0
        may_read = message.fields["direct"] and link.can_share and direct.IS_POSSIBLE
        is_together = message.fields["together"]
        array_type = small_arrays.array_type() if is_together and message.fields["arrays"] else None
        is_worker = link.intro.get("worker") is not None
        share_bytes = worker.segments.share_bytes or float("inf")
        read = 0.0
        read_bytes = read_count = 0
        ids = [task_id for (task_id,) in message.table("ids")]
        if not ids:
            answer.send(False)
            return None
        count = len(ids)
        values, sizes = worker.table.values, worker.table.sizes
        fixed = worker.sizes.fixed
        asked = sum([sizes.get(task_id, 0.0) for task_id in ids])
        transfer = log.begin(link.intro.get("worker"), begin, asked)
        try:
            for at, task_id in enumerate(ids):
                if at % FRAME_ITEMS == 0:
                    answer.send_what_is_there()
                if at == count:
                    # All that is here is on its way; the rest has been put at the end.
                    answer.send_what_is_there()
                    with worker.lock:
                        worker.await_adoption(ids[count:], perf_counter() + ADOPTION_SECONDS)
                value = values.get(task_id, _ABSENT)
                if (
                    is_together
                    and type(value) in fixed
                    and (type(value) is not int or value.bit_length() <= SHORT_BITS)
                ):
                    # The short way for numbers, which come by the thousand as inputs of a
                    # reduction. (All of a type are of one size, so that nothing is locked.)
                    answer.number(task_id, fixed[type(value)], value)
                    continue
                if array_type is not None and type(value) is array_type:
                    array = small_arrays.told(value)
                    size = sizes.get(task_id)  # (None: it was released meanwhile)
                    if array is not None and size is not None:
                        answer.array(task_id, size, array)
                        continue
                with worker.lock:
                    value = values.get(task_id, _ABSENT)
                    if value is _ABSENT and at < count and worker.puts:
                        ids.append(task_id)  # perhaps it is data that was put here
                        continue
                    nbytes = sizes.get(task_id, 0.0)
                if nbytes >= FRAME_BYTES and self._has_no_room_for_copy(value, nbytes):
                    value = None
                    value = worker.spill.put_on_disk(worker, task_id)
                    if value is None:  # it was released meanwhile
                        value = _ABSENT
                if value is _ABSENT:
                    answer.missing(task_id)
                elif type(value) in fixed:
                    small = plain_inline(value)
                    answer.payload(task_id, ITEM_OK, nbytes, small, len(small))
                elif type(value) is Spilled:
                    reading = perf_counter()
                    try:
                        content = [value.to_send(self._has_room(value.disk_bytes))]
                    except OSError as error:
                        if is_out_of_descriptors(error):
                            tell_out_of_descriptors(error)
                            told = [describe(error).blob]
                            size = payload.nbytes(told)
                            answer.payload(task_id, ITEM_NOT_PICKLED, value.nbytes, told, size)
                            continue
                        worker.lose(task_id, value)
                        answer.missing(task_id)
                        continue
                    read += perf_counter() - reading
                    read_bytes += value.disk_bytes
                    read_count += 1
                    nbytes = value.nbytes
                    answer.payload(task_id, ITEM_OK, nbytes, content, payload.nbytes(content))
                else:
                    shares = may_share > 0 and nbytes >= share_bytes
                    if shares and self._lend_kept(answer, task_id, value, nbytes, lent):
                        may_share -= 1
                        continue
                    status, blob = _pickled(value)
                    size = payload.nbytes(blob)
                    is_large = status == ITEM_OK and size >= share_bytes
                    # Other workers may want what a client holds: then all see one memory. Else
                    # one copy is cheaper than to enter each page there, and here, and in no memory
                    # for long.
                    reads = may_read and not (is_worker and task_id in worker.table.wanted)
                    if is_large and reads and _lies_there(blob, size):
                        answer.direct(task_id, nbytes, blob)
                    elif (
                        is_large
                        and may_share > 0
                        and self._lend_copy(answer, task_id, value, nbytes, blob, lent)
                    ):
                        may_share -= 1
                    else:
                        answer.payload(task_id, status, nbytes, blob, size)
                    del blob
                del value
            log.ends_soon(transfer)
            answer.send(False)
        except BaseException:
            log.failed(transfer)
            raise
        finally:
            answer.close()
        end = perf_counter()
        # The time that the disk took is none of the transfer's.
        transfer.start += read
        gone = _Gone(transfer, answer.moved, link.written_bytes - written)
        if not answer.is_being_read:
            self._log(gone, end)
        ledger = worker.ledger
        ledger.add(end, CONTEXT, "serialize", "seconds", answer.pickled - read)
        ledger.add(end, CONTEXT, "network", "seconds", answer.sent)
        ledger.add(end, CONTEXT, "memory-read", "bytes", float(answer.total - read_bytes))
        ledger.add(end, CONTEXT, "memory-read", "count", float(count - read_count))
        if read_count:
            ledger.add(end, CONTEXT, "disk-read", "seconds", read)
            ledger.add(end, CONTEXT, "disk-read", "bytes", float(read_bytes))
            ledger.add(end, CONTEXT, "disk-read", "count", float(read_count))
        return gone if answer.is_being_read else None

    def _has_room(self, nbytes: float) -> bool:
        """Whether so much may be read from disk: no worker is to end for what others ask of it."""
        worker = self._worker
        # (An answer takes more than this at no time, unless it is one large result.)
        return nbytes < FRAME_BYTES or worker.spill.fits(worker.process_bytes() + nbytes)

    def _has_no_room_for_copy(self, value: Any, nbytes: float) -> bool:
        """Whether a result would have to be copied to be sent, and the copy be too much."""
        if type(value) is Spilled or self._has_room(nbytes):
            return False
        copied = payload.bytes_in_band(value)
        forks.came_back()
        return copied >= FRAME_BYTES

    def _lend_kept(
        self, answer: _Answer, task_id: int, value: Any, nbytes: float, lent: Counter[int]
    ) -> bool:
        segment = self._worker.segments.kept(self._worker, task_id, value)
        return segment is not None and self._lend(answer, task_id, value, nbytes, segment, lent)

    def _lend_copy(
        self,
        answer: _Answer,
        task_id: int,
        value: Any,
        nbytes: float,
        blob: Any,
        lent: Counter[int],
    ) -> bool:
        copying = perf_counter()
        segment = self._worker.segments.copy(self._worker, task_id, value, blob)
        answer.copied(perf_counter() - copying)
        return segment is not None and self._lend(answer, task_id, value, nbytes, segment, lent)

    def _lend(
        self,
        answer: _Answer,
        task_id: int,
        value: Any,
        nbytes: float,
        segment: Segment,
        lent: Counter[int],
    ) -> bool:
        descriptor = self._worker.segments.descriptor(self._worker, segment)
        if descriptor is None:
            return False
        lent[segment.number] += 1
        answer.lent(task_id, nbytes, segment, descriptor, value)
        return True

    def _put(self, link: Link, message: Message, client: int) -> None:
        worker = self._worker
        lent = put_in_segments(link, message)
        again: list[tuple[int]] = []
        rows = zip(message.table("items"), message.blobs, strict=True)
        for row, ((data_id,), content) in enumerate(rows):
            segment = None
            if row in lent:
                try:
                    segment, content = worker.segments.take_in(worker, lent.pop(row))
                except OSError:
                    again.append((row,))
                    continue
            value = worker.library.loads(content)
            nbytes = worker.sizes.of(value)
            forks.came_back()
            worker.keep_put(client, data_id, value, nbytes, segment)
            del value, content
        tables = {"again": again} if again else {}
        link.send("stored", {"request": message.fields["request"]}, tables)


def _read_until(read_there: list[Any]) -> float | None:
    """Until when the caller may take to read this, in seconds of the monotonic clock."""
    if not read_there:
        return None
    return monotonic() + STALL_SECONDS + sum(map(payload.nbytes, read_there)) / SLOWEST_READ


def _lies_there(buffers: list[Any], size: int) -> bool:
    """Whether nearly all of a payload is large memory of the value itself, and no copy."""
    large = sum(
        each.nbytes
        for each in buffers
        if isinstance(each, memoryview) and each.nbytes >= direct.PIECE_BYTES
    )
    return large >= BUFFER_SHARE * size


def _pickled(value: Any) -> tuple[int, Any]:
    """Status and payload of a result, or of the error that says why there is none."""
    try:
        pickled = payload.dumps(value)
        forks.came_back()
        return ITEM_OK, pickled
    except BaseException as error:  # noqa: BLE001 (told to who asked)
        forks.came_back(error)
        refused = CannotPickle(
            f"The result is a {type_name(value)}, which cannot be "
            f"pickled ({said(error)}), so it cannot leave the worker "
            "that made it. Return something picklable, or use it within the task."
        )
        return ITEM_NOT_PICKLED, [describe(refused).blob]
