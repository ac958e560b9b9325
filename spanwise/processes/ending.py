"""The end of a child process: its lifeline is dropped, its folder removed."""

from __future__ import annotations

import _thread
import atexit
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

from spanwise.processes.process_state import is_stopped

#: How long a child may take to drain and exit before it is killed.
EXIT_SECONDS = 15.0
#: Time between two looks whether the child was stopped and so cannot drain.
_LOOK_SECONDS = 0.25


class Ending:
    """Ends a child once, at the first request: its owner's, garbage collection's or the exit's.

    Parameters
    ----------
    process
        Its stdin is its lifeline, its stdout is read by nobody any more.
    folder
        Removed when the child has ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._owner = os.getpid()
        self._turn = threading.Lock()
        self._ended = False
        #: Somebody asked for it: it has not died by itself.
        self.is_wanted = False
        atexit.register(self.wait)

    def wait(self) -> None:
        """Drop the lifeline, wait until the child has ended; kill it if it does not."""
        if os.getpid() != self._owner:
            return  # a fork of the owner ends; the child lives on
        self.is_wanted = True
        with self._turn:
            if self._ended:
                return
            self._drop_lifeline()
            if not self._drains():
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._ended = True
        atexit.unregister(self.wait)

    def _drains(self) -> bool:
        """Whether it ends by itself in time."""
        limit = time.monotonic() + EXIT_SECONDS
        while not is_stopped(self._process.pid) and time.monotonic() < limit:
            try:
                self._process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            return True
        return False

    def kill(self) -> None:
        """End it at once, without letting it drain."""
        self.is_wanted = True
        self._process.kill()
        self.wait()

    def begin(self) -> None:
        """The same without waiting: for garbage collection, which may run anywhere.

        No lock is taken here, nor by starting a low-level thread: the interrupted thread
        may hold any lock.
        """
        if self._ended or os.getpid() != self._owner:
            return
        self.is_wanted = True
        self._drop_lifeline()
        try:
            _thread.start_new_thread(self.wait, ())
        except RuntimeError:
            return  # the interpreter ends, and will wait itself

    def _drop_lifeline(self) -> None:
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except OSError:
                pass  # it was dead already
