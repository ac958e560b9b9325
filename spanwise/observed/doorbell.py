"""Rings at the Jupyter server's Spanwise extension, whose connection file kernels are given."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from spanwise.errors import ClusterError
from spanwise.processes.node_process import READY_SECONDS
from spanwise.processes.process_state import is_stopped
from spanwise.wire.errors import HandshakeRefused, LinkError, RefusedThere
from spanwise.wire.handshake import SECRET_BYTES
from spanwise.wire.link import dial

#: Names the connection file to the processes that a server starts; see `newest_server` too.
CONNECTION_VARIABLE = "SPANWISE_CONNECTION"


class SwitchedOff(ClusterError):
    """The server does not do this, by its settings."""


#: What a server answers that does not know a message.
_UNKNOWN = ("broken-frame", "order")
_UPGRADE = (
    "It has an older version of Spanwise: run `pip install --upgrade spanwise` in the environment "
    "of the Jupyter server and restart it."
)


def connection_file() -> Path | None:
    """The file that the server has named to this process, if it is there."""
    path = os.environ.get(CONNECTION_VARIABLE)
    return Path(path) if path and Path(path).exists() else None


def ring(file: Path, what: str, fields: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Say something to the server; returns what it answers.

    Parameters
    ----------
    seconds
        It may have to start a process first, and reports itself when that takes too long.

    Raises
    ------
    ClusterError
        It refuses, for the reason given, or does not answer.
    """
    try:
        connection = json.loads(file.read_text("utf-8"))
        secret = read_secret(connection["secretFile"])
        address, pid = str(connection["doorbell"]), int(connection.get("pid", 0))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"What the Jupyter server's Spanwise extension wrote to {file} cannot be used "
            f"({type(error).__name__}: {error}): restart the Jupyter server, then this kernel."
        ) from error
    if is_stopped(pid):
        raise ClusterError(
            f"The Jupyter server, process {pid}, is stopped (SIGSTOP, Ctrl-Z or a debugger) and "
            "does not answer: continue it."
        )
    try:
        link = dial(address, secret, "doorbell", timeout=READY_SECONDS)
        try:
            link.send(what, fields)
            return link.read(monotonic() + seconds).fields
        finally:
            link.close()
    except TimeoutError as error:
        raise ClusterError(
            f"The Jupyter server's Spanwise extension did not answer within {seconds:g} s: "
            "the server is stopped or overloaded. Restart it, then this kernel."
        ) from error
    except RefusedThere as refused:
        if refused.code in _UNKNOWN:
            raise ClusterError(
                f"The Jupyter server's Spanwise extension does not understand this. {_UPGRADE}"
            ) from refused
        if refused.code == "off":
            raise SwitchedOff(refused.sentence) from None
        raise ClusterError(_unanswered(refused)) from refused
    except (HandshakeRefused, LinkError) as error:
        raise ClusterError(_unanswered(error)) from error


def _unanswered(error: LinkError) -> str:
    return f"The Jupyter server's Spanwise extension did not answer: {error}"


def read_secret(path: str) -> bytes:
    """The secret in a file, as :func:`secret_in` reads it."""
    return secret_in(Path(path).read_bytes())


def secret_in(content: bytes) -> bytes:
    """A secret file holds its bytes, or two hexadecimal digits for each."""
    if len(content) == SECRET_BYTES:
        return content
    return bytes.fromhex(content.decode("ascii").strip())
