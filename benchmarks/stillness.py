"""Keeps a system still while another one is measured.

What a system does beside its work (heartbeats, letting go of what it has computed) would count
against whoever is measured next. So each first comes to rest after its turn, and is stopped until
its next one, in which it comes to rest before it gets work::

    ours    ─ work ─ rest ║ ········ stopped ······· ║ rest ─ work ─ rest ║ ····
    peer    ··· stopped ··· ║ rest ─ work ── rest ║ ········ stopped ········

If the benchmark is killed, ``stillness_guard.py`` has what stands still go on, and so end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress

import psutil

from benchmarks import stillness_guard
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
        # (in a session of its own: what ends the benchmark must not end it)
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", stillness_guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )

    def begin(self) -> None:
        """Come to rest, and stand still. If the program has ended it does nothing."""
        self._await_rest(MOST_SECONDS_AFTER)
        # (the program first: it starts no further process then)
        self._stop(self._program)
        for process in self._started():
            self._stop(process)

    def end(self) -> None:
        """Go on, and come to rest again. Without :meth:`begin` it does nothing."""
        if self._stopped:
            self._go_on()
            self._await_rest(MOST_SECONDS_BEFORE)

    def close(self) -> None:
        """Go on, for good."""
        self._go_on()
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()

    def _stop(self, process: psutil.Process) -> None:
        assert self._guard.stdin is not None
        try:
            # Noted first: wherever this is interrupted, it goes on.
            start = stillness_guard.start_of(process.pid)
            self._guard.stdin.write(f"{process.pid} {start}\n".encode())
            self._stopped.append(process)
            process.suspend()
        except (psutil.NoSuchProcess, ProcessLookupError):
            pass

    def _go_on(self) -> None:
        for process in reversed(self._stopped):
            with suppress(psutil.NoSuchProcess):
                process.resume()
        self._stopped = []

    def _await_rest(self, most_seconds: float) -> None:
        start = looked = time.monotonic()
        before = self._cpu_seconds()
        while self._waits and looked - start < most_seconds:
            time.sleep(LOOK_SECONDS)
            now, used = time.monotonic(), self._cpu_seconds()
            # (of the time that has passed: on a busy machine that is more than was slept)
            if used - before < RESTING_SHARE * (now - looked):
                return
            looked, before = now, used

    def _cpu_seconds(self) -> float:
        seconds = 0.0
        for process in [self._program, *self._started()]:
            with suppress(psutil.NoSuchProcess):
                seconds += cpu_of(process)
        return seconds

    def _started(self) -> list[psutil.Process]:
        """What the program has started and still lives."""
        try:
            return self._program.children(recursive=True)
        except psutil.NoSuchProcess:
            return []
