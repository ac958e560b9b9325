"""Questions about one cluster: its scheduler sends what it measured, then the observer is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spanwise.client.session import Session
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.graph.key_from_text import key_of
from spanwise.notices import warn_asker
from spanwise.observed.observer_address import ObserverAddress
from spanwise.observed.questions import QUERY_SECONDS, Questions
from spanwise.wire.errors import LinkError


class SessionLog:
    """The log that a cluster's scheduler writes.

    Parameters
    ----------
    session
        The connection to it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.cluster_id = session.cluster_id
        self.wall_epoch = session.wall_epoch

    def wall_now(self) -> float:
        """As :meth:`Recorded.wall_now`."""
        return self._session.wall_now()

    def flush(self) -> int:
        """As :meth:`Recorded.flush`; a dead scheduler has nothing more to say."""
        if self._session.dead is not None:
            return 0
        answer = self._session.ask("flush", {}, timeout=QUERY_SECONDS)
        if answer.fields["note"]:
            warn_asker(answer.fields["note"])
        return int(answer.fields["seq"])

    def states_by_span(self) -> dict[int, dict[str, int]] | None:
        """As :meth:`Recorded.states_by_span`."""
        found: dict[int, dict[str, int]] = {}
        after: int | None = 0
        while after is not None:
            if self._session.dead is not None:
                return None
            try:
                answer = self._session.ask("question", {"about": "spans", "after": after})
            except SchedulerLost:
                return None  # the figures that the observer has are worth having all the same
            for row in answer.fields["spans"]:
                states = found.setdefault(row["span"], {})
                states[row["state"]] = states.get(row["state"], 0) + row["tasks"]
            after = answer.fields["next"]
        return found


class Observed(Questions):
    """Queries about one cluster.

    Parameters
    ----------
    session
        The cluster's connection.
    find
        Finds the observer when first needed.
    """

    def __init__(self, session: Session, find: Callable[[], ObserverAddress | None]) -> None:
        super().__init__(SessionLog(session), find, lambda: _keys_of(session))
        self._session = session

    def query(self, *question: Any, **more: Any) -> dict[str, Any]:
        """As :meth:`Questions.query`.

        Raises
        ------
        ClusterError
            It could not be answered.
        SchedulerLost
            Nor was there anybody to answer, for the cluster has ended, and the observer with it.
        """
        try:
            return super().query(*question, **more)
        except ClusterError as error:
            lost = self._session.dead
            if lost is None or not isinstance(error.__cause__, (LinkError, TimeoutError)):
                raise
            raise SchedulerLost(
                f"{lost} What was measured is not there any more: the observer has ended too."
            ) from error.__cause__


def _keys_of(session: Session) -> Callable[[str], Any]:
    """What gives the key for a text: of a future that is held its own, else what the text says."""
    held = {str(key): key for key in list(session.by_key) if type(key) is not str or key[:1] == "("}

    def key(text: str) -> Any:
        found = held.get(text)
        return key_of(text) if found is None else found

    return key
