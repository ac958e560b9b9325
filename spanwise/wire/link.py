"""Links of the Python processes: one thread reads at a time, any thread sends.

::

    link = dial(address, secret, "client", intro={...})
    link.welcome                          # what the other side said
    link.send("want", {}, {"ids": [(1,), (2,)]})
    while True:                           # a reader thread
        for message in link.read_batch():
            ...
"""

from __future__ import annotations

import os
import select
import socket
import threading
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, perf_counter
from typing import Any

from spanwise.wire import addresses, direct, segments
from spanwise.wire.clock import ClockOffset
from spanwise.wire.errors import (
    BrokenFrame,
    HandshakeRefused,
    LinkClosed,
    RefusedHere,
    RefusedThere,
)
from spanwise.wire.frame import Blob, Buffer, Message, TableInput, decode, encode
from spanwise.wire.frame_reader import FrameReader
from spanwise.wire.handshake import TIME_LIMIT, Initiator
from spanwise.wire.schema import BODY_LIMIT, MessageType, checked_welcome, link_type

#: Buffers that the system takes in one gathered write.
_IOV_MAX = min(1024, os.sysconf("SC_IOV_MAX")) if hasattr(os, "sysconf") else 16
#: Windows' sockets have no gathered write.
_CAN_GATHER = hasattr(socket.socket, "sendmsg")
#: A sender waits while this many bytes of others stand in the queue before it.
_QUEUE_BYTES = 64 * 1024 * 1024
#: The other side does not read any more.
_THEIR_END = (BrokenPipeError, ConnectionResetError)
#: A peer that takes or gives no byte for so long in the middle of a message is given up,
#: however long the message is. A task that keeps the interpreter lock, which is what holds
#: peers up, rarely does so for a whole minute.
STALL_SECONDS = 60.0
#: A peer that has not begun to answer after this long is given up: it may be pickling.
ANSWER_SECONDS = 300.0
#: So long who refuses waits for a thread that writes what it has said, behind its own.
_LAST_WORDS_SECONDS = 2.0
#: Messages that are never sent once the handshake is over.
_HANDSHAKE = frozenset(("hello", "challenge", "proof", "welcome"))


class Link:
    """One framed, authenticated connection.

    Parameters
    ----------
    sock : socket
        Connected.
    role : str
        The link's role: which messages there are.
    sends : {"up", "down"}
        up: this side dialled.

    Attributes
    ----------
    welcome : dict
        On the dialling side: what the acceptor said about itself.
    intro : dict
        On the accepting side: what the initiator said about itself.
    clock : ClockOffset
        On the dialling side: what to add to perf_counter to get the other side's clock.
    """

    def __init__(self, sock: socket.socket, role: str, sends: str) -> None:
        self.welcome: dict[str, Any] = {}
        self.intro: dict[str, Any] = {}
        self.clock = ClockOffset()
        self._sock = sock
        _LINKS.add(self)
        self._pid = os.getpid()
        self._peer: int | None = None
        self._sends = sends
        self._speak(role)
        self._authenticated = False
        self._check: Callable[[Message], None] | None = None
        #: Seconds without a byte in the middle of a message after which the link is broken.
        self._stall: float | None = None
        self._reader = FrameReader(sock, BODY_LIMIT["unauthenticated"])
        self._arrived: deque[Message] = deque()
        # Taken again within: Python collects objects at any moment, and their `__del__` may send.
        self._lock = threading.RLock()
        self._queue_shrank = threading.Condition(self._lock)
        # Guarded by _lock: frames not yet given to the socket, and whether some thread is at it.
        self._queue: list[Buffer] = []
        #: The thread that is at it, or was.
        self._sender = 0
        self._queued_bytes = 0
        self._sending = False
        self._closed = False
        #: Somebody waits until all is written.
        self._is_ending = False
        #: How many bytes have gone into the socket; written by the thread that sends.
        self.written_bytes = 0
        #: The other side has closed: nothing more can be sent.
        self._has_ended = False
        #: A thread reads until the other side's end. What that said last is then read, also when
        #: something that is sent meanwhile comes too late.
        self.is_read_to_the_end = False
        #: Why this side closed the link, if the reason was what the other side said.
        self._refusal = ""

    def _speak(self, role: str) -> None:
        kinds = link_type(role)
        self.role = role
        self._outgoing = kinds.up if self._sends == "up" else kinds.down
        self._incoming: Mapping[str, MessageType] = kinds.down if self._sends == "up" else kinds.up
        self._limit = BODY_LIMIT["panel" if role == "panel" else "link"]

    def become(self, role: str, intro: Mapping[str, Any]) -> None:
        """On the accepting side, once the caller has proved its role."""
        self._speak(role)
        self.intro = dict(intro)
        self.authenticated()

    def authenticated(self) -> None:
        """The handshake is over: frames may be long and take their time."""
        self._authenticated = True
        self._incoming = {
            name: kind for name, kind in self._incoming.items() if name not in _HANDSHAKE
        }
        self._reader.limit = self._limit
        self._reader.takes_descriptors = self.role == "peer" and self.can_share
        # Owners and their processes see each other's end. A peer may live and yet not
        # answer.
        self._stall = STALL_SECONDS if self.role == "peer" else None
        self._sock.settimeout(self._stall)

    def look_over(self, check: Callable[[Message], None]) -> None:
        """Have each message checked before its reader gets it, those that are here already too.

        `check` raises BrokenFrame, which is told to the other side and ends the link, as if
        the bytes had been no message.

        Raises
        ------
        BrokenFrame
        """
        self._check = check
        try:
            for message in self._arrived:
                check(message)
        except BrokenFrame as error:
            self.refuse("broken-frame", str(error))
            raise

    def fileno(self) -> int:
        """For selectors; read with :meth:`receive_ready`."""
        return self._sock.fileno()

    @property
    def clock_offset(self) -> float:
        """Seconds to add to perf_counter to get the other side's clock, as found first."""
        return self.clock.first

    @property
    def can_share(self) -> bool:
        """Whether descriptors can go over it, both ways, if it is a peer's."""
        return segments.IS_POSSIBLE and self._sock.family == socket.AF_UNIX

    def take_descriptors(self, count: int) -> list[int]:
        """Those that came with the message read last; see :meth:`FrameReader.take_descriptors`."""
        return self._reader.take_descriptors(count)

    @property
    def peer(self) -> int:
        """The process at the other end, whose memory can be read as it has shown; 0: none."""
        if self._peer is None:
            if not self._authenticated:
                return 0  # it may show that yet
            try:
                pid = direct.peer_of(self._sock)
            except OSError:  # another thread closes it
                return 0
            at, proof = self.welcome.get("proofAt", 0), self.welcome.get("proof", "")
            self._peer = pid if pid and direct.shows(pid, at, proof) else 0
        return self._peer

    def takes_more(self) -> bool:
        """Whether some 32 KiB can be sent now without waiting for the other side to read."""
        if not hasattr(select, "poll"):
            return True
        look = select.poll()
        try:
            look.register(self._sock, select.POLLOUT)
            return bool(look.poll(0))
        except (OSError, ValueError):
            return True  # another thread has closed it, as is said to who sends

    def is_there(self) -> bool:
        """Whether the link stands, as far as is known; else it is closed."""
        if self.closed:
            return False
        if not hasattr(select, "POLLRDHUP"):  # not Linux: what is sent next tells
            return True
        look = select.poll()
        try:
            look.register(self._sock, select.POLLRDHUP)
            if not look.poll(0):
                return True
        except (OSError, ValueError):
            pass  # another thread has closed it
        self.close()
        return False

    @property
    def closed(self) -> bool:
        """Whether the link was closed here, or found to be broken."""
        return self._closed or self._has_ended

    def send(
        self,
        kind: str,
        fields: Mapping[str, Any] | None = None,
        tables: Mapping[str, TableInput] | None = None,
        blobs: Sequence[Blob] = (),
        descriptors: Sequence[int] = (),
    ) -> None:
        """Send a message; from any thread.

        Frames of threads that send at the same time are written together by one of them.
        Buffers must not change until the other side has answered in some way. Interrupted
        by Ctrl-C, what is left of the frame goes out with the next message.

        Descriptors go with it (:attr:`can_share`), on links on which one thread sends; they
        stay the caller's.

        Raises
        ------
        FrameTooLong, LinkClosed
        """
        try:
            message_type = self._outgoing[kind]
        except KeyError:
            raise ValueError(f'The {self.role} link does not send "{kind}".') from None
        self._write(encode(message_type, fields, tables, blobs, self._limit), descriptors)

    def _write(self, buffers: list[Buffer], descriptors: Sequence[int] = ()) -> None:
        mine = False
        counts: list[int] = []
        try:
            with self._lock:
                if self.closed:
                    raise self._is_closed("The link is closed.")
                if self._sending:
                    self._queue += buffers
                    self._queued_bytes += sum(map(_nbytes, buffers))
                    while self._queued_bytes > _QUEUE_BYTES and not self.closed:
                        if self._sender == threading.get_ident():
                            break  # (a collected object sends amid a send, which goes on then)
                        self._queue_shrank.wait()
                    return
                if self._queue:
                    # The rest of an interrupted sender's frame goes first. A new list may be the
                    # moment at which Python collects an object, which sends that rest itself.
                    nothing: list[Buffer] = []
                    self._queue += buffers
                    buffers, self._queue = self._queue, nothing
                    self._queued_bytes = 0
                self._sending = mine = True
                self._sender = threading.get_ident()
            while True:
                self._write_all(buffers, counts, descriptors)
                self.written_bytes += sum(counts)
                descriptors = ()
                with self._lock:
                    if not self._queue:
                        self._sending = mine = False
                        if self._is_ending:
                            self._queue_shrank.notify_all()
                        return
                    counts, buffers, self._queue = [], self._queue, []
                    self._queued_bytes = 0
                    self._queue_shrank.notify_all()
        except TimeoutError as error:
            self.close()
            raise self._is_closed("The other side has stopped reading what it is sent.") from error
        except OSError as error:
            if self.is_read_to_the_end and isinstance(error, _THEIR_END):
                self._end_sending()
            else:
                self.close()
            raise self._is_closed(f"The connection broke: {error}") from error
        except BaseException:
            # Ctrl-C: half a frame may be out, and nobody else would ever send again.
            if mine:
                with self._lock:
                    rest = _behind(buffers, sum(counts))
                    self._queue[:0] = rest
                    self._queued_bytes += sum(map(_nbytes, rest))
                    self._sending = False
            raise

    def _end_sending(self) -> None:
        with self._lock:
            self._has_ended = True
            self._sending = False
            self._queue, self._queued_bytes = [], 0
            self._queue_shrank.notify_all()

    def _is_closed(self, why: str) -> LinkClosed:
        return RefusedHere(self._refusal) if self._refusal else LinkClosed(why)

    def _write_all(
        self, buffers: list[Buffer], counts: list[int], descriptors: Sequence[int]
    ) -> None:
        """Write all; the sum of `counts` is at any moment how many bytes have gone.

        Each write is also counted by the same call into C: Ctrl-C cannot come in between.
        """
        left = buffers
        while left:
            if descriptors:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))
                counts.extend(map(self._sock.sendmsg, (left[:_IOV_MAX],), ([rights],)))
                descriptors = ()
            elif len(left) == 1:
                counts.extend(map(self._sock.send, left))
            else:
                write = self._sock.sendmsg if _CAN_GATHER else self._send_joined
                counts.extend(map(write, (left[:_IOV_MAX],)))
            left = _behind(left, counts[-1])

    def _send_joined(self, buffers: Sequence[Buffer]) -> int:
        return self._sock.send(b"".join(buffers))

    def read_batch(
        self, until: float | None = None, answer_seconds: float | None = None
    ) -> list[Message]:
        """Wait until something arrives; all that is complete, in order.

        Parameters
        ----------
        until
            When the caller's patience ends, in seconds of the monotonic clock. The link
            stays open, perhaps with half a message read.
        answer_seconds
            On peer links: the other side is given up when nothing has come for so long.

        Raises
        ------
        LinkClosed, BrokenFrame
            After either the link is closed. Also when a peer stalls.
        TimeoutError
            `until` has passed, or the time limit of a handshake.
        """
        if self._arrived:
            batch = list(self._arrived)
            self._arrived.clear()
            return batch
        begin = monotonic()
        wait = self._stall
        try:
            while True:
                if until is not None:
                    wait = self._shorten(until)
                try:
                    batch = self.receive_ready()
                except TimeoutError:
                    if not self._authenticated:
                        raise
                    if wait == self._stall:
                        self._give_up_if_stalled(begin, answer_seconds)
                else:
                    if batch:
                        return batch
        finally:
            if wait != self._stall:
                self._set_timeout(self._stall)

    def read(self, until: float | None = None, answer_seconds: float | None = None) -> Message:
        """Wait for the next message; see :meth:`read_batch`."""
        if not self._arrived:
            self._arrived.extend(self.read_batch(until, answer_seconds))
        return self._arrived.popleft()

    def _shorten(self, until: float) -> float:
        """Let the next look at the socket end at `until`; return its time limit in seconds."""
        left = until - monotonic()
        if left <= 0:
            raise TimeoutError("Nothing came in time.")
        wait = left if self._stall is None else min(left, self._stall)
        self._set_timeout(wait)
        return wait

    def _set_timeout(self, seconds: float | None) -> None:
        try:
            self._sock.settimeout(seconds)
        except OSError:
            pass  # closed by another thread: the next read reports it

    def _give_up_if_stalled(self, begin: float, answer_seconds: float | None) -> None:
        """Whether `_stall` seconds without a byte are too long."""
        if self._reader.is_amid:
            why = f"{self._stall:g} s in the middle of a message"
        elif answer_seconds is not None and monotonic() - begin >= answer_seconds:
            why = f"{answer_seconds:g} s"
        else:
            return
        self.close()
        raise LinkClosed(f"The other side sent nothing for {why}.")

    def receive_ready(self) -> list[Message]:
        """One ``recv``, for a socket that a selector calls readable; perhaps an empty list."""
        try:
            bodies = self._reader.receive()
            if not bodies:
                return []
            incoming = self._incoming
            messages = [decode(incoming, body) for body in bodies]
            if self._check is not None:
                for message in messages:
                    self._check(message)
        except BrokenFrame as error:
            self.refuse("broken-frame", str(error))
            raise
        except LinkClosed:
            self.close()
            raise
        if self._authenticated and messages[-1].type == "refused":
            self.close()
            fields = messages[-1].fields
            raise RefusedThere(fields["sentence"], fields["code"])
        return messages

    def read_instead(self, take: Callable[[Message], bool]) -> bool:
        """Read what is there in the reader's stead, and have `take` handle it, without waiting.

        `take` returns False for what it leaves to the reader. It may be given a message again, if
        Ctrl-C came before it was known to be handled.

        Returns
        -------
        bool
            False: the reader has to :meth:`go_on`.
        """
        reader = self._reader
        try:
            if not reader.look():
                return False
            while (body := reader.first()) is not None:
                message = decode(self._incoming, body)
                if self._check is not None:
                    self._check(message)
                if not take(message):
                    return False
                reader.drop_first()
        except BrokenFrame:
            return False  # it will say so
        return True

    def go_on(self) -> None:
        """Called by the reader when another thread may have read."""
        self._reader.go_on()

    def refuse(self, code: str, sentence: str) -> None:
        """Say why, and close."""
        # First: the other side may close as soon as it has read this, and who writes then is told.
        self._refusal = sentence
        try:
            self._write(encode(self._outgoing["refused"], {"code": code, "sentence": sentence}))
            self._wait_for_the_writer()
        except LinkClosed:
            return  # nobody is left to be told
        finally:
            self.close()

    def _wait_for_the_writer(self) -> None:
        """Another thread may have been writing: it takes along what was sent meanwhile."""
        with self._lock:
            self._is_ending = True
            self._queue_shrank.wait_for(
                lambda: not self._sending or self.closed, _LAST_WORDS_SECONDS
            )

    def close(self) -> None:
        """Close the connection; wakes a thread that reads or waits to send. Twice is safe."""
        if os.getpid() != self._pid:
            self.abandon()
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue_shrank.notify_all()
        try:
            # Wakes a blocked reader, which close() alone does not.
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side was faster
        self._sock.close()
        self._reader.drop_descriptors()

    def _replace_socket(self, touched: Callable[[], None]) -> None:
        sock: Any = _Gone(touched)
        self._sock.close()
        self._sock = sock
        self._reader.replace(sock)

    def abandon(self) -> None:
        """In a fork: let go of the connection, which remains the parent's.

        Shutting it down would end it for the parent, and a lock that another thread held at
        the moment of the fork is held for ever.
        """
        self._closed = True
        self._sock.close()
        self._reader.drop_descriptors()


#: Those that live.
_LINKS: weakref.WeakSet[Link] = weakref.WeakSet()


class _Gone:
    """In a fork: stands where a socket was."""

    def __init__(self, touched: Callable[[], None]) -> None:
        self._touched = touched

    def close(self) -> None:
        """There is nothing to close."""

    def fileno(self) -> int:
        return -1

    def __getattr__(self, name: str) -> Any:
        self._touched()
        raise LinkClosed("This process is a fork: the connection is its parent's.")


def replace_sockets(touched: Callable[[], None]) -> None:
    """In a fork: drop all connections; using one afterwards calls `touched`."""
    for link in list(_LINKS):
        link._replace_socket(touched)


def _nbytes(buffer: Buffer) -> int:
    return buffer.nbytes if isinstance(buffer, memoryview) else len(buffer)


def _behind(buffers: list[Buffer], sent: int) -> list[Buffer]:
    """The rest of some buffers after the system has taken so many bytes of them."""
    for at, buffer in enumerate(buffers):
        length = _nbytes(buffer)
        if sent < length:
            return [memoryview(buffer)[sent:], *buffers[at + 1 :]] if sent else buffers[at:]
        sent -= length
    return []


def dial(
    address: str,
    secret: bytes,
    role: str,
    intro: Mapping[str, Any] | None = None,
    timeout: float = TIME_LIMIT,
    build: str | None = None,
    opening: Callable[[Link], None] | None = None,
) -> Link:
    """An open link to a door.

    Parameters
    ----------
    address : str
        ``unix:/path`` or ``tcp:127.0.0.1:port``.
    secret : bytes
        The door's, 32 bytes.
    role : str
        client, worker, peer, source, panel or doorbell.
    intro : mapping
        What to say about oneself once the other side has proved who it is.
    timeout : float
        Seconds for connecting and the whole handshake.
    opening : callable, optional
        Gets the link before the handshake: closing it ends the wait.

    Raises
    ------
    HandshakeRefused
        With a sentence for the user.
    LinkClosed
        Nobody answers, not in time, or the connection broke.
    """
    until = monotonic() + timeout
    try:
        sock = addresses.connect(address, timeout)
    except OSError as error:
        raise LinkClosed(f"Nobody answers at {address}: {error}") from error
    link = Link(sock, role, "up")
    handshake = Initiator(secret, role, build, intro)
    if opening is not None:
        opening(link)
    sent = received = 0.0
    try:
        link.send(*handshake.hello())
        while handshake.welcome is None:
            message = link.read(until)
            received = perf_counter()
            answer = handshake.receive(message)
            if answer is not None:
                link._shorten(until)
                sent = perf_counter()
                link.send(*answer)
        link.welcome = checked_welcome(role, handshake.welcome)
    except TimeoutError as error:
        link.close()
        raise LinkClosed(f"{address} did not answer within {timeout:g} s.") from error
    except HandshakeRefused as refused:
        link.refuse(refused.code, refused.sentence)
        raise
    except BrokenFrame as error:
        link.refuse("broken-frame", str(error))
        raise
    except BaseException:
        link.close()
        raise
    link.clock = ClockOffset(link.welcome.get("clock"), sent, received)
    link.authenticated()
    return link
