"""Finds the observer that this process's measurements go to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import monotonic
from typing import Any

from spanwise.errors import ClusterError
from spanwise.observed.observer_address import ObserverAddress
from spanwise.observed.own_observer import OwnObserver
from spanwise.processes.node_process import READY_SECONDS
from spanwise.wire.errors import LinkError
from spanwise.wire.handshake import SECRET_BYTES
from spanwise.wire.link import dial

#: The server may have to start its observer first, and reports itself when that takes too
#: long.
ANSWER_SECONDS = READY_SECONDS + 10.0
#: Names the folder of an observer that runs by itself (`spanwise observer`).
OBSERVER_VARIABLE = "SPANWISE_OBSERVER"


def find_observer() -> ObserverAddress:
    """Use the observer that is named, ring for the Jupyter server's, or start one for this script.

    Raises
    ------
    ClusterError
        The server refuses, for the reason given, or the observer that is named has ended.
    """
    folder = os.environ.get(OBSERVER_VARIABLE)
    if folder:
        return _named(Path(folder))
    path = os.environ.get("SPANWISE_CONNECTION")
    if path and Path(path).exists():
        try:
            return _ring(json.loads(Path(path).read_text("utf-8")))
        except (OSError, ValueError, KeyError) as error:
            raise ClusterError(
                f"What the Jupyter server's Spanwise extension wrote to {path} cannot be used "
                f"({type(error).__name__}: {error}): restart the Jupyter server, then this kernel."
            ) from error
    return OwnObserver()


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


def _ring(connection: dict[str, Any]) -> ObserverAddress:
    secret = read_secret(connection["secretFile"])
    try:
        link = dial(connection["doorbell"], secret, "doorbell", timeout=READY_SECONDS)
        try:
            link.send("ring")
            answer = link.read(monotonic() + ANSWER_SECONDS)
        finally:
            link.close()
    except TimeoutError as error:
        raise ClusterError(
            f"The Jupyter server's Spanwise extension did not answer within {ANSWER_SECONDS:g} s: "
            "the server is stopped or overloaded. Restart it, then this kernel."
        ) from error
    except LinkError as error:
        raise ClusterError(
            f"The Jupyter server's Spanwise extension did not answer: {error}"
        ) from error
    fields = answer.fields
    return ObserverAddress(
        fields["address"], read_secret(fields["secretFile"]), fields["secretFile"]
    )


def read_secret(path: str) -> bytes:
    """The secret in a file, as :func:`secret_in` reads it."""
    return secret_in(Path(path).read_bytes())


def secret_in(content: bytes) -> bytes:
    """A secret file holds its bytes, or two hexadecimal digits for each."""
    if len(content) == SECRET_BYTES:
        return content
    return bytes.fromhex(content.decode("ascii").strip())
