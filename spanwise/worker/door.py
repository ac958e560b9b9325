"""Serves a worker's results to peers and clients, and takes the data that clients put.

One thread per connected peer, which blocks: a busy worker answers within its thread
switch interval (0.5 ms), and two workers that send each other large results cannot
wait for each other, for fetching has threads of its own.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from spanwise.processes import forks
from spanwise.records.enumerations import ITEM_MISSING, ITEM_NOT_PICKLED, ITEM_OK
from spanwise.wire import payload
from spanwise.wire.errors import LinkClosed, LinkError
from spanwise.wire.foreign import said, type_name
from spanwise.wire.frame import Message
from spanwise.wire.link import Link
from spanwise.worker.errors import CannotPickle, describe
from spanwise.worker.inline import plain_inline
from spanwise.worker.spill_file import Spilled

if TYPE_CHECKING:
    from spanwise.worker.worker import Worker

#: A `data` frame holds about this much; the next item goes into another.
FRAME_BYTES = 32 * 2**20
#: The context of what is measured here, as in Dask.
CONTEXT = "get-data"
_ABSENT = object()


class Server:
    """Answers what comes in through the peer door of `worker`."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def serve(self, link: Link) -> None:
        """Answer one link until it ends; runs in a thread of its own."""
        client = link.intro.get("client", 0)
        try:
            while True:
                # No message is held while this waits: a put may be as large as memory.
                self._answer(link, link.read_batch(), client)
        except LinkClosed:
            return  # peers and clients come and go
        except LinkError as error:
            self._worker.send("event", {"kind": "peer-broken", "text": str(error)})
        except BaseException as error:  # noqa: BLE001 (told to who caused it; others are served on)
            link.refuse("request", said(error))
        finally:
            link.close()

    def _answer(self, link: Link, messages: list[Message], client: int) -> None:
        for message in messages:
            if message.type == "get":
                self._get(link, message)
            elif message.type == "put":
                self._put(link, message, client)

    def _get(self, link: Link, message: Any) -> None:
        worker = self._worker
        request = message.fields["request"]
        items: list[tuple[int, int, float]] = []
        blobs: list[Any] = []
        size = 0
        pickled = 0.0
        sent = 0.0
        read = 0.0
        read_bytes = read_count = 0
        total = 0
        begin = perf_counter()
        ids = [task_id for (task_id,) in message.table("ids")]
        values, sizes = worker.table.values, worker.table.sizes
        fixed = worker.sizes.fixed
        for task_id in ids:
            with worker.lock:
                value = values.get(task_id, _ABSENT)
                nbytes = sizes.get(task_id, 0.0)
            if value is _ABSENT:
                items.append((task_id, ITEM_MISSING, 0.0))
                continue
            status = ITEM_OK
            blob: Any
            if type(value) in fixed:
                # The short way for numbers, which come by the thousand as inputs of a
                # reduction.
                blob = plain_inline(value)
                size += len(blob)
            else:
                if type(value) is Spilled:
                    nbytes = value.nbytes
                    reading = perf_counter()
                    try:
                        blob = [value.read()]
                    except OSError:
                        worker.lose(task_id, value)
                        items.append((task_id, ITEM_MISSING, 0.0))
                        continue
                    read += perf_counter() - reading
                    read_bytes += value.disk_bytes
                    read_count += 1
                else:
                    status, blob = _pickled(value)
                size += payload.nbytes(blob)
            del value
            items.append((task_id, status, nbytes))
            blobs.append(blob)
            if size >= FRAME_BYTES:
                total += size
                now = perf_counter()
                pickled += now - begin
                link.send("data", {"request": request, "more": True}, {"items": items}, blobs)
                begin = perf_counter()
                sent += begin - now
                items, blobs, size = [], [], 0
        total += size
        now = perf_counter()
        pickled += now - begin
        link.send("data", {"request": request, "more": False}, {"items": items}, blobs)
        end = perf_counter()
        ledger = worker.ledger
        ledger.add(end, CONTEXT, "serialize", "seconds", pickled - read)
        ledger.add(end, CONTEXT, "network", "seconds", sent + end - now)
        ledger.add(end, CONTEXT, "memory-read", "bytes", float(total - read_bytes))
        ledger.add(end, CONTEXT, "memory-read", "count", float(len(ids) - read_count))
        if read_count:
            ledger.add(end, CONTEXT, "disk-read", "seconds", read)
            ledger.add(end, CONTEXT, "disk-read", "bytes", float(read_bytes))
            ledger.add(end, CONTEXT, "disk-read", "count", float(read_count))

    def _put(self, link: Link, message: Any, client: int) -> None:
        worker = self._worker
        rows = zip(message.table("items"), message.blobs, strict=True)
        for (data_id,), blob in rows:
            value = worker.library.loads(blob)
            nbytes = worker.sizes.of(value)
            forks.came_back()
            worker.keep_put(client, data_id, value, nbytes)
        link.send("stored", {"request": message.fields["request"]})


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
