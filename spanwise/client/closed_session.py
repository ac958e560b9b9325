"""What a closed client has in place of its session, which its cluster goes on using."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spanwise.client.entries import Entry
from spanwise.errors import ClusterError

CLOSED = "This client is closed; make a new one with Client()."
#: What the client may still ask: how it looks, and futures that are let go of.
_HARMLESS = frozenset(
    {"name", "cluster_id", "number", "log_id", "wall_epoch", "dead", "drop_later"}
)


class ClosedSession:
    """Refuses everything that is asked of the cluster.

    Parameters
    ----------
    session
        The cluster's.
    """

    def __init__(self, session: Any) -> None:
        self._known = {name: getattr(session, name) for name in _HARMLESS}

    def running_workers(self, closing: bool = False) -> list[dict[str, Any]]:
        """None that this client could use."""
        return []

    workers_there = running_workers

    def watch(self, *waited: Any) -> None:
        """Nothing of it is waited for: all that it held was cancelled."""

    def values(self, entries: Sequence[Entry], errors: str) -> dict[Entry, Any]:
        """No values: another client, to which its futures are given, raises what became of them."""
        for entry in entries:
            if entry.reason is None:
                raise ClusterError(CLOSED)
            if errors == "raise":
                failure = entry.failure()
                raise failure.error
        return {}

    def cancel(self, entries: Sequence[Entry], force: bool, how: str) -> None:
        """Nothing: it has cancelled all."""

    def __getattr__(self, name: str) -> Any:
        if name in _HARMLESS:
            return self._known[name]
        raise ClusterError(CLOSED)
