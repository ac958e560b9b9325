"""Finds a running cluster of this user: by its scheduler's address, or by a file that names it.

The scheduler writes ``cluster.json`` into its private folder, beside its socket
(docs/contracts.md §8). Who can read that file and the secret that it names may join.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from spanwise.errors import ClusterError
from spanwise.observed.doorbell import secret_in
from spanwise.observed.observer_address import ObserverAddress
from spanwise.observed.page_file import checked_path
from spanwise.processes.process_state import lives
from spanwise.wire.handshake import SECRET_BYTES

FILE_NAME = "cluster.json"
#: A file that is longer is none of ours.
_MOST_BYTES = 1024 * 1024
#: Between two looks for what is still to come.
_LOOK_SECONDS = 0.2
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


def is_dasks_address(given: Any) -> bool:
    """Whether it is an address of Dask: ``tcp://host:8786``, or without the beginning."""
    is_one = isinstance(given, str) and _THEIRS.fullmatch(given) is not None
    return is_one and not os.path.exists(given)  # noqa: PTH110


def find_cluster(given: str | os.PathLike[str]) -> ClusterPlace:
    """Find a cluster by address, or by the path of its file or its folder.

    Raises
    ------
    ClusterError
        There is none, or this user may not join it; the message says what to do.
    """
    text = os.fspath(given)
    if text.startswith(("unix:", "tcp:")) and "://" not in text:
        path, described = _at_address(text)
        return _place(path, text, described)
    if is_dasks_address(given):
        raise ClusterError(
            f"{text!r} is not the address of a Spanwise cluster, which begins with unix: or tcp: "
            f"(without slashes). {_HOW} For a cluster of distributed use distributed.Client()."
        )
    path = Path(text).expanduser()
    # Path's own methods raise for another user's folder; reading tells why it cannot be read.
    path = path / FILE_NAME if os.path.isdir(path) else path  # noqa: PTH112
    with _explained(path, text):
        described = _described(path)
    return _place(path, text, described)


def wait_for_cluster(
    given: str | os.PathLike[str],
    patience: float | None,
    gives_up: Callable[[], object] = bool,
) -> ClusterPlace:
    """Find a cluster that may be still to come: its file is not written, or of one that has ended.

    Parameters
    ----------
    patience
        Seconds to wait for it; None: no limit.
    gives_up
        Asked between two looks: whether to wait no longer.

    Raises
    ------
    ClusterError
        As of `find_cluster`; what is wrong with a file that is there is told at once.
    """
    limit = math.inf if patience is None else time.monotonic() + patience
    while True:
        place, why = None, None
        try:
            place = find_cluster(given)
        except NoCluster as error:
            why = error
        left = limit - time.monotonic()
        is_last = left <= 0 or gives_up()
        if place is not None and (is_last or lives(place.pid)):
            return place  # who joins one that has ended is told so
        if why is not None and is_last:
            raise _never_came(given, patience, why)
        time.sleep(min(_LOOK_SECONDS, max(0.0, left)))


class NoCluster(ClusterError):
    """There is no such cluster, or none yet."""


def _never_came(
    given: str | os.PathLike[str], patience: float | None, why: NoCluster
) -> ClusterError:
    file = os.path.abspath(given)  # noqa: PTH100  (as it is named, without following links)
    if not patience or os.fspath(given).startswith(("unix:", "tcp:")) or os.path.lexists(file):
        return why
    return NoCluster(
        f"{file} has not come within {patience:g} s. `spanwise scheduler --scheduler-file {file}` "
        "starts a cluster and writes it, and so does client.write_scheduler_file(path) in the "
        f"program of a running one. {_HOW}"
    )


def copy_cluster_file(address: str, target: str | os.PathLike[str]) -> None:
    """Write a running cluster's file to another place, over what is there.

    Raises
    ------
    ClusterError, OSError
    """
    checked_path(target)
    text = json.dumps(_at_address(address)[1], indent=1)
    place = Path(target)
    # Only this user can read it, and no other writer has its name.
    descriptor, beside = tempfile.mkstemp(prefix=f"{place.name}.", dir=place.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(beside).replace(place)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def folder_of(address: str) -> Path:
    """The private folder of a running cluster, in which its scheduler's log lies.

    Raises
    ------
    ClusterError
    """
    return _at_address(address)[0].parent


def _at_address(address: str) -> tuple[Path, dict[str, Any]]:
    """The file of the cluster whose scheduler listens there, and what was read from it."""
    if not address.startswith("unix:"):
        return _of_port(address)
    path = Path(address.removeprefix("unix:")).parent / FILE_NAME
    with _explained(path, address):
        described = _described(path)
        if described["address"] != address:
            raise ValueError(f"it names the address {described['address']}, not {address}")
    return path, described


def _of_port(address: str) -> tuple[Path, dict[str, Any]]:
    """The same for a port of the loopback interface."""
    dead: tuple[Path, dict[str, Any]] | None = None
    for path in _own_files():
        try:
            described = _described(path)
            if described["address"] != address:
                continue
            if lives(int(described["pid"])):
                return path, described
            dead = path, described  # another may have got its port since
        except (ClusterError, OSError, ValueError, TypeError, KeyError):
            continue  # it is just ending, or somebody else's
    if dead is not None:
        return dead
    raise NoCluster(
        f"No cluster of this user has the address {address}: it has ended, or its program uses "
        f"another folder for temporary files (TMPDIR). {_HOW}"
    )


def _own_files() -> Iterator[Path]:
    """Where schedulers of this user may have written theirs."""
    bases = (tempfile.gettempdir(), "/tmp", os.environ.get("XDG_RUNTIME_DIR", ""))
    for base in dict.fromkeys(filter(None, bases)):
        for folder in Path(base).glob("spanwise-*"):
            try:
                found = folder.lstat()
            except OSError:
                continue  # it is just ending
            if stat.S_ISDIR(found.st_mode) and _only_own(found):
                yield folder / FILE_NAME


def _place(path: Path, given: str, described: dict[str, Any]) -> ClusterPlace:
    with _explained(path, given):
        secret = secret_in(_own_content(Path(described["secretFile"])))
        if len(secret) != SECRET_BYTES:
            raise ValueError("its secret has another length")
        return ClusterPlace(
            str(described["name"]),
            str(described["address"]),
            secret,
            int(described["pid"]),
            _observer(described["observer"]),
        )


@contextmanager
def _explained(path: Path, given: str) -> Iterator[None]:
    """Tell what to do about what cannot be read."""
    try:
        yield
    except FileNotFoundError as error:
        raise NoCluster(
            f"There is no cluster at {given!r}: {error.filename} does not exist. It has ended, or "
            f"never was there. {_HOW}"
        ) from None
    except PermissionError as error:
        raise _another_users(Path(error.filename)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ClusterError(
                f"{error.filename} is a symbolic link, which others could lead elsewhere: give the "
                f"path of the file itself. {_HOW}"
            ) from None
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
        return ObserverAddress(address, secret_in(_own_content(Path(file))), file)
    except FileNotFoundError:
        return None


def _described(path: Path) -> dict[str, Any]:
    found = json.loads(_own_content(path).decode("utf-8"))
    if not isinstance(found, dict):
        raise TypeError("it holds no fields")
    if "secretFile" not in found and str(found.get("type")) == "Scheduler":
        raise ClusterError(
            f"{path} describes a scheduler of distributed: use distributed.Client(scheduler_file=…)"
        )
    return found


def _own_content(path: Path) -> bytes:
    """What a file holds, if nobody else can have written it.

    A client unpickles what its cluster sends, so a file of another user must not choose the
    cluster. The open descriptor is checked, since the path may change; with O_NONBLOCK a pipe in
    the place of the file does not block.

    Raises
    ------
    ClusterError, OSError, ValueError
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not _only_own(found):
            raise _another_users(path)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no file of text")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(_MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > _MOST_BYTES:
        raise ValueError("it is no file of text")
    return content


def _only_own(found: os.stat_result) -> bool:
    """Whether it is this user's, and no other may write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _another_users(path: Path) -> ClusterError:
    return ClusterError(
        f"{path} belongs to another user, or others may change it: a cluster serves only the user "
        "who started it. Client() starts one of your own."
    )
