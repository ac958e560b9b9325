"""What a client tells of processes and hosts: CPU, memory, disk, network, descriptors."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

from spanwise.errors import SchedulerLost
from spanwise.records.enumerations import NONE_U32
from spanwise.wire.schema import link_type

if TYPE_CHECKING:
    from spanwise.client.observed import Observed
    from spanwise.client.session import Session

#: So long a scheduler that is stopped is waited for: all else is known without it.
_METRICS_SECONDS = 5.0
#: Columns of what is told of a worker.
_METRICS = link_type("client").message("down", "answer").by_name["workers"].columns


def metrics_of_workers(session: Session) -> dict[int, dict[str, Any]]:
    """What each worker has told of itself last, by its number; empty if the scheduler is silent.

    The names are those of `distributed`'s heartbeats.
    """
    found: dict[int, dict[str, Any]] = {}
    after: int | None = 0
    while after is not None:
        question = {"about": "workers", "after": after}
        try:
            answer = session.ask("question", question, {"ids": []}, timeout=_METRICS_SECONDS)
        except (SchedulerLost, TimeoutError):
            return {}  # all else of scheduler_info() is known here
        bandwidth = answer.fields.get("bandwidth")
        for values in answer.table("workers"):
            row = dict(zip(_METRICS, values, strict=True))
            found[row["worker"]] = _metrics(session, row, bandwidth)
        after = answer.fields["next"]
    return found


def _metrics(session: Session, row: dict[str, Any], bandwidth: float | None) -> dict[str, Any]:
    def known(name: str) -> float | None:
        value: float = row[name]
        return value if isfinite(value) else None

    def rates(of: str) -> dict[str, float | None]:
        return {"read_bps": known(f"{of}Read"), "write_bps": known(f"{of}Write")}

    t = known("t")
    return {
        "task_counts": {
            "executing": row["executing"],
            "ready": row["ready"],
            "waiting": row["waiting"],
            "flight": row["fetching"],
            "memory": row["results"],
        },
        # (who fetched how fast of whom: Client.bandwidth)
        "bandwidth": {"total": bandwidth, "workers": {}, "types": {}},
        "digests_total_since_heartbeat": {},
        "managed_bytes": int(row["managed"]),
        "spilled_bytes": {"memory": int(row["spilled"]), "disk": int(row["disk"])},
        "transfer": {
            "incoming_bytes": int(row["incomingBytes"]),
            "incoming_count": row["incoming"],
            "incoming_count_total": int(row["incomingTotal"]),
            "outgoing_bytes": int(row["outgoingBytes"]),
            "outgoing_count": row["outgoing"],
            "outgoing_count_total": int(row["outgoingTotal"]),
        },
        "event_loop_interval": None,
        "cpu": known("cpu"),
        "memory": known("memory"),
        "time": None if t is None else session.wall_time(t),
        "host_net_io": rates("net"),
        "host_disk_io": rates("hostDisk"),
        "disk_io": rates("disk"),
        "num_fds": None if row["fds"] == NONE_U32 else row["fds"],
        # (not in distributed, as disk_io)
        "clock": {
            "offset": row["clockOffset"],
            "uncertainty": row["clockWithin"],
            "drift": known("clockDrift"),
        },
    }


class SystemMethods:
    """What a client tells of processes over time."""

    if TYPE_CHECKING:
        _observed: Observed

        def _call(self, function: Callable[..., Any], *args: Any) -> Any: ...

    def system_monitor(
        self, start: float | str | None = None, stop: float | str | None = None
    ) -> Any:
        """What the system counted for the cluster's processes and their hosts, over time.

        Each process looks at itself every 0.5 s while there are tasks, else every 2 s. A row
        stands for the time since the row before it.

        Parameters
        ----------
        start, stop
            Wall clock, seconds since the epoch, or a text such as ``"30 s"``: so long ago. Rows
            whose time these touch.

        Returns
        -------
        dict
            ``"scheduler"``, and each worker's address, to a dict of lists of equal length:
            ``time`` (at the row's end, seconds since the epoch), ``seconds`` (that it stands for),
            ``cpu`` (per cent of one core), ``memory`` (resident bytes), ``num_fds``,
            ``disk_io.read_bps`` and ``.write_bps`` (bytes a second of the process),
            ``host_disk_io.…`` and ``host_net_io.…`` (of all on its host). A figure that the system
            does not tell is None. Of more rows than an answer holds (600 of a process, 3,600 of
            all), neighbours are one: rates are their mean, memory and descriptors their highest.
        """
        return self._call(self._observed.system, start, stop)
