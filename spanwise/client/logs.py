"""What scheduler, workers and tasks log and print, brought to the client."""

from __future__ import annotations

import json
import logging
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.client.arguments import shown, whole_of, workers_of
from spanwise.client.cluster_file import folder_of
from spanwise.client.events import Event, _get_events
from spanwise.client.on_workers import logs_here
from spanwise.client.plugins import _register, _unregister
from spanwise.client.queries import scheduler_info, tasks_seen
from spanwise.client.session import dump
from spanwise.errors import ClusterError
from spanwise.notices import warn_asker
from spanwise.observed.page_file import checked_path
from spanwise.plugins import ForwardLogging

#: Lines of the scheduler's log that are read: it is cut at 16 MiB.
_MOST_LINES = 10_000
_STATES = ("released", "waiting", "no-worker", "queued", "processing", "memory", "erred")
_PARTS = ("scheduler", "workers", "tasks", "events", "logs", "versions")


def printed(event: Event) -> None:
    """Print what a task has by `spanwise.print`."""
    _, told = event
    if not isinstance(told, dict) or "args" not in told:
        sys.stdout.write(f"{told}\n")  # logged under this topic by hand
        return
    file = sys.stderr if told.get("file") == 2 else sys.stdout
    sep, end = told.get("sep"), told.get("end")
    text = (" " if sep is None else str(sep)).join(map(str, told["args"]))
    file.write(text + ("\n" if end is None else str(end)))
    if told.get("flush"):
        file.flush()


def warned(event: Event) -> None:
    """Warn of what a task has by `spanwise.warn`."""
    _, told = event
    if not isinstance(told, dict) or "message" not in told:
        warn_asker(str(told), UserWarning)  # logged under this topic by hand
        return
    message, category = pickle.loads(told["message"]), pickle.loads(told["category"])
    warn_asker(message, category or UserWarning)


def forwarded(event: Event) -> None:
    """Hand a record of a worker's logger to the logger of that name here."""
    record = logging.makeLogRecord(dict(event[1]))
    logging.getLogger(record.name).handle(record)


#: What every client does with events, unless it unsubscribes from their topics.
DEFAULT_HANDLERS = {"print": printed, "warn": warned}


class LogMethods:
    """Logs of the cluster; mixed into :class:`Client`."""

    if TYPE_CHECKING:
        _session: Any

        @property
        def address(self) -> str: ...

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        raise NotImplementedError

    def _worker_ids(self, named: Iterable[Any]) -> list[int]:
        raise NotImplementedError

    def _run_everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        raise NotImplementedError

    def get_worker_logs(
        self, n: int | None = None, workers: Any = None, nanny: bool = False
    ) -> Any:
        """What workers have logged, the newest first.

        Each keeps 10,000 records of the loggers ``distributed.worker`` and ``spanwise.worker``,
        which tasks may use too.

        Parameters
        ----------
        n
            How many of each worker; default: all that are kept.
        workers
            Addresses, names or numbers; default: all that answer within 30 s.
        nanny
            True is an error: workers have none.

        Returns
        -------
        dict
            Address to a tuple of (level, text).
        """
        if nanny:
            raise NotImplementedError("nanny=True: workers have no nanny; the scheduler has a log")
        named = None if workers is None else workers_of(workers)
        return self._call(self._get_worker_logs, _count_of(n), named)

    def _get_worker_logs(self, n: int | None, named: list[Any] | None) -> dict[str, Any]:
        ids = None if named is None else self._worker_ids(named)
        found = self._run_everywhere(logs_here, n)
        if ids is None:
            return found
        rows = self._session.workers
        wanted = {rows[each]["address"] for each in ids if each in rows}
        return {address: logs for address, logs in found.items() if address in wanted}

    def get_scheduler_logs(self, n: int | None = None) -> Any:
        """What the scheduler has logged, and what tasks printed, the newest line first.

        Parameters
        ----------
        n
            How many lines; default: the last 10,000.

        Returns
        -------
        tuple of (level, text)
            The scheduler does not tell levels: all are ``"INFO"``.

        Raises
        ------
        ClusterError
            The log is not there: the cluster has ended.
        """
        return self._call(self._get_scheduler_logs, _count_of(n))

    def _get_scheduler_logs(self, n: int | None) -> tuple[tuple[str, str], ...]:
        most = _MOST_LINES if n is None else min(n, _MOST_LINES)
        log = folder_of(self.address) / "scheduler.log"
        try:
            with log.open(encoding="utf-8", errors="replace") as file:
                lines = deque(file, maxlen=most)
        except OSError as error:
            raise ClusterError(f"The scheduler's log cannot be read: {error}") from None
        return tuple(("INFO", line.rstrip("\n")) for line in reversed(lines))

    def forward_logging(self, logger_name: str | None = None, level: int = logging.NOTSET) -> Any:
        """Have what a logger says on the workers said by the logger of that name here.

        Parameters
        ----------
        logger_name
            Default: the root logger.
        level
            Records below it stay there. The logger's own level counts too, there and here.
        """
        return self._call(self._forward, logger_name, level)

    def _forward(self, logger_name: str | None, level: int) -> Any:
        topic = _topic_of(logger_name)
        self._session.subscriptions.add(topic, forwarded)
        plugin = dump(ForwardLogging(logger_name, level, topic))
        return _register(self._session, plugin, topic, False)

    def unforward_logging(self, logger_name: str | None = None) -> Any:
        """End :meth:`forward_logging` of a logger.

        Raises
        ------
        ValueError
            It is not forwarded.
        """
        return self._call(self._unforward, logger_name)

    def _unforward(self, logger_name: str | None) -> Any:
        topic = _topic_of(logger_name)
        self._session.subscriptions.remove(topic)
        return _unregister(self._session, topic)

    def dump_cluster_state(
        self,
        filename: str = "dask-cluster-dump",
        write_from_scheduler: bool | None = None,
        exclude: Iterable[str] = (),
        format: str = "json",
    ) -> Any:
        """Write what is known of the cluster into a file, for a report of a fault.

        No values are in it, and nothing in it is code: workers, this client's tasks with their
        states, events, logs, versions.

        Parameters
        ----------
        filename
            ``.json`` is added unless it is there.
        write_from_scheduler
            Without meaning: this program writes it.
        exclude
            Some of ``scheduler workers tasks events logs versions``.
        format
            ``"json"``.

        Returns
        -------
        str
            The path.

        Raises
        ------
        ValueError
            There is no such format, or no such part.
        """
        if not isinstance(exclude, Iterable):
            raise TypeError(
                f"exclude is a list of some of {', '.join(_PARTS)}; not {shown(exclude)}"
            )
        # (once: it may be a generator)
        without = {exclude} if isinstance(exclude, str) else {*map(str, exclude)}
        unknown = without - {*_PARTS}
        if format != "json":
            raise ValueError(f'format="json" is all there is, not {format!r}')
        if unknown:
            raise ValueError(f"exclude= takes some of {', '.join(_PARTS)}; not {sorted(unknown)}")
        checked_path(filename)
        name = os.fspath(filename)
        name = name if name.endswith(".json") else f"{name}.json"
        checked_path(name)
        return self._call(self._dump, Path(name), frozenset(without))

    def _dump(self, path: Path, exclude: frozenset[str]) -> str:
        session = self._session
        parts: dict[str, Callable[[], Any]] = {
            "scheduler": lambda: {**scheduler_info(session, self.address, 0), "workers": {}},
            "workers": lambda: session.running_workers(closing=True),
            "tasks": self._known_tasks,
            "events": lambda: _get_events(session, None),
            "logs": lambda: {
                "scheduler": self._get_scheduler_logs(None),
                "workers": self._get_worker_logs(None, None),
            },
            "versions": lambda: self._get_versions(False, ()),  # type: ignore[attr-defined]
        }
        found = {name: part() for name, part in parts.items() if name not in exclude}
        found["written"] = time.time()
        path.write_text(json.dumps(found, indent=1, default=repr), "utf-8")
        return str(path)

    def _known_tasks(self) -> dict[str, list[dict[str, Any]]]:
        return {
            state: [
                {
                    "key": str(task.key),
                    "worker": task.worker,
                    "nbytes": task.nbytes,
                    "holders": task.holders,
                }
                for task in tasks_seen(self._session, states=[state])
            ]
            for state in _STATES
        }


def _count_of(n: Any) -> int | None:
    return None if n is None else whole_of(n, "n", 0, None, "number of lines")


def _topic_of(logger_name: str | None) -> str:
    return f"forward-logging-{logger_name or '<root>'}"
