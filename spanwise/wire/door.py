"""A door: a listening socket that lets in only callers that hold its secret.

One thread, which never blocks, accepts callers and shakes hands with all of them; a
caller that has proved that it holds the secret gets a thread of its own. So strangers cost
no threads, and a slow one delays no other.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from spanwise.wire import addresses
from spanwise.wire.errors import BrokenFrame, HandshakeRefused, LinkClosed
from spanwise.wire.handshake import CROWD_SENTENCE, MOST_STRANGERS, TIME_LIMIT, Acceptor
from spanwise.wire.link import Link

#: Gets role and intro, returns what to say in ``welcome``; HandshakeRefused turns them away.
Welcome = Callable[[str, dict[str, Any]], Mapping[str, Any]]

#: Pauses before the next try when accepting fails (no descriptors, no memory), or when a
#: thread cannot be started: they double from the first to the longest.
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0
#: How long closing waits for the thread, which ends at once unless it cannot run at all.
_CLOSE_SECONDS = 1.0


class _Pauses:
    """Pauses between tries of something that fails."""

    def __init__(self) -> None:
        self._seconds = 0.0
        #: Not before this moment of the monotonic clock; 0: now.
        self.until = 0.0

    def failed(self) -> None:
        self._seconds = min(max(2 * self._seconds, _FIRST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)
        self.until = time.monotonic() + self._seconds

    def succeeded(self) -> None:
        self._seconds = self.until = 0.0


class _Stranger:
    """A caller within its handshake."""

    __slots__ = ("handshake", "limit", "link", "sock")

    def __init__(self, sock: socket.socket, handshake: Acceptor, seconds: float) -> None:
        self.sock = sock
        # Messages before the role is known are the same on all links.
        self.link = Link(sock, "peer", "down")
        self.handshake = handshake
        #: When its patience ends, in seconds of the monotonic clock.
        self.limit = time.monotonic() + seconds


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
        seconds: float = TIME_LIMIT,
    ) -> None:
        self.address = address
        self._sock = sock
        self._secret = secret
        self._roles = roles
        self._welcome = welcome
        self._on_link = on_link
        self._build = build
        self._seconds = seconds
        self._closed = False
        #: Within their handshake, oldest first.
        self._strangers: dict[socket.socket, _Stranger] = {}
        #: Have proved that they hold the secret, and wait for a thread.
        self._known: list[_Stranger] = []
        self._accepting = _Pauses()
        self._starting = _Pauses()
        sock.setblocking(False)
        # A byte in it wakes the thread.
        self._waker, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._selector.register(sock, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._attend, name="spanwise-door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let no more callers in; open links stay. Twice is safe."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError):  # the thread was awake, and has ended: it closed both ends
            self._waker.send(b"\0")
        kind, _, path = self.address.partition(":")
        if kind == "unix":
            Path(path).unlink(missing_ok=True)
        self._thread.join(_CLOSE_SECONDS)

    # ── the door's thread ─────────────────────────────────────────────────

    def _attend(self) -> None:
        try:
            while not self._closed:
                self._look()
        finally:
            for stranger in [*self._strangers.values(), *self._known]:
                stranger.link.close()
            self._selector.close()
            for each in (self._sock, self._waker, self._woken):
                each.close()

    def _look(self) -> None:
        for key, _ in self._selector.select(self._patience()):
            sock = key.fileobj
            if sock is self._sock:
                self._accept()
            elif sock is self._woken:
                self._woken.recv(1)
            else:
                stranger = self._strangers.get(sock)  # type: ignore[call-overload]
                if stranger is not None:
                    self._listen_to(stranger)
        now = time.monotonic()
        if self._accepting.until and now >= self._accepting.until:
            self._accepting.until = 0.0
            self._selector.register(self._sock, selectors.EVENT_READ)
        for stranger in list(self._strangers.values()):
            if now < stranger.limit:
                break  # they have come in the order of their limits
            self._turn_away(
                stranger, "time", f"The handshake took longer than {self._seconds:g} s."
            )
        if self._known and now >= self._starting.until:
            self._let_in_known(now)

    def _patience(self) -> float | None:
        """How long there is nothing to do unless a caller comes; None: for ever."""
        moments = [stranger.limit for stranger in self._strangers.values()][:1]
        if self._accepting.until:
            moments.append(self._accepting.until)
        if self._known:
            moments.append(self._starting.until)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _accept(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # the caller was gone again
        except (OSError, MemoryError):
            # Descriptors or memory are short. That passes, and callers wait meanwhile.
            # The socket stays readable, so without a pause this thread would spin.
            self._selector.unregister(self._sock)
            self._accepting.failed()
            return
        self._accepting.succeeded()
        try:
            sock.setblocking(False)
            if sock.family != getattr(socket, "AF_UNIX", None):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            handshake = Acceptor(self._secret, self._roles, self._build)
            stranger = _Stranger(sock, handshake, self._seconds)
            self._selector.register(sock, selectors.EVENT_READ)
        except (OSError, MemoryError):
            sock.close()  # it has gone, or there is no room for it
            return
        self._strangers[sock] = stranger
        if len(self._strangers) > MOST_STRANGERS:
            # A caller proves the secret within milliseconds: the oldest is the least likely to.
            self._turn_away(next(iter(self._strangers.values())), "crowd", CROWD_SENTENCE)

    def _listen_to(self, stranger: _Stranger) -> None:
        """Read what a caller says, and answer."""
        link, handshake = stranger.link, stranger.handshake
        try:
            for message in link.receive_ready():
                answer = handshake.receive(message)
                if answer is not None:
                    link.send(*answer)
        except HandshakeRefused as refused:
            self._turn_away(stranger, refused.code, refused.sentence)
        except (LinkClosed, BrokenFrame):
            self._forget(stranger)  # the link has closed itself
        except MemoryError:
            self._turn_away(stranger, "memory", "There is no memory to talk to you.")
        else:
            if handshake.intro is not None:
                self._forget(stranger)
                self._known.append(stranger)
                self._let_in_known(time.monotonic())

    def _let_in_known(self, now: float) -> None:
        """Give a thread to each caller that has proved that it holds the secret."""
        while self._known:
            stranger = self._known[0]
            thread = threading.Thread(
                target=self._let_in, args=(stranger,), name="spanwise-handshake", daemon=True
            )
            try:
                thread.start()
            except (RuntimeError, MemoryError):
                if now < stranger.limit:
                    self._starting.failed()  # others' threads end
                    return
                stranger.link.refuse("threads", "No thread can be started to serve you.")
            else:
                self._starting.succeeded()
            del self._known[0]

    def _forget(self, stranger: _Stranger) -> None:
        self._strangers.pop(stranger.sock, None)
        try:
            self._selector.unregister(stranger.sock)
        except (KeyError, ValueError):
            pass  # it was closed, and the selector has noticed

    def _turn_away(self, stranger: _Stranger, code: str, sentence: str) -> None:
        self._forget(stranger)
        stranger.link.refuse(code, sentence)

    # ── the thread of one that is let in ──────────────────────────────────

    def _let_in(self, stranger: _Stranger) -> None:
        link, handshake = stranger.link, stranger.handshake
        intro = handshake.intro
        assert intro is not None
        try:
            answer = handshake.welcome(self._welcome(handshake.role, intro))
            link.become(handshake.role, intro)
            link.send(*answer)
        except HandshakeRefused as refused:
            link.refuse(refused.code, refused.sentence)
            return
        except LinkClosed:
            return
        except BaseException:
            link.close()
            raise
        self._on_link(link)


def listen(
    folder: str | Path,
    name: str,
    secret: bytes,
    roles: Collection[str],
    on_link: Callable[[Link], None],
    welcome: Welcome | None = None,
    transport: str | None = None,
    build: str | None = None,
    seconds: float = TIME_LIMIT,
) -> Door:
    """Open a door.

    Parameters
    ----------
    folder, name : str
        The socket is `folder`/`name`.sock, in a folder of mode 0700.
    secret : bytes
        32 bytes that callers must hold.
    roles : collection of str
        Roles that are let in.
    on_link : callable
        Gets each open link, in a thread of its own that it may keep as the reader.
    welcome : callable, optional
        Gets role and intro and says what to answer.
    transport : {"unix", "tcp"}, optional
        Default: :func:`spanwise.wire.addresses.default_transport`.
    seconds : float
        What a whole handshake may take.
    """
    sock, address = addresses.listen(transport or addresses.default_transport(), folder, name)
    return Door(
        sock, address, secret, roles, welcome or (lambda _r, _i: {}), on_link, build, seconds
    )
