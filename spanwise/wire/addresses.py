"""Addresses of doors: ``unix:/path/to.sock`` or ``tcp:127.0.0.1:PORT``."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from spanwise.wire.errors import LinkError

#: Bytes of a unix socket's path that Linux takes (sun_path less the ending zero).
UNIX_PATH_BYTES = 107


def default_transport() -> str:
    """``unix`` or ``tcp``: SPANWISE_TRANSPORT, else unix where there is such a thing.

    Raises
    ------
    LinkError
        SPANWISE_TRANSPORT holds another word.
    """
    wanted = os.environ.get("SPANWISE_TRANSPORT")
    if wanted is None:
        return "tcp" if sys.platform == "win32" else "unix"
    if wanted not in ("unix", "tcp"):
        raise LinkError(f'SPANWISE_TRANSPORT is "{wanted}"; it can be "unix" or "tcp".')
    return wanted


def connect(address: str, timeout: float) -> socket.socket:
    """A connected stream socket with this timeout in seconds.

    Raises
    ------
    OSError
        Nobody answers there.
    LinkError
        The address is not understood.
    """
    kind, _, rest = address.partition(":")
    if kind == "unix":
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target: str | tuple[str, int] = rest
    elif kind == "tcp":
        host, _, port = rest.rpartition(":")
        if not host or not (port.isascii() and port.isdigit() and len(port) <= 5):
            raise LinkError(f'"{address[:200]}" is not tcp:HOST:PORT.')
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        target = (host, int(port))
    else:
        raise LinkError(f'"{address[:200]}" is neither unix:PATH nor tcp:HOST:PORT.')
    try:
        sock.settimeout(timeout)
        sock.connect(target)
    except (ValueError, OverflowError, TypeError) as error:
        # A zero byte, a port over 65,535, a host that no name can have.
        sock.close()
        raise LinkError(f'"{address[:200]}" is no address: {error}') from error
    except BaseException:
        sock.close()
        raise
    return sock


def listen(transport: str, folder: str | Path, name: str) -> tuple[socket.socket, str]:
    """A listening socket and its address.

    Parameters
    ----------
    transport : str
        ``unix``: `folder`/`name`.sock; ``tcp``: a free port of the loopback interface.
    folder : path
        Must be the user's alone (0700) already.

    Raises
    ------
    LinkError
        The path is longer than the system takes, or the folder is open to others.
    """
    if transport == "tcp":
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.bind(("127.0.0.1", 0))
            sock.listen(128)
        except BaseException:
            sock.close()
            raise
        return sock, f"tcp:127.0.0.1:{sock.getsockname()[1]}"
    folder = Path(folder)
    mode = folder.stat().st_mode & 0o777
    if mode & 0o077:
        raise LinkError(f"{folder} is open to other users (mode {mode:o}); sockets need 700.")
    path = folder / f"{name}.sock"
    if len(os.fsencode(path)) > UNIX_PATH_BYTES:
        raise LinkError(
            f"{path} is longer than the {UNIX_PATH_BYTES} bytes a socket's path may have; "
            "set TMPDIR to a shorter one, or SPANWISE_TRANSPORT=tcp."
        )
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(path))
        path.chmod(0o600)
        sock.listen(128)
    except BaseException:
        sock.close()
        raise
    return sock, f"unix:{path}"
