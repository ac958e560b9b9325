"""What is asked about the measurements of a cluster, whichever engine computes.

A block (`performance_report`, `get_task_stream`) asks the same of a cluster of Spanwise and of one
of Dask; a Dask cluster that nobody watches is watched for as long as the block lasts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, nextafter
from typing import Any, Protocol

from spanwise.client.current import default_client, is_dasks_client
from spanwise.dask_bridge.attach import AttachedCluster, attach
from spanwise.errors import ClusterError
from spanwise.notices import tell
from spanwise.observed.questions import Questions

#: Records before a block's begin that tell when others had ended.
_BEFORE = 16


class Watched(Protocol):
    """One cluster, from its making until `let_go`.

    Attributes
    ----------
    name
        Shown by the panels.
    asked
        The questions about its log.
    missing
        Why the last part of the block that ended last is not known; ``""``: it is.
    """

    name: str
    asked: Questions
    missing: str

    def begin(self) -> float:
        """A block begins; returns when, by the scheduler's clock."""

    def end(self, start: float) -> tuple[float, float]:
        """It ends; returns when it began, which may be told better now, and when it ended."""

    def check_same(self) -> None:
        """Raise ClusterError if another log is written than at the begin."""

    def tell_missing(self) -> None:
        """Warn, once, if nobody writes its log; after a question, which may find that out."""

    def let_go(self) -> None:
        """Watch no more, if it was watched for this block alone."""


class WatchedCluster:
    """A cluster of Spanwise.

    Parameters
    ----------
    client
        Of it.
    """

    missing = ""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.name: str = client._session.name
        self.asked: Questions = client._observed

    def begin(self) -> float:
        """As :meth:`Watched.begin`."""
        return float(self.client._session.wall_now())

    def end(self, start: float) -> tuple[float, float]:
        """As :meth:`Watched.end`."""
        return start, self.begin()

    def check_same(self) -> None:
        """As :meth:`Watched.check_same`: another scheduler has another client."""

    def tell_missing(self) -> None:
        """As :meth:`Watched.tell_missing`: its questions fail if nobody does."""

    def let_go(self) -> None:
        """As :meth:`Watched.let_go`: the client records anyway."""


class WatchedDask:
    """A cluster of Dask.

    How much its clock is ahead is known as exactly as an answer is quick. So which tasks a block
    has is told by their places in the log, and its begin and end lie around these.

    Parameters
    ----------
    given
        A client of `distributed`, or the handle of :func:`spanwise.attach`.

    Raises
    ------
    ClusterError
        The cluster cannot be watched.
    """

    def __init__(self, given: Any) -> None:
        self._own: AttachedCluster | None = None
        self._client = None if isinstance(given, AttachedCluster) else given
        handle: AttachedCluster | None = None
        if isinstance(given, AttachedCluster):
            handle = given
            if given.status == "closed":
                raise ClusterError(
                    given.problem
                    or f"The Dask cluster at {given.address} is watched no more: attach() to it "
                    "again."
                )
        elif hasattr(given, "_watched"):
            handle = given._watched()
        # (a client keeps the handle of a cluster that was let go of, for what it has recorded)
        if handle is None or handle.status == "closed":
            handle = self._own = attach(given)
        self.handle = handle
        self.name: str = self.handle.name
        self.asked: Questions = self.handle._asked()
        self._cluster = self.asked.log.cluster_id
        self.missing = ""
        self._places = (0, 0)

    def begin(self) -> float:
        """As :meth:`Watched.begin`."""
        self._places = self.asked.end_of_runs()
        before = max(_stops(self.asked.task_stream(count=_BEFORE)), default=-inf)
        return max(self.asked.log.wall_now(), nextafter(before, inf))

    def end(self, start: float) -> tuple[float, float]:
        """As :meth:`Watched.end`."""
        self.check_same()
        stops = _stops(self.asked.task_stream_from(self._places))
        self.tell_missing()
        last = nextafter(max(stops, default=-inf), inf)
        return min([start, *stops]), max(self.asked.log.wall_now(), last)

    def check_same(self) -> None:
        """As :meth:`Watched.check_same`."""
        if self.handle.cluster_id != self._cluster:
            raise ClusterError(
                f"The Dask scheduler at {self.handle.address} was started again within the block, "
                "so that it is another cluster: of the first one the panels have what there was."
            )

    def tell_missing(self) -> None:
        """As :meth:`Watched.tell_missing`."""
        why = self.handle._viewer.why_not_watched()
        if why and not self.missing:
            self.missing = f"{why} What came after that is missing in the block's figures."
            self.handle._said_missing = why
            tell(self.missing)

    def let_go(self) -> None:
        """As :meth:`Watched.let_go`."""
        own, self._own = self._own, None
        if own is not None:
            own.close()

    def _begin_memory_run(self, label: str, measure: str, interval: float) -> Any:
        """Called by :class:`spanwise.MemorySampler`; its end lets go."""
        try:
            run = self.handle._begin_memory_run(label, measure, interval, self._client)
            return _LetGo(self, run)
        except BaseException:
            self.let_go()
            raise


class _LetGo:
    """A memory run at whose end its cluster is watched no more."""

    def __init__(self, watched: WatchedDask, run: Any) -> None:
        self._watched = watched
        self._run = run

    def stop(self) -> list[tuple[float, float]]:
        try:
            found: list[tuple[float, float]] = self._run.stop()
            return found
        finally:
            self._watched.let_go()


def _stops(records: Iterable[Mapping[str, Any]]) -> list[float]:
    return [
        max(part["stop"] for part in each["startstops"]) for each in records if each["startstops"]
    ]


def current_measured(c: Any = None) -> Any:
    """What a block is about: `c`, or the current client, of Spanwise or of `distributed`.

    Raises
    ------
    ValueError
        There is none.
    """
    return c if isinstance(c, AttachedCluster) else default_client(c)


def watched_cluster(c: Any = None) -> Watched:
    """The cluster of `c`, or of the current client.

    Raises
    ------
    ValueError
        There is no client.
    ClusterError
        A Dask cluster cannot be watched.
    """
    found = current_measured(c)
    if isinstance(found, AttachedCluster) or is_dasks_client(found):
        return WatchedDask(found)
    return WatchedCluster(found)
