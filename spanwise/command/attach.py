"""``spanwise attach ADDRESS``: a Dask cluster in the panels, without a kernel."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from queue import Empty
from typing import TextIO

from spanwise.command.options import refuse
from spanwise.command.until_told import Events, notices_as_lines, signals_as_events
from spanwise.dask_bridge.attach import AttachedCluster, attach
from spanwise.errors import ClusterError
from spanwise.observed.find_observer import OBSERVER_VARIABLE
from spanwise.observed.newest_server import server_file

#: Between looks whether the cluster has ended.
_LOOK_SECONDS = 0.5


def add_attach(parser: argparse.ArgumentParser) -> None:
    """Describe its arguments."""
    parser.add_argument("address", metavar="ADDRESS", help="of the scheduler: tcp://host:8786")
    parser.add_argument("--name", help="shown by the panels (default: the address)")
    files = parser.add_argument_group("TLS, for a tls:// address")
    files.add_argument("--tls-ca-file", metavar="FILE", help="certificate of the authority")
    files.add_argument("--tls-cert", metavar="FILE", help="certificate of this program")
    files.add_argument("--tls-key", metavar="FILE", help="its key")
    refuse(parser)
    parser.set_defaults(run=run_attach)


def run_attach(options: argparse.Namespace, out: TextIO) -> int:
    """Watch a cluster until a signal comes or it has ended; returns the exit code.

    Raises
    ------
    ClusterError
        There are no panels to show it, or it cannot be watched.
    """
    if not os.environ.get(OBSERVER_VARIABLE) and server_file() is None:
        raise ClusterError(
            "no panels would show it: run this in a terminal of JupyterLab, or in a notebook "
            f"spanwise.attach({options.address!r})."
        )
    files = {
        "tls_ca_file": options.tls_ca_file,
        "tls_client_cert": options.tls_cert,
        "tls_client_key": options.tls_key,
    }
    security = {**files, "require_encryption": True} if any(files.values()) else None
    events: Events = Events()
    with (
        signals_as_events(events),
        notices_as_lines("spanwise attach"),
        attach(options.address, security=security, name=options.name) as cluster,
    ):
        named = "" if cluster.name == cluster.address else f" as {cluster.name}"
        out.write(
            f"Watching {cluster.address}{named}.\n"
            "In the sidebar of JupyterLab choose it under Cluster, then press Default layout.\n"
            "Nothing stays on the cluster when this command ends: Ctrl-C, or SIGTERM.\n"
        )
        out.flush()
        why = _why_ended(cluster, events)
    out.write(f"Watching has ended: {why}\n")
    return 0


def _why_ended(cluster: AttachedCluster, events: Events) -> str:
    while cluster.status != "closed":
        with suppress(Empty):
            _, name = events.get(timeout=_LOOK_SECONDS)
            return f"{name}."
    return cluster.problem
