"""The cluster that the notebooks of one environment share; the Jupyter server owns it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import dask

from spanwise.client.cluster_file import find_cluster
from spanwise.client.joined_cluster import JoinedCluster, refusal_of
from spanwise.client.start_scheduler import cluster_settings
from spanwise.errors import ClusterError
from spanwise.notices import tell
from spanwise.observed.doorbell import SwitchedOff, connection_file, ring
from spanwise.processes.node_process import READY_SECONDS
from spanwise.processes.process_state import is_stopped, lives
from spanwise.processes.this_process import kernel_id
from spanwise.wire.errors import HandshakeRefused, LinkError

#: The server may have to start the observer and the scheduler first.
ANSWER_SECONDS = 2 * READY_SECONDS + 20.0
#: A cluster that is just ending takes less: then another is started.
_ENDING_SECONDS = 30.0
_LOOK_SECONDS = 0.1
#: Keywords of `distributed` that are about the client alone: with them it shares a cluster too.
_OF_THE_CLIENT = frozenset(
    (
        "connection_limit",
        "deserializers",
        "direct_to_workers",
        "extensions",
        "heartbeat_interval",
        "loop",
        "security",
        "serializers",
    )
)


class NoDefaultCluster(Exception):
    """There is none to join; the text says why, as a sentence, if users are to know."""


def shares_default(options: tuple[Any, ...], others: Mapping[str, Any]) -> bool:
    """Whether a client that is given no cluster joins the one of its environment.

    Parameters
    ----------
    options
        n_workers, threads_per_worker, memory_limit, name, as of :class:`Client`.
    others
        Its other keywords. What describes a cluster asks for one of its own.
    """
    if options != (None, None, "auto", None) or not _OF_THE_CLIENT.issuperset(others):
        return False
    return kernel_id() is not None and connection_file() is not None


class DefaultCluster(JoinedCluster):
    """The connection of a notebook to the cluster of its environment."""

    def __init__(self) -> None:
        super().__init__(lambda: find_cluster(self._file))
        self._file = ""

    def start(self, timeout: float | None) -> None:
        """Join it; the server starts it if need be.

        Raises
        ------
        NoDefaultCluster
            The server gives none, or it lets nobody in.
        ClusterError, TimeoutError
            It has started, and has no workers.
        """
        try:
            self._join(timeout)
        except SwitchedOff:
            raise NoDefaultCluster from None
        except ClusterError as error:
            raise NoDefaultCluster(str(error)) from error
        welcome = self._link.welcome
        coming = int(welcome.get("coming") or 0)
        # (of the same moment: one that has come since would count twice, and be waited for in vain)
        here = sum(row["state"] != "closing" for row in welcome["workers"])
        try:
            if coming > 0:
                self.session.wait_for_workers(here + coming, timeout)
        except BaseException:
            self.close()
            raise

    def _join(self, timeout: float | None) -> None:
        server = connection_file()
        if server is None:
            raise ClusterError("The Jupyter server has ended.")
        settings = settings_to_join_with()
        recording = settings["recording"]
        give_up = monotonic() + _ENDING_SECONDS
        while True:
            self._file = str(ring(server, "join", {"settings": settings}, ANSWER_SECONDS)["file"])
            error = self._try(timeout)
            if error is None:
                break
            if monotonic() > give_up:
                raise error
            sleep(_LOOK_SECONDS)
        if recording and self.observer is None:
            tell(
                f"Nothing is recorded for the panels: the cluster {self.session.name!r} was "
                "started without an observer. The Jupyter server's log says why."
            )
        folder = settings["launch"]["cwd"]
        if self._folder_of_workers not in ("", folder):
            tell(
                f"The workers of the cluster {self.session.name!r}, which this notebook shares, "
                f"run in the folder {self._folder_of_workers}, and this notebook in {folder}: "
                "give tasks whole paths of files."
            )

    def _try(self, timeout: float | None) -> ClusterError | None:
        """Connect; returns why not if another cluster is to be expected soon.

        Raises
        ------
        ClusterError
            This one refuses.
        """
        try:
            place = self._find()
        except ClusterError as error:
            if Path(self._file).exists():
                raise
            return error
        try:
            self._connect(place, timeout)
        except LinkError as error:
            is_refused = isinstance(error, HandshakeRefused) and error.code != "closing"
            if is_stopped(place.pid) or (is_refused and lives(place.pid)):
                raise refusal_of(place, error) from error
            # (one that ends lets the connection go too)
            return refusal_of(place, error)
        return None

    @property
    def _folder_of_workers(self) -> str:
        return str(self._link.welcome.get("cwd") or "")


def settings_to_join_with() -> dict[str, Any]:
    """What the cluster of this environment is started with if this is the first to come.

    The Jupyter server calls it too, in the interpreter of a kernel (`kernel_environment.py`).
    """
    recording = bool(dask.config.get("spanwise.recording", True))
    return {**cluster_settings(None, None, "auto", recording), "name": _name()}


def _name() -> str:
    """As panels show it: the folder of the environment is what users call it by."""
    folder = Path(sys.prefix)
    name = folder.parent.name if folder.name in ("venv", ".venv", "env", ".env") else folder.name
    is_system = sys.prefix == sys.base_prefix and not os.environ.get("CONDA_PREFIX")
    return "default" if is_system or not name else f"default ({name})"
