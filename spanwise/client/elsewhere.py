"""What other processes get in the place of a client.

Dask's settings hold the client that is current. Who starts processes hands the settings on:
the nannies of a `LocalCluster` of `distributed` pickle them by `multiprocessing`, and could not
start while a client of Spanwise was there.
"""

from __future__ import annotations

import os
from multiprocessing.reduction import ForkingPickler
from typing import Any

from spanwise.errors import AbsentAttribute


class ClientElsewhere:
    """Stands for a client of another process; for Dask's settings it is as none.

    Parameters
    ----------
    pid
        Of the client's process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        return ClientElsewhere, (self._pid,)

    def __repr__(self) -> str:
        return f"<Client of process {self._pid}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'ClientElsewhere' object has no attribute {name!r}")
        raise AbsentAttribute(
            f"This client belongs to process {self._pid}, which made it, and cannot be used in "
            f"process {os.getpid()}: use it there and pass results, or make a client here."
        )


def stand_in_elsewhere(kind: type) -> None:
    """Have `multiprocessing`, and nothing else that pickles, replace clients of a class."""
    ForkingPickler.register(kind, lambda client: (ClientElsewhere, (os.getpid(),)))
