"""A door: a listening socket that lets in only who holds its secret."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from spanwise.wire import addresses
from spanwise.wire.errors import BrokenFrame, HandshakeRefused, LinkClosed
from spanwise.wire.handshake import TIME_LIMIT, Acceptor
from spanwise.wire.link import Link

#: Gets role and intro, returns what to say in ``welcome``; HandshakeRefused turns them away.
Welcome = Callable[[str, dict[str, Any]], Mapping[str, Any]]


class Door:
    """Accepts links; made by :func:`listen`.

    Attributes
    ----------
    address : str
        Where others dial.
    """

    def __init__(
        self,
        sock: socket.socket,
        address: str,
        secret: bytes,
        roles: Collection[str],
        welcome: Welcome,
        on_link: Callable[[Link], None],
        build: str | None,
    ) -> None:
        self.address = address
        self._sock = sock
        self._secret = secret
        self._roles = roles
        self._welcome = welcome
        self._on_link = on_link
        self._build = build
        self._closed = False
        self._thread = threading.Thread(target=self._accept, name="spanwise-door", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._sock.accept()
            except OSError:
                return  # closed
            if self._closed:
                sock.close()
                return
            # A thread each: one that dawdles in its handshake must not keep others waiting.
            threading.Thread(
                target=self._shake_hands, args=(sock,), name="spanwise-handshake", daemon=True
            ).start()

    def _shake_hands(self, sock: socket.socket) -> None:
        link = accept_link(sock, self._secret, self._roles, self._welcome, self._build)
        if link is not None:
            self._on_link(link)

    def close(self) -> None:
        """Let nobody in any more; open links stay. Twice is safe."""
        if self._closed:
            return
        self._closed = True
        try:
            # Wakes accept(), which close() alone does not.
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # not every system lets a listening socket be shut down
        self._sock.close()
        kind, _, path = self.address.partition(":")
        if kind == "unix":
            Path(path).unlink(missing_ok=True)


def accept_link(
    sock: socket.socket,
    secret: bytes,
    roles: Collection[str],
    welcome: Welcome,
    build: str | None = None,
    timeout: float = TIME_LIMIT,
) -> Link | None:
    """The acceptor's side of the handshake on an accepted socket; None when nothing came of it."""
    sock.settimeout(timeout)
    if sock.family != getattr(socket, "AF_UNIX", None):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # What is said before the role is known is the same on all links.
    link = Link(sock, "peer", "down")
    handshake = Acceptor(secret, roles, build)
    try:
        while handshake.intro is None:
            answer = handshake.receive(link.read())
            if answer is not None:
                link.send(*answer)
        answer = handshake.welcome(welcome(handshake.role, handshake.intro))
        link.become(handshake.role, handshake.intro)
        link.send(*answer)
    except HandshakeRefused as refused:
        link.refuse(refused.code, refused.sentence)
        return None
    except TimeoutError:
        link.refuse("time", f"The handshake took longer than {timeout:g} s.")
        return None
    except (LinkClosed, BrokenFrame):
        return None  # the link has closed itself
    except BaseException:
        link.close()
        raise
    return link


def listen(
    folder: str | Path,
    name: str,
    secret: bytes,
    roles: Collection[str],
    on_link: Callable[[Link], None],
    welcome: Welcome | None = None,
    transport: str | None = None,
    build: str | None = None,
) -> Door:
    """Open a door.

    Parameters
    ----------
    folder, name : str
        The socket is `folder`/`name`.sock, in a folder of mode 0700.
    secret : bytes
        32 bytes that callers must hold.
    roles : collection of str
        Who may come in.
    on_link : callable
        Gets each open link, in a thread of its own that it may keep as the reader.
    welcome : callable, optional
        Gets role and intro and says what to answer.
    transport : {"unix", "tcp"}, optional
        Default: :func:`spanwise.wire.addresses.default_transport`.
    """
    sock, address = addresses.listen(transport or addresses.default_transport(), folder, name)
    return Door(sock, address, secret, roles, welcome or (lambda _r, _i: {}), on_link, build)
