"""What the system counted for the processes of a cluster, from the answer of view ``system``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Figure → column of the answer; the names are those of `distributed`'s system monitor.
FIGURES = {
    "cpu": "cpu",
    "memory": "memory",
    "host_net_io.read_bps": "netRead",
    "host_net_io.write_bps": "netWrite",
    "host_disk_io.read_bps": "hostDiskRead",
    "host_disk_io.write_bps": "hostDiskWrite",
    "disk_io.read_bps": "diskRead",
    "disk_io.write_bps": "diskWrite",
    "num_fds": "fds",
}
#: Of processes with an event loop beside their tasks alone.
LOOP_INTERVAL = "loopInterval"
SCHEDULER = "scheduler"


def system_of(answer: Mapping[str, Any], wall_zero: float) -> dict[str, dict[str, list[Any]]]:
    """The figures of each process; see :meth:`spanwise.Client.system_monitor`.

    Parameters
    ----------
    wall_zero
        The wall clock's time at the log's second 0.

    Raises
    ------
    LookupError, TypeError
        The answer is none.
    """
    return {
        SCHEDULER if line["worker"] is None else line["address"] or line["name"]: {
            "time": [wall_zero + t for t in line["t"]],
            "seconds": list(line["seconds"]),
            **{name: list(line[column]) for name, column in FIGURES.items()},
            **(
                {"event_loop_interval": list(line[LOOP_INTERVAL])}
                if line.get(LOOP_INTERVAL) is not None
                else {}
            ),
        }
        for line in answer["lines"]
    }
