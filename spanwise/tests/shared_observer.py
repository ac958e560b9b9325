"""One observer for all clusters and observations of a file of tests, as under a Jupyter server."""

from __future__ import annotations

import threading

from spanwise.observed.observer_address import ObserverAddress
from spanwise.observed.own_observer import OwnObserver
from spanwise.tests.leftover import left_over_again, not_left_over


class SharedObserver:
    """Stands for :class:`OwnObserver`: the first call starts one, all others give its address."""

    def __init__(self) -> None:
        self._own: OwnObserver | None = None
        self._pid = 0
        self._starting = threading.Lock()

    def __call__(self) -> ObserverAddress:
        with self._starting:
            if self._own is None:
                self._own = OwnObserver()
                self._pid = self._own.process.process.pid
                not_left_over(self._pid)
        own = self._own
        return ObserverAddress(own.address, own.secret, own.secret_file)

    def close(self) -> None:
        """End it, and all that it knows."""
        if self._own is not None:
            self._own.close()
            left_over_again(self._pid)
