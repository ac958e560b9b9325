"""Starts an observer; whose it is, and when the next one is started, is the owner's affair."""

from __future__ import annotations

from pathlib import Path

from spanwise.processes.node_process import NodeProcess
from spanwise.wire.private_folder import write_private
from spanwise.wire.schema import PROTOCOL


def where_it_listens(observer: NodeProcess) -> dict[str, str]:
    """What sources need to find it, and the ones after it that get its folder."""
    return {"address": observer.address, "secretFile": str(observer.folder / "secret")}


def start_observer(
    secret: bytes, transport: str, budget_bytes: int, folder: Path | None = None
) -> NodeProcess:
    """Start one and wait until it listens; in its folder sources find `secret` and `address`.

    Parameters
    ----------
    secret
        Opens its door: the one that sources were given, also after a restart.
    folder
        Of the one before it, which has ended. Default: a new one.

    Raises
    ------
    ClusterError, NodeNotFound, OSError
    """
    settings = {
        "protocol": PROTOCOL,
        "secretHex": secret.hex(),
        "transport": transport,
        "budgetBytes": budget_bytes,
    }
    process = NodeProcess("observer", settings, secret, folder)
    try:
        write_private(process.folder / "secret", secret.hex())
        write_private(process.folder / "address", process.address)
    except BaseException:
        process.kill()
        raise
    return process
