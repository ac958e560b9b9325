"""The way of a log to the observer: one thread that connects, sends, and connects again.

Blocks are kept in a ring; an observer gets those that it lacks, and the computation never
waits for it. The same protocol as the scheduler's
(``src/link/observer-link.ts``; docs/contracts.md §6).
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from spanwise.notices import tell
from spanwise.observed.observer_address import ObserverAddress
from spanwise.processes.fork_hook import ForkHook
from spanwise.records.log_writer import SealedBlock
from spanwise.source.replay_ring import LogGap, ReplayRing
from spanwise.source.tries import Refusal, Tries
from spanwise.version import read_build
from spanwise.wire.content import broken
from spanwise.wire.errors import BrokenFrame, LinkClosed, LinkError
from spanwise.wire.frame import Message
from spanwise.wire.link import Link, dial

#: Bytes of blocks in one message.
_MESSAGE_BYTES = 4 * 2**20
_DIAL_SECONDS = 10.0
#: An observer that has opened its door says at once what it has.
RESUME_SECONDS = 10.0


class ObserverLink:
    """Sends blocks to an observer, whichever listens at the place.

    Parameters
    ----------
    place
        Where the observer listens; looked up again before each try.
    describe
        Returns the fields of ``open``.
    on_gap
        Gets what left the ring before this observer had it, and writes that into the
        log.
    ring
        What is kept for replay.
    resume_seconds
        How long an observer that has let this source in may take to say what it has.
    """

    def __init__(
        self,
        place: ObserverAddress,
        describe: Callable[[], dict[str, Any]],
        on_gap: Callable[[list[LogGap]], None],
        ring: ReplayRing | None = None,
        resume_seconds: float = RESUME_SECONDS,
    ) -> None:
        self._place = place
        self._resume_seconds = resume_seconds
        #: Used by the thread alone.
        self._tries = Tries()
        self._describe = describe
        self._on_gap = on_gap
        self._ring = ring or ReplayRing()
        #: Around the ring, the numbers and the states below.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._newest = 0
        #: There are blocks of which the thread was told, and for which it has not looked yet.
        self._has_news = False
        self._acknowledged = 0
        self._is_open = False
        self._connecting = True
        self._end: dict[str, Any] | None = None
        self._end_sent = False
        self._has_viewers = True
        self._closing = threading.Event()
        self._link: Link | None = None
        #: A byte in here wakes the thread.
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        _LINKS.add(self)
        self._thread = threading.Thread(target=self._run, name="spanwise-source", daemon=True)
        self._thread.start()

    # -- from the log -----------------------------------------------------

    def push(self, block: SealedBlock, at: float) -> None:
        """Take a block sealed `at` seconds after the log's start; never waits."""
        with self._lock:
            self._newest = block.seq
            self._ring.push(block, at)
            is_told, self._has_news = self._has_news, True
        if not is_told:
            self._wake()

    def end(
        self,
        why: str,
        at: float,
        limit_seconds: float,
        told: str = "",
        unwatched: bool = False,
    ) -> None:
        """Send what is left and why the log ends; wait until the observer has it; close.

        At most `limit_seconds`, and only while an observer is connected. `told`: half a sentence
        that says more than `why`. `unwatched`: the cluster may go on, it is only watched no more.
        """
        limit = monotonic() + limit_seconds
        with self._lock:
            self._end = {"why": why, "at": at, "told": told, "unwatched": unwatched}
        self._wake()
        self._wait(lambda: self._end_sent and self._acknowledged >= self._newest, limit_seconds)
        self.close()
        self._thread.join(max(0.1, limit - monotonic()))

    def wait_for(self, seq: int, limit_seconds: float) -> None:
        """Wait until the observer has the blocks up to `seq`; see :meth:`end` for how long."""
        self._wait(lambda: self._acknowledged >= seq, limit_seconds)

    def _wait(self, is_there: Callable[[], bool], limit_seconds: float) -> None:
        limit = monotonic() + limit_seconds
        with self._changed:
            while not is_there():
                left = limit - monotonic()
                if left <= 0 or not (self._is_open or self._connecting):
                    return
                self._changed.wait(left)

    @property
    def has_viewers(self) -> bool:
        """Whether somebody may look at the log, as far as the observer has told."""
        return self._has_viewers

    def close(self) -> None:
        """Let go at once. Twice is safe."""
        self._closing.set()
        link = self._link
        if link is not None:
            link.close()
        self._wake()

    def forget_in_child(self) -> None:
        """In a fork: close the files, but not the connection, which is the parent's."""
        link = self._link
        if link is not None:
            # Not Link.close(), whose shutdown would reach the parent's connection too.
            link._sock.close()
        self._bell.close()
        self._ringer.close()

    def _wake(self) -> None:
        # A full pipe wakes the thread anyway; the pipe is closed once the link is.
        with suppress(OSError):
            self._ringer.send(b"\0")

    # -- the thread -------------------------------------------------------

    def _run(self) -> None:
        while not self._closing.is_set():
            refusal = self._try()
            if self._closing.is_set():
                break
            if refusal is not None:
                tell(refused_sentence(refusal, self._place.is_own))
            self._closing.wait(self._tries.pause())
        self._bell.close()
        self._ringer.close()

    def _try(self) -> Refusal | None:
        """Serve once; returns the refusal of which to tell the user now.

        No variable keeps the error: its traceback holds the frames, and these this object and
        the place, whose observer would live on until the collector came by.
        """
        try:
            self._serve()
        except (LinkError, OSError) as error:
            # The observer has died, or is not there yet: its successor is looked for.
            return self._tries.ended(error, monotonic())
        finally:
            self._lost()
        return self._tries.ended(None, monotonic())

    def _serve(self) -> None:
        """Connect, and send until the link breaks or is closed.

        Raises
        ------
        LinkError, OSError
        """
        with self._lock:
            self._connecting = True
        place = self._place
        link = dial(
            place.current_address(),
            place.secret,
            "source",
            timeout=_DIAL_SECONDS,
            build=read_build(),
        )
        self._link = link
        if self._closing.is_set():
            link.close()
            return
        link.send("open", self._describe())
        with selectors.DefaultSelector() as selector:
            selector.register(link.fileno(), selectors.EVENT_READ)
            selector.register(self._bell, selectors.EVENT_READ)
            resume_until = monotonic() + self._resume_seconds
            while not self._closing.is_set():
                # The link is open once the observer has said what it has.
                left = None if self._is_open else resume_until - monotonic()
                if left is not None and left <= 0:
                    raise LinkClosed("The observer did not say in time from where to go on.")
                for key, _ in selector.select(left):
                    if key.fileobj is self._bell:
                        with suppress(BlockingIOError):
                            self._bell.recv(4096)
                    else:
                        for message in link.receive_ready():
                            try:
                                self._take(message)
                            except BrokenFrame as error:
                                link.refuse("broken-frame", str(error))
                                raise
                if self._is_open:
                    self._pump(link)

    def _take(self, message: Message) -> None:
        """Raise BrokenFrame if the observer says that it has a block that was never sent.

        It says ``resume`` once, before all else: each makes this side send all blocks again.
        """
        kind, fields = message.type, message.fields
        with self._changed:
            if kind in ("resume", "ack"):
                self._has_viewers = fields.get("hasViewers", True) is True
            if kind == "resume":
                if self._is_open:
                    raise broken(message, "haveSeq", "the observer has already said what it has")
                have = int(fields["haveSeq"])
                _check_seq(message, "haveSeq", have, self._ring.most_sent)
                self._ring.resume(have)
                self._acknowledged = have
                self._is_open = True
                self._tries.opened(monotonic())
                self._connecting = False
                self._end_sent = False
            elif kind == "ack":
                if not self._is_open:
                    raise broken(message, "seq", "the observer has not yet said what it has")
                seq = int(fields["seq"])
                _check_seq(message, "seq", seq, self._ring.sent)
                if seq > self._acknowledged:
                    self._tries.took()
                self._acknowledged = max(self._acknowledged, seq)
                self._ring.acknowledge(self._acknowledged)
            self._changed.notify_all()

    def _pump(self, link: Link) -> None:
        while True:
            with self._lock:
                self._has_news = False
                blocks = self._ring.take(_MESSAGE_BYTES)
                gaps = self._ring.take_gaps()
                end = None if blocks or gaps or self._end_sent else self._end
            if blocks:
                link.send("block", {}, {}, [block.data for block in blocks])
            if gaps:
                # Called without the lock: the log holds its own lock while it pushes
                # blocks.
                self._on_gap(gaps)
            if blocks or gaps:
                continue
            if end is not None:
                link.send("end", end)
                with self._changed:
                    self._end_sent = True
                    self._changed.notify_all()
            return

    def _lost(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()
        with self._changed:
            self._is_open = False
            self._connecting = False
            self._changed.notify_all()


def refused_sentence(refusal: Refusal, is_own: bool) -> str:
    """What the user is told, with what to do."""
    what = "what the observer says is wrong" if refusal.by_us else "the observer turned it away"
    if refusal.code == "protocol":
        advice = ""  # The sentence says already which side is to be upgraded.
    elif is_own:
        advice = " Restart this program."
    else:
        advice = (
            " Restart JupyterLab, then this program, so that both know the same connection file."
        )
    effect = "no panel can show it"
    if refusal.was_good:
        effect = "its panels stand still again and again"
    return f"This program computes, but {effect}: {what}. {refusal.sentence}{advice}"


def _check_seq(message: Message, field: str, seq: int, sent: int) -> None:
    if not 0 <= seq <= sent:
        raise broken(message, field, f"the observer cannot have block {seq} of {sent}.")


#: A child that outlives its parent would hold its connection.
_LINKS: ForkHook[ObserverLink] = ForkHook(ObserverLink.forget_in_child)
