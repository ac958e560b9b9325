"""Finds a running cluster of this user: by its scheduler's address, or by a file that names it.

The scheduler writes ``cluster.json`` into its private folder, beside its socket
(docs/contracts.md §8). Who can read that file and the secret that it names may join.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from spanwise.errors import ClusterError
from spanwise.observed.find_observer import read_secret
from spanwise.observed.observer_address import ObserverAddress
from spanwise.processes.process_state import lives
from spanwise.wire.handshake import SECRET_BYTES
from spanwise.wire.private_folder import write_private

FILE_NAME = "cluster.json"
#: A file that is longer is none of ours.
_MOST_BYTES = 1024 * 1024
#: What `distributed` calls an address: ``tcp://10.0.0.1:8786``, or without the beginning.
_THEIRS = re.compile(r"\w+://.*|[\w.-]+:\d+")
_HOW = (
    "Client() starts a cluster of its own; one that runs is joined by the address that "
    'client.scheduler_info()["address"] shows in its program, or by the path of its cluster.json.'
)


class ClusterPlace(NamedTuple):
    """Where a cluster can be joined.

    Attributes
    ----------
    name
        As the cluster's owner calls it.
    pid
        Of its scheduler.
    observer
        What keeps its measurements, if it is recorded.
    """

    name: str
    address: str
    secret: bytes
    pid: int
    observer: ObserverAddress | None


def find_cluster(given: str | os.PathLike[str]) -> ClusterPlace:
    """Find a cluster by address, or by the path of its file or its folder.

    Raises
    ------
    ClusterError
        There is none, or this user may not join it; the message says what to do.
    """
    text = os.fspath(given)
    if text.startswith(("unix:", "tcp:")) and "://" not in text:
        return _read_place(_file_at(text), text)
    if isinstance(given, str) and _THEIRS.fullmatch(text) and not Path(text).exists():
        raise ClusterError(
            f"{text!r} is not the address of a Spanwise cluster, which begins with unix: or tcp: "
            f"(without slashes). {_HOW} For a cluster of distributed use distributed.Client()."
        )
    path = Path(text).expanduser()
    return _read_place(path / FILE_NAME if path.is_dir() else path, text)


def copy_cluster_file(address: str, target: str | os.PathLike[str]) -> None:
    """Write a running cluster's file to another place, over what is there.

    Raises
    ------
    ClusterError, OSError
    """
    text = json.dumps(_described(_file_at(address)), indent=1)
    beside = Path(f"{os.fspath(target)}.{os.getpid()}")
    try:
        write_private(beside, text)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _file_at(address: str) -> Path:
    if address.startswith("unix:"):
        return Path(address.removeprefix("unix:")).parent / FILE_NAME
    return _file_of(address)


def _file_of(address: str) -> Path:
    """The file of the cluster whose scheduler has this port of the loopback interface."""
    dead: Path | None = None
    for path in _own_files():
        try:
            described = _described(path)
            if described["address"] != address:
                continue
            if lives(int(described["pid"])):
                return path
            dead = path  # another may have got its port since
        except (ClusterError, OSError, ValueError, TypeError, KeyError):
            continue  # it is just ending, or somebody else's
    if dead is not None:
        return dead
    raise ClusterError(
        f"No cluster of this user has the address {address}: it has ended, or its program uses "
        f"another folder for temporary files (TMPDIR). {_HOW}"
    )


def _own_files() -> Iterator[Path]:
    """Where schedulers of this user may have written theirs."""
    bases = (tempfile.gettempdir(), "/tmp", os.environ.get("XDG_RUNTIME_DIR", ""))
    for base in dict.fromkeys(filter(None, bases)):
        yield from Path(base).glob(f"spanwise-*/{FILE_NAME}")


def _read_place(path: Path, given: str) -> ClusterPlace:
    try:
        described = _described(path)
        secret = read_secret(str(_own(Path(described["secretFile"]))))
        if len(secret) != SECRET_BYTES:
            raise ValueError("its secret has another length")
        return ClusterPlace(
            str(described["name"]),
            str(described["address"]),
            secret,
            int(described["pid"]),
            _observer(described["observer"]),
        )
    except FileNotFoundError as error:
        raise ClusterError(
            f"There is no cluster at {given!r}: {error.filename} does not exist. It has ended, or "
            f"never was there. {_HOW}"
        ) from None
    except PermissionError as error:
        raise _another_users(Path(error.filename)) from None
    except OSError as error:
        raise ClusterError(f"{path} cannot be read: {error}. {_HOW}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ClusterError(
            f"{path} does not describe a Spanwise cluster ({type(error).__name__}: {error}). {_HOW}"
        ) from None


def _observer(described: Any) -> ObserverAddress | None:
    """None as well if it has ended: computing does not need it."""
    if described is None:
        return None
    address, file = str(described["address"]), str(described["secretFile"])
    try:
        return ObserverAddress(address, read_secret(str(_own(Path(file)))), file)
    except FileNotFoundError:
        return None


def _described(path: Path) -> dict[str, Any]:
    text = _own(path).read_text("utf-8")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("it holds no fields")
    if "secretFile" not in found and str(found.get("type")) == "Scheduler":
        raise ClusterError(
            f"{path} describes a scheduler of distributed: use distributed.Client(scheduler_file=…)"
        )
    return found


def _own(path: Path) -> Path:
    """The path, if nobody else can have written it.

    Who joins opens what the cluster sends it: a file of another user's could name a cluster of his.

    Raises
    ------
    ClusterError, OSError, ValueError
    """
    found = path.stat()
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _another_users(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
        raise ValueError("it is no file of text")
    return path


def _another_users(path: Path) -> ClusterError:
    return ClusterError(
        f"{path} belongs to another user, or others may change it: a cluster serves only the user "
        "who started it. Client() starts one of your own."
    )
