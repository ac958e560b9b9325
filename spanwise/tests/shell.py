"""Commands as a shell starts them, for tests: processes that say something and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from spanwise.tests.processes import LIMIT_SECONDS


class Command:
    """``python -m spanwise …``, whose lines are read as they come."""

    def __init__(self, *arguments: Any, folder: Path | None = None, program: str = "") -> None:
        start = ["-c", program] if program else ["-m", "spanwise"]
        self.process = subprocess.Popen(
            [sys.executable, *start, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            # As in any shell; a run of tests may have set it.
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.said: list[str] = []
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def line(self, holding: str = "") -> str:
        """The next line with this in it."""
        while True:
            try:
                line = self._lines.get(timeout=LIMIT_SECONDS)
            except Empty:
                raise AssertionError(f"no {holding!r} in {self.said}") from None
            assert line is not None, f"it ended without {holding!r}: {self.said}"
            self.said.append(line)
            if holding in line:
                return line

    def end(self, sent: signal.Signals | None = None) -> tuple[int, str]:
        """The exit code and all that it said; sends a signal first if there is one."""
        if sent is not None:
            self.process.send_signal(sent)
        code = self.process.wait(LIMIT_SECONDS)
        while (line := self._lines.get(timeout=LIMIT_SECONDS)) is not None:
            self.said.append(line)
        self._lines.put(None)
        return code, "\n".join(self.said)

    def close(self) -> None:
        """End it at once if it runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        # (what it left running may hold the other end for a while)
        self._reader.join(LIMIT_SECONDS)
        assert self.process.stdout is not None
        if not self._reader.is_alive():
            self.process.stdout.close()
