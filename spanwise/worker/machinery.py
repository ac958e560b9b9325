"""Where a worker's own threads spend their time: those that move data, read messages, serve peers.

Their time is that of their CPU clocks, so a thread that waits has no samples. A look that finds
that a thread has computed owes it a sample for each interval. Threads work in bursts shorter than
the time between looks and are mostly seen waiting again; so places at which a thread was found to
have done nothing are remembered, and what is owed waits for a look that sees it elsewhere::

    look                ┴         ┴          ┴          ┴
    thread       recv ──────▓▓▓▓─────▓▓▓──────▓▓▓▓▓▓▓▓▓▓▓▓▓──
    owed                0         0.4        0.7       1.7 → 1 to what it does here

Samples stay in the worker, by the second, until a client asks; those of tasks are kept apart.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, deque
from types import FrameType

from spanwise.current_frames import current_frames

#: Seconds of which samples are kept, as `distributed` keeps a thousand cycles.
KEPT_SECONDS = 1000
#: Frames kept of a stack, counted from the innermost.
DEPTH = 100
#: Threads come and go: they are listed this often.
_LISTED_SECONDS = 0.25
#: A look takes a microsecond for each thread: looks are so rare that this is no matter.
_SECONDS_PER_THREAD = 0.002
#: A thread that computed for this share of the time works.
_AT_WORK = 0.2
#: Looks are so far apart while none does: their clocks keep what they did between two.
_RESTING_SECONDS = 0.1
#: Samples that are given to where a thread is found, also if it rests there.
_MOST_OWED = 50.0
#: Resting places of a thread that are remembered; beyond them all are forgotten.
_MOST_PLACES = 64
#: Stacks of which one copy serves all seconds; beyond them all are forgotten.
_MOST_STACKS = 10_000

#: Name, file and first line.
Frame = tuple[str, str, int]
#: The outermost first.
Stack = tuple[Frame, ...]


class _Thread:
    """What is remembered of a thread."""

    def __init__(self, thread: threading.Thread) -> None:
        assert thread.ident is not None and thread.native_id is not None
        self.ident = thread.ident
        # As the kernel numbers the clocks of threads. (`pthread_getcpuclockid` must not be asked
        # for a thread that ends meanwhile.)
        self._clock = (~thread.native_id << 3) | 6
        self.cpu = self.read()
        self.owed = 0.0
        #: At the look before, it had computed since the one before that.
        self.worked = True
        #: Code and line at which it was found to have done nothing.
        self.rests: set[tuple[object, int | None]] = set()

    def read(self) -> float:
        """CPU seconds.

        Raises
        ------
        OSError
            It has ended.
        """
        return time.clock_gettime(self._clock)


class Machinery:
    """Samples of the own threads of this process, but for the one that looks.

    Parameters
    ----------
    epoch
        perf_counter value at which second 0 began.
    interval
        Seconds that one sample stands for; 0: none are taken.
    """

    def __init__(self, epoch: float, interval: float) -> None:
        self.epoch = epoch
        # Elsewhere clocks have other numbers.
        self.interval = interval if sys.platform == "linux" else 0.0
        self._threads: dict[int, _Thread] = {}
        self._next_listing = self._next_look = self._looked = 0.0
        self._works = False
        #: Around the buckets.
        self._lock = threading.Lock()
        self._buckets: deque[tuple[int, Counter[Stack]]] = deque(maxlen=KEPT_SECONDS)
        self._stacks: dict[Stack, Stack] = {}

    def look(self, now: float) -> bool:
        """Look at all threads, unless that was done just now; return whether one works.

        It works if it has computed for a good part of the time since the last look.
        """
        if not self.interval or now < self._next_look:
            return self._works
        enough = _AT_WORK * (now - self._looked)
        self._looked, self._works = now, False
        if now >= self._next_listing:
            self._next_listing = now + _LISTED_SECONDS
            self._list()
        owed = []
        for ident, thread in list(self._threads.items()):
            try:
                cpu = thread.read()
            except OSError:
                del self._threads[ident]
                continue
            spent, thread.cpu = cpu - thread.cpu, cpu
            thread.owed += max(0.0, spent) / self.interval
            # (where it rests is of interest when it has just come to rest)
            if thread.owed >= 1 or (spent == 0 and thread.worked):
                owed.append((thread, spent))
            thread.worked = spent > 0
            self._works |= spent > enough
        pause = max(0.9 * self.interval, _SECONDS_PER_THREAD * len(self._threads))
        self._next_look = now + (pause if self._works else max(pause, _RESTING_SECONDS))
        if owed:
            self._see(now, owed)
        return self._works

    def _see(self, now: float, owed: list[tuple[_Thread, float]]) -> None:
        """Note where threads rest, and give those that work what they are owed."""
        frames = current_frames()
        try:
            for thread, spent in owed:
                frame = frames.get(thread.ident)
                if frame is None:
                    continue
                place = (frame.f_code, frame.f_lineno)
                if spent == 0:
                    if len(thread.rests) >= _MOST_PLACES:
                        thread.rests.clear()
                    thread.rests.add(place)
                elif place not in thread.rests or thread.owed > _MOST_OWED:
                    count = int(thread.owed)
                    thread.owed -= count
                    self._add(int(now - self.epoch), _stack_of(frame), count)
        finally:
            # The dict holds this very frame, which holds the dict.
            frames.clear()

    def _add(self, second: int, stack: Stack, count: int) -> None:
        if len(self._stacks) >= _MOST_STACKS:
            self._stacks.clear()
        stack = self._stacks.setdefault(stack, stack)
        with self._lock:
            if not self._buckets or self._buckets[-1][0] != second:
                self._buckets.append((second, Counter()))
            self._buckets[-1][1][stack] += count

    def _list(self) -> None:
        me = threading.current_thread()
        living = {
            thread.ident: thread
            for thread in threading.enumerate()
            if thread.ident is not None
            and thread.native_id is not None
            and thread is not me
            and (thread is threading.main_thread() or thread.name.startswith("spanwise-"))
            # Those that run tasks have a row, and are sampled elsewhere.
            and not hasattr(thread, "row")
        }
        for ident in self._threads.keys() - living.keys():
            del self._threads[ident]
        for ident in living.keys() - self._threads.keys():
            try:
                self._threads[ident] = _Thread(living[ident])
            except OSError:  # it has just ended
                continue

    def samples(self, start: float, stop: float) -> list[tuple[Stack, int]]:
        """Samples of all seconds that the range touches, in the order of their appearance.

        Parameters
        ----------
        start, stop
            Seconds since second 0.
        """
        total: Counter[Stack] = Counter()
        with self._lock:
            for second, bucket in self._buckets:
                if start < second + 1 and second < stop:
                    total.update(bucket)
        return list(total.items())


def _stack_of(frame: FrameType | None) -> Stack:
    frames: list[Frame] = []
    while frame is not None and len(frames) < DEPTH:
        code = frame.f_code
        frames.append((code.co_qualname, code.co_filename, code.co_firstlineno))
        frame = frame.f_back
    return tuple(reversed(frames))
