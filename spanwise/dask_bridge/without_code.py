"""Watches a Dask scheduler that takes no plugins, by the operations that it has anyway.

It answers as the plugin would (docs/contracts.md §12), of tasks that ended and of workers alone;
`cannot` says what is missing. Dask's own recorder of tasks is switched on by asking for it, and
nothing switches it off again.
"""

from __future__ import annotations

import asyncio
import platform
import uuid
from collections.abc import Iterator, Mapping
from time import monotonic, time
from typing import Any

from spanwise.dask_bridge.heartbeat_clock import HeartbeatClock
from spanwise.dask_bridge.plugin_source import (
    JOINED,
    LEFT,
    PARTS_AT,
    STATE_COLUMNS,
    VERSION,
    Section,
    Texts,
    Told,
    amount,
    done_row,
    failure_text,
    parts_of,
    row_size,
    whole,
)
from spanwise.dask_bridge.ship import ask

#: How far back tasks are asked for when the viewer comes.
_HISTORY_TASKS = 20_000
#: A record may come so much later than another that ended after it.
_LATE_SECONDS = 10.0
_IDENTITY_SECONDS = 0.5
#: The scheduler's clock is known once a worker was heard between two looks: so long that is waited
#: for, since all times of the log are by that clock, and the pause between these looks. It should
#: be known that well.
_CLOCK_SECONDS, _CLOCK_PAUSE, _CLOCK_WITHIN = 3.0, 0.1, 0.5
#: If it is known only later, and so much another one than what was told by, all is told again.
_APART_SECONDS = 1.0
_LACKING = (
    "the scheduler takes no plugins: its distributed.scheduler.blocked-handlers has "
    "register_scheduler_plugin"
)


class WithoutCode:
    """In the place of a connection to a scheduler with the plugin: has its operation.

    Parameters
    ----------
    seconds
        For each of its answers.

    Attributes
    ----------
    scheduler
        A `distributed.core.rpc` to it; may be another one after the connection broke.
    retold
        The `plugin` of those answers that tell all again, since the times before were by another
        clock than the scheduler's; ``""``: none do.
    """

    def __init__(self, scheduler: Any, seconds: float) -> None:
        self.scheduler = scheduler
        self.retold = ""
        self._seconds = seconds
        self._begin_anew(HeartbeatClock())

    def _begin_anew(self, clock: HeartbeatClock) -> None:
        self._id = uuid.uuid4().hex[:16]
        self._attached = 0.0
        self._clock = clock
        #: What that said when `_attached` was told, and whether it was known by then.
        self._ahead, self._had_clock = 0.0, False
        self._rows: list[tuple[Any, ...]] = []
        #: The number of the first of them.
        self._first = 0
        self._lost = 0
        self._live: int | None = None
        #: What was asked of Dask's recorder so far: by its index, or by time.
        self._index: int | None = None
        #: A release that has none logs each question for it, with a traceback.
        self._has_index = True
        self._newest_stop = 0.0
        self._seen: dict[tuple[Any, Any], float] = {}
        self._identity: Mapping[str, Any] = {}
        self._asked_at = -1e9
        self._workers: set[str] | None = None
        self._state = 0
        self._sections = {
            "workers": Section(self._worker_rows),
            "memory": Section(self._memory_rows),
        }

    async def close_rpc(self) -> None:
        """Let go of the connection."""
        await self.scheduler.close_rpc()

    async def spanwise_pull_7(self, **request: Any) -> dict[str, Any]:
        """As the plugin's operation."""
        texts = Texts()
        if request["lease"] == 0:
            return self._head(self._identity)
        fresh = request.get("fresh") is True
        await self._look(fresh)
        await self._take_tasks()
        same = request["plugin"] == self._id
        cursor = request["cursor"] if same and request["cursor"] >= 0 else self._first
        cursor = max(self._first, min(cursor, self._newest))
        # What was told before is no longer needed: there is one viewer.
        del self._rows[: cursor - self._first]
        self._first = cursor
        if self._live is None:
            self._live = self._newest
        rows, cursor = self._tell(cursor, request["limit"], texts)
        lost, self._lost = self._lost, 0
        return {
            **self._head(self._identity),
            "cursor": cursor,
            "first": self._first,
            "newest": self._newest,
            "live": self._live,
            "lost": lost,
            "lost_from": self._attached if lost else 0.0,
            "lost_to": self._now() if lost else 0.0,
            "rows": rows,
            **self._states(request["state"] if same else -1, request["want"], texts),
            "texts": texts.texts,
        }

    @property
    def _newest(self) -> int:
        return self._first + len(self._rows)

    def _head(self, identity: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "version": VERSION,
            "plugin": self._id,
            "scheduler": str(identity.get("id", "")),
            "address": str(identity.get("address", "")),
            "python": platform.python_version(),
            "distributed": "",
            "now": self._now(),
            "attached": self._attached,
            "started": amount(identity.get("started")),
            "viewers": 1,
        }

    def _now(self) -> float:
        """By the scheduler's clock."""
        return time() + self._clock.ahead

    async def _identified(self) -> Mapping[str, Any]:
        """Ask who is there, which says when they were heard."""
        asked = time()
        identity = await self._ask(self.scheduler.identity())
        answered = time()
        if not isinstance(identity, dict) or not isinstance(identity.get("workers"), dict):
            raise ValueError("the scheduler does not say who it is")
        if self._identity and identity.get("id") != self._identity.get("id"):
            self._begin_anew(HeartbeatClock())
        self._identity = identity
        heard = {
            str(address): amount(worker.get("last_seen"))
            for address, worker in identity["workers"].items()
            if isinstance(worker, dict)
        }
        known = {address: t for address, t in heard.items() if t > 0}
        self._clock.answered(asked, answered, known)
        return identity

    async def _ask(self, asked: Any) -> Any:
        return await ask(asked, self._seconds)

    async def _look(self, fresh: bool) -> None:
        """Ask who is there."""
        now = monotonic()
        if not fresh and now < self._asked_at + _IDENTITY_SECONDS:
            return
        identity = await self._identified()
        if self._attached == 0.0 or (self._clock.is_known and not self._had_clock):
            identity = await self._look_for_clock(identity)
        if self._attached == 0.0:
            self._attached = self._now()
        self._asked_at = now
        workers = {str(address) for address in identity["workers"]}
        if self._workers is not None:
            for address in sorted(workers - self._workers):
                said = identity["workers"].get(address)
                threads = whole(said.get("nthreads") if isinstance(said, dict) else None)
                self._rows.append((JOINED, self._now(), address, threads))
            for address in sorted(self._workers - workers):
                self._rows.append((LEFT, self._now(), address, -1))
        self._workers = workers
        for section in self._sections.values():
            self._state = section.look(self._state + 1)

    async def _look_for_clock(self, identity: Mapping[str, Any]) -> Mapping[str, Any]:
        """Look until the clock is known well, if workers tell it; returns the last answer."""
        end = monotonic() + min(_CLOCK_SECONDS, self._seconds / 2)
        while identity["workers"] and self._clock.within > _CLOCK_WITHIN and monotonic() < end:
            await asyncio.sleep(_CLOCK_PAUSE)
            identity = await self._identified()
        wrong = self._clock.ahead - self._ahead
        if self._attached > 0.0 and abs(wrong) > _APART_SECONDS:
            # (without workers, or while none was heard, it was taken for this machine's)
            attached, ahead = self._attached + wrong, self._clock.ahead
            self._begin_anew(self._clock)
            self._attached, self._ahead, self._identity = attached, ahead, identity
            self.retold = self._id
        if self._attached == 0.0:
            self._ahead = self._clock.ahead
        self._had_clock = self._clock.is_known
        return identity

    # -- tasks that have ended ------------------------------------------------

    async def _take_tasks(self) -> None:
        if self._has_index:
            index = await self._ask(self.scheduler.get_task_stream_index())
            self._has_index = type(index) is int
        if self._has_index:
            begin = max(0, index - _HISTORY_TASKS) if self._index is None else self._index
            records = await self._ask(self.scheduler.get_task_stream(start_index=begin))
            lost = max(0, index - begin - len(records))
            self._lost += lost
            self._index = begin + lost + len(records)
        else:
            if self._seen:
                start = self._newest_stop - _LATE_SECONDS
                records = await self._ask(self.scheduler.get_task_stream(start=start))
            else:
                records = await self._ask(self.scheduler.get_task_stream(count=_HISTORY_TASKS))
            records = self._unseen(records)
        for record in records:
            row = _done(record)
            if row is not None:
                self._rows.append(row)

    def _unseen(self, records: Any) -> list[Any]:
        found = []
        for record in records:
            try:
                stop = max(float(part["stop"]) for part in record["startstops"])
                number = (record["key"], stop)
                known = number in self._seen
            except (KeyError, OverflowError, TypeError, ValueError):
                continue
            if not known:
                self._seen[number] = stop
                self._newest_stop = max(self._newest_stop, stop)
                found.append(record)
        oldest = self._newest_stop - 2 * _LATE_SECONDS
        kept = {number: stop for number, stop in self._seen.items() if stop >= oldest}
        self._seen = kept
        return found

    def _tell(self, cursor: int, limit: int, texts: Texts) -> tuple[dict[str, Any], int]:
        out = Told(texts)
        told = 0
        for row in self._rows[cursor - self._first :]:
            if told >= limit:
                break
            out.add(cursor, row)
            cursor += 1
            told += row_size(row)
        return out.columns(), cursor

    # -- states -----------------------------------------------------------------

    def _states(self, since: int, want: Any, texts: Texts) -> dict[str, Any]:
        states: dict[str, Any] = {}
        cannot = {name: _LACKING for name in want if name not in self._sections}
        for name, section in self._sections.items():
            if name not in want:
                continue
            found = list(section.changed(since, self._state))
            if found:
                columns = map(list, zip(*found, strict=True))
                states[name] = dict(zip(STATE_COLUMNS[name], columns, strict=True))
                for column in _TEXTUAL[name]:
                    states[name][column] = [*map(texts, states[name][column])]
        if "workers" in want and since >= 0:
            gone = self._sections["workers"].gone
            left = [texts(address) for address, number in gone.items() if number > since]
            if left:
                states["gone"] = {"worker": left}
        return {"state": self._state, "states": states, "cannot": cannot}

    def _worker_rows(self) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        for address, worker in self._identity["workers"].items():
            if isinstance(worker, dict):
                nanny = worker.get("nanny")
                yield (
                    address,
                    (
                        str(address),
                        str(worker.get("name", "")),
                        str(worker.get("host", "")),
                        -1,
                        whole(worker.get("nthreads")),
                        whole(worker.get("memory_limit") or 0),
                        0.0,
                        str(worker.get("status", "running")),
                        None if nanny is None else str(nanny),
                        None,
                    ),
                )

    def _memory_rows(self) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        for address, worker in self._identity["workers"].items():
            metrics = worker.get("metrics") if isinstance(worker, dict) else None
            if not isinstance(metrics, dict) or "memory" not in metrics:
                continue
            spilled = _mapping(metrics.get("spilled_bytes"))
            net, disk = _mapping(metrics.get("host_net_io")), _mapping(metrics.get("host_disk_io"))
            counts = _mapping(metrics.get("task_counts"))
            managed = amount(metrics.get("managed_bytes"))
            yield (
                address,
                (
                    str(address),
                    amount(worker.get("last_seen")),
                    amount(worker.get("last_seen")),
                    amount(metrics.get("memory")),
                    managed - max(0.0, amount(spilled.get("memory"))) if managed > 0 else managed,
                    amount(spilled.get("disk")),
                    -1.0,
                    -1.0,
                    amount(metrics.get("cpu")),
                    amount(metrics.get("num_fds")),
                    amount(net.get("read_bps")),
                    amount(net.get("write_bps")),
                    -1.0,
                    -1.0,
                    amount(disk.get("read_bps")),
                    amount(disk.get("write_bps")),
                    amount(counts.get("executing", 0)),
                    amount(counts.get("ready", 0)),
                    amount(metrics.get("event_loop_interval")),
                ),
            )


#: Columns of its sections that hold texts.
_TEXTUAL = {
    "workers": ("worker", "name", "host", "status", "nanny", "version"),
    "memory": ("worker",),
}


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _done(record: Any) -> tuple[Any, ...] | None:
    """A record of Dask's as a row; None if it is not as it must be."""
    try:
        startstops = record["startstops"]
        stopped = max(float(part["stop"]) for part in startstops)
        key, worker = record["key"], str(record["worker"])
        erred = record.get("status") == "error"
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None
    text = failure_text(record) if erred else None
    what = worker, record.get("thread"), record.get("nbytes"), record.get("typename")
    row = done_row(stopped, key, None, what, parts_of(startstops), text, 0.0)
    return row if len(row[PARTS_AT]) == 4 * len(startstops) else None
