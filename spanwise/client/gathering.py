"""Brings results to the client: inline payloads, or straight from the workers.

A result may move (stealing, replication) or be lost with its worker and computed again.
So the scheduler is asked for results that are not where the last report said.
"""

from __future__ import annotations

import pickle
import struct
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from spanwise.client.entries import CANCELLED, ERROR, FINISHED, PENDING, Entry
from spanwise.client.peers import Unreachable, results_late
from spanwise.client.reason import open_error
from spanwise.errors import ClusterError, RemoteTaskError
from spanwise.records.enumerations import ITEM_MISSING, ITEM_NOT_PICKLED, NONE_U16
from spanwise.wire import payload
from spanwise.wire.errors import BrokenFrame
from spanwise.wire.foreign import is_ctrl_c, said

if TYPE_CHECKING:
    from spanwise.client.needs import Locating

#: A result that no worker has is asked for again for this long before it is an error.
LOST_RESULT_SECONDS = 120.0
#: A result that is done may take at least this long to come, however short the caller's
#: timeout: else a caller that polls would restart a large transfer each time.
TRANSFER_SECONDS = 5.0

_ONE_PART = struct.Struct("<IId")


class Gathering:
    """Fetches the results of one session."""

    def __init__(self, session: Locating) -> None:
        self._session = session

    def gather(
        self, entries: Sequence[Entry], timeout: float | None = None, errors: str = "raise"
    ) -> list[Any]:
        """Wait for entries and return their values.

        Parameters
        ----------
        timeout
            Seconds to wait until all are done. Bringing them may take what is left of it, and
            :data:`TRANSFER_SECONDS` at least.
        errors
            ``"raise"``, or ``"skip"``: leave failed ones out.

        Raises
        ------
        TimeoutError
        BaseException
            The first error of a task, in the order of the entries.
        """
        values = self.values(entries, timeout, errors)
        return [values[entry] for entry in entries if entry in values]

    def one(self, entry: Entry, timeout: float | None) -> Any:
        """Wait for one entry and return its value; see :meth:`gather`."""
        if timeout is None:
            self._session.wait_for([entry])
            here = entry.inline
            if here is not None and entry.status == FINISHED:
                value = open_result(_open, here, entry.key)
                entry.value = type(value)
                return value
        return self.gather([entry], timeout)[0]

    def values(
        self, entries: Sequence[Entry], timeout: float | None, errors: str
    ) -> dict[Entry, Any]:
        """The same by entry; those left out are not in it."""
        until = None if timeout is None else time.monotonic() + timeout
        self._session.wait_for(entries, timeout)
        values: dict[Entry, Any] = {}
        remote: list[Entry] = []
        for entry in entries:
            if entry.status in (ERROR, CANCELLED):
                if errors == "raise":
                    failure = entry.failure()  # lives as long as this frame: see Future.result
                    raise failure.error
            elif entry in values:
                continue
            elif (payload_here := entry.inline) is not None:
                value = open_result(_open, payload_here, entry.key)
                values[entry] = value
                entry.value = type(value)
            elif entry.sign is not None and (came := self._look(entry)) is not None:
                values[entry] = open_result(payload.loads, came, entry.key)
                entry.value = type(values[entry])
            else:
                values[entry] = None
                remote.append(entry)
        if remote:
            if until is not None:
                until = max(until, time.monotonic() + TRANSFER_SECONDS)
            self._fetch(remote, values, errors, until, timeout)
        return values

    def _look(self, entry: Entry) -> memoryview | None:
        """The payload of a result, from where the report says that it lies; None: ask."""
        row = self._session.workers.get(entry.worker)
        sign = entry.sign
        if row is None or sign is None:
            return None
        came = self._session.peers.look(row["address"], entry.task_id, entry.nbytes, sign)
        if came is None:
            # (if it does not lie elsewhere by now, to be told of that costs as much as to look)
            entry.sign = None
        return came

    def _fetch(
        self,
        entries: list[Entry],
        values: dict[Entry, Any],
        errors: str,
        until: float | None,
        given: float | None,
    ) -> None:
        """Bring results from the workers; ask where they are if they moved or died.

        Parameters
        ----------
        until
            When the caller's patience ends, in seconds of the monotonic clock.
        given
            The seconds that he has given, of which an error tells.
        """
        # The limit begins at the first missing result: a transfer, or the wait for a stalled
        # worker, may itself take longer before a result turns out to be missing.
        give_up: float | None = None
        pause = 0.01
        while entries:
            by_worker: dict[int, list[Entry]] = {}
            for entry in entries:
                by_worker.setdefault(entry.worker, []).append(entry)
            again: list[Entry] = []
            why = ""
            for worker, wanted in by_worker.items():
                try:
                    again += self._fetch_from(worker, wanted, values, errors, until)
                except Unreachable as error:
                    again += wanted
                    why = f" ({error})"
            if not again:
                return
            now = time.monotonic()
            if until is not None and now > until:
                raise results_late(len(again))
            if give_up is None:
                give_up = now + LOST_RESULT_SECONDS
            elif now > give_up:
                raise ClusterError(
                    f"The result of {again[0].key!r} is on no worker that answers{why}. "
                    "Compute it again."
                )
            time.sleep(pause)
            pause = min(1.0, pause * 2)
            # A result that is being computed again is not lost, however long that
            # takes.
            begin = time.monotonic()
            left = None if until is None else max(0.0, until - begin)
            self._session.wait_for(again, left, given)
            give_up += time.monotonic() - begin
            entries = self._relocate(again, values, errors, give_up)

    def _fetch_from(
        self,
        worker: int,
        entries: list[Entry],
        values: dict[Entry, Any],
        errors: str,
        until: float | None,
    ) -> list[Entry]:
        row = self._session.workers.get(worker)
        if row is None:
            return entries
        ids = [entry.task_id for entry in entries]
        found = self._session.peers.get(row["address"], ids, until)
        missing = []
        for entry in entries:
            status, blob = found.get(entry.task_id, (ITEM_MISSING, None))
            if status == ITEM_MISSING:
                missing.append(entry)
            elif status == ITEM_NOT_PICKLED:
                if errors == "raise":
                    stand_in = RemoteTaskError("", f"{entry.key!r} cannot leave its worker.")
                    raise open_error(blob, stand_in)
                del values[entry]
            else:
                values[entry] = open_result(payload.loads, blob, entry.key)
                entry.value = type(values[entry])
        return missing

    def _relocate(
        self,
        entries: list[Entry],
        values: dict[Entry, Any],
        errors: str,
        give_up: float,
    ) -> list[Entry]:
        limit = max(0.1, give_up - time.monotonic())
        alive = []
        for entry in entries:
            if entry.status in (FINISHED, PENDING):
                alive.append(entry)
            elif errors == "raise":
                failure = entry.failure()
                raise failure.error
            else:
                values.pop(entry, None)
        if alive:
            answer = self._session.ask(
                "locate", {}, {"ids": [(entry.id,) for entry in alive]}, timeout=limit
            )
            by_id = {entry.id: entry for entry in alive}
            for id_, task_id, worker, _ in answer.table("where"):
                found = by_id.get(id_)
                if found is None:
                    raise ClusterError(
                        f'"located".where.id: the scheduler was not asked where task {id_} is. '
                        "This is a bug of Spanwise."
                    )
                if worker != NONE_U16:
                    found.task_id = task_id
                    found.worker = worker
        return alive


def open_result(opens: Callable[[Any], Any], blob: Any, key: Any) -> Any:
    """Unpickle a user's value.

    Raises
    ------
    RemoteTaskError
        Instead of SystemExit and its like, which would end the program.
    ClusterError
        The bytes are no valid payload.
    """
    try:
        return opens(blob)
    except BrokenFrame as error:
        raise ClusterError(
            f"The result of {key!r} did not come whole ({error}). Compute it again."
        ) from error
    except Exception:
        raise
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise RemoteTaskError(
            "", f"The result of {key!r} could not be unpickled here ({said(error)})."
        ) from None


def _open(view: memoryview) -> Any:
    """The value of an inline payload: the short way for one without buffers."""
    if view.nbytes > _ONE_PART.size:
        count, _, length = _ONE_PART.unpack_from(view)
        if count == 1 and length == view.nbytes - _ONE_PART.size:
            return pickle.loads(view[_ONE_PART.size :])
    return payload.loads(view)
