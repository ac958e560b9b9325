"""Finds the observer that this process's measurements go to."""

from __future__ import annotations

import os
from pathlib import Path

from spanwise.errors import ClusterError
from spanwise.observed.doorbell import read_secret, ring
from spanwise.observed.newest_server import server_file
from spanwise.observed.observer_address import ObserverAddress
from spanwise.observed.own_observer import OwnObserver
from spanwise.processes.node_process import READY_SECONDS

#: The server may have to start its observer first, and reports itself when that takes too
#: long.
ANSWER_SECONDS = READY_SECONDS + 10.0
#: Names the folder of an observer that runs by itself (`spanwise observer`).
OBSERVER_VARIABLE = "SPANWISE_OBSERVER"


def find_observer() -> ObserverAddress:
    """Use the observer that is named, ring for a Jupyter server's, or start one for this script.

    Raises
    ------
    ClusterError
        The server refuses, for the reason given, or the observer that is named has ended.
    """
    folder = os.environ.get(OBSERVER_VARIABLE)
    if folder:
        return _named(Path(folder))
    file = server_file()
    if file is None:
        return OwnObserver()
    fields = ring(file, "ring", {}, ANSWER_SECONDS)
    try:
        secret = read_secret(fields["secretFile"])
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"The secret of the Jupyter server's observer cannot be read ({error}): restart the "
            "Jupyter server, then this kernel."
        ) from error
    return ObserverAddress(fields["address"], secret, fields["secretFile"])


def _named(folder: Path) -> ObserverAddress:
    secret_file = folder / "secret"
    try:
        secret = read_secret(str(secret_file))
        address = (folder / "address").read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"{OBSERVER_VARIABLE} names {folder}, where no observer runs any more ({error}): start "
            f"another with `spanwise observer`, or unset {OBSERVER_VARIABLE}."
        ) from None
    return ObserverAddress(address, secret, str(secret_file))
