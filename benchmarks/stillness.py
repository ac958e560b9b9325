"""Keeps a system still while another one is measured.

What a system does beside its work (heartbeats, letting go of what it has computed) would count
against whoever is measured next. So each first comes to rest after its turn, and is stopped until
its next one, in which it comes to rest before it gets work::

    ours    ─ work ─ rest ║ ········ stopped ······· ║ rest ─ work ─ rest ║ ····
    peer    ··· stopped ··· ║ rest ─ work ── rest ║ ········ stopped ········
"""

from __future__ import annotations

import time

import psutil

from benchmarks.driver import cpu_of

#: A system that uses less than this share of a core for so long rests: an idle scheduler of
#: distributed with two workers uses a tenth.
RESTING_SHARE = 0.25
LOOK_SECONDS = 0.25
#: It is not waited for any longer: a system that never rests has what it does beside its work.
MOST_SECONDS_AFTER, MOST_SECONDS_BEFORE = 20.0, 5.0


class Stillness:
    """The processes of a system: a program and all that it has started.

    Parameters
    ----------
    pid
        The program.
    waits
        False: nothing is waited for, since it is only to be shown that it runs.
    """

    def __init__(self, pid: int, waits: bool) -> None:
        self._program = psutil.Process(pid)
        self._waits = waits
        self._stopped: list[psutil.Process] = []

    def begin(self) -> None:
        """Come to rest, and stand still."""
        self._await_rest(MOST_SECONDS_AFTER)
        # (the program first: it starts no further process then)
        self._program.suspend()
        self._stopped = [self._program]
        for process in self._program.children(recursive=True):
            try:
                process.suspend()
            except psutil.NoSuchProcess:
                continue
            self._stopped.append(process)

    def end(self) -> None:
        """Go on, and come to rest again. Without :meth:`begin` it does nothing."""
        if not self._stopped:
            return
        for process in reversed(self._stopped):
            try:
                process.resume()
            except psutil.NoSuchProcess:
                continue
        self._stopped = []
        self._await_rest(MOST_SECONDS_BEFORE)

    def _await_rest(self, most_seconds: float) -> None:
        end = time.monotonic() + most_seconds
        before = self._cpu_seconds()
        while self._waits and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
            now = self._cpu_seconds()
            if now - before < RESTING_SHARE * LOOK_SECONDS:
                return
            before = now

    def _cpu_seconds(self) -> float:
        seconds = 0.0
        for process in [self._program, *self._program.children(recursive=True)]:
            try:
                seconds += cpu_of(process)
            except psutil.NoSuchProcess:
                continue
        return seconds
