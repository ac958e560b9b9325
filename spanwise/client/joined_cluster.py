"""A cluster that another client owns: this one comes as its guest, and leaves alone."""

from __future__ import annotations

import _thread
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from spanwise.client.cluster_file import ClusterPlace
from spanwise.client.forked import stay_out_of_forks
from spanwise.client.private_cluster import intro_of_client
from spanwise.client.session import Session
from spanwise.errors import ClusterError
from spanwise.observed.observer_address import ObserverAddress
from spanwise.processes.process_state import is_stopped, lives
from spanwise.wire.errors import HandshakeRefused, LinkError
from spanwise.wire.handshake import TIME_LIMIT
from spanwise.wire.link import dial

if TYPE_CHECKING:
    from spanwise.client.needs import Around


class JoinedCluster:
    """The connection of a guest.

    Parameters
    ----------
    find
        Where the cluster is; asked when it starts.
    worker, around
        The worker in whose process this is, and what is known there of the task that asks.
    computes
        False: a command that keeps workers of it.

    Attributes
    ----------
    observer
        What keeps the cluster's measurements, once it has started.
    session
        The connection to the scheduler, once it has started.
    ends_all
        Closing it ends the cluster for all.
    """

    #: The process belongs to the cluster's owner.
    scheduler = None

    def __init__(
        self,
        find: Callable[[], ClusterPlace],
        worker: int | None = None,
        around: Around | None = None,
        computes: bool = True,
    ) -> None:
        self._find = find
        self._worker = worker
        self._around = around
        self._computes = computes
        self.address = ""
        self.observer: ObserverAddress | None = None
        self.session: Session
        self.is_closed = False
        self.ends_all = False

    def place(self) -> ClusterPlace:
        """Where it is."""
        return self._find()

    def start(self, timeout: float | None) -> None:
        """Connect.

        Raises
        ------
        ClusterError
            It has ended, or refuses this client; the message says what to do.
        """
        place = self._find()
        try:
            self._connect(place, timeout)
        except LinkError as error:
            raise refusal_of(place, error) from error

    def _connect(self, place: ClusterPlace, timeout: float | None) -> None:
        """Connect; raises what the link says."""
        intro = {**intro_of_client(self._computes), "guest": True, "worker": self._worker}
        seconds = TIME_LIMIT if timeout is None else min(timeout, TIME_LIMIT)
        self._link = dial(place.address, place.secret, "client", intro, seconds)
        self.address, self.observer = place.address, place.observer
        self._pid = place.pid
        self.session = Session(self._link, place.secret, around=self._around)
        stay_out_of_forks(self.session)
        # A forgotten client's threads would keep the connection for as long as the program runs.
        # At exit it ends by itself.
        weakref.finalize(self, _leave_soon, self.session).atexit = False

    def close(self) -> None:
        """Leave it; what this client held is let go. Twice is safe."""
        self.is_closed = True
        self.session.close(self._give_up_if_stopped, self.ends_all)

    def _give_up_if_stopped(self) -> None:
        """A stopped scheduler reads no goodbye; it sees the end of the connection later."""
        if is_stopped(self._pid):
            self._link.close()


def _leave_soon(session: Session) -> None:
    """Say goodbye from another thread: garbage is collected anywhere, whatever locks are held."""
    if os.getpid() != session.pid:
        return
    try:
        _thread.start_new_thread(session.close, ())
    except RuntimeError:
        return  # the interpreter ends, and the connection with it


def refusal_of(place: ClusterPlace, error: LinkError) -> ClusterError:
    """The error for a user whose client was not let in."""
    if isinstance(error, HandshakeRefused):
        if error.code == "secret":
            return ClusterError(
                f"What listens at {place.address} does not have the secret of the cluster "
                f"{place.name!r}: that one has ended, or its secret file was changed. Ask its "
                "program for its address again, or make a cluster with Client()."
            )
        return ClusterError(str(error))
    return ClusterError(_why_silent(place, error))


def _why_silent(place: ClusterPlace, error: LinkError) -> str:
    if not lives(place.pid):
        return (
            f"The cluster {place.name!r} at {place.address} has ended: its scheduler, process "
            f"{place.pid}, does not run any more. Client() starts a new one."
        )
    if is_stopped(place.pid):
        return (
            f"The scheduler of the cluster {place.name!r}, process {place.pid}, is stopped "
            "(SIGSTOP, Ctrl-Z or a debugger): continue it, and join again."
        )
    return (
        f"The cluster {place.name!r} did not let this client in: {error} If it is busy, try again; "
        "Client() starts another one."
    )
