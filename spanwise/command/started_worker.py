"""One worker process that ``spanwise worker`` has started: how it begins, ends and is replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spanwise.processes.abandoned import remove_tree
from spanwise.processes.process_state import ended_with

#: Exit codes of the worker program; see `spanwise/worker/__main__.py`.
_EXITS = {
    0: "has closed",
    103: "was refused by the scheduler",
    104: "ended because it used more memory than its limit",
    105: "ended because of an error of its own",
}
#: One that lived longer has not ended in vain; as the scheduler's own workers.
_SHORT_LIFE_SECONDS = 10.0
_SHORT_LIVES_AT_ONCE = 3
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 10.0


@dataclass(frozen=True)
class WorkerSpec:
    """What all workers of one command have in common: fields of the line that each reads first."""

    folder: Path
    launch: dict[str, Any]
    settings: dict[str, Any]


@dataclass
class StartedWorker:
    """A place for a worker, and the process that has it now."""

    #: As its user calls it; empty: by its number.
    name: str
    number: int = -1
    process: subprocess.Popen[bytes] | None = None
    #: It was ended so that another comes at once.
    is_replaced: bool = False
    short_lives: int = 0
    began: float = field(default_factory=time.monotonic)

    def start(self, spec: WorkerSpec, number: int, ended: Callable[[int, int], None]) -> None:
        """Start the process; by the main thread, since it ends with the thread that starts it.

        Parameters
        ----------
        ended
            Called by another thread with the number and the exit code.
        """
        self.number, self.is_replaced, self.began = number, False, time.monotonic()
        # -P: the working directory must not hide modules of the worker program.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "spanwise.worker"],
            stdin=subprocess.PIPE,
            env=_environment(spec.launch["env"]),
            start_new_session=True,  # Ctrl-C in a terminal is for this command
        )
        self.process = process
        line = {
            **spec.settings,
            "worker": number,
            "name": self.name or f"worker-{number}",
            "folder": str(spec.folder),
            "path": spec.launch["path"],
            "cwd": spec.launch["cwd"],
            "modules": spec.launch["modules"],
        }
        assert process.stdin is not None
        try:
            process.stdin.write(f"{json.dumps(line)}\n".encode())
            process.stdin.flush()  # what stays open is its lifeline
        except BrokenPipeError:
            pass  # it has ended already: its exit code says why

        def wait() -> None:
            ended(number, process.wait())

        threading.Thread(target=wait, name="spanwise-worker-end", daemon=True).start()

    def kill(self) -> None:
        """End it at once, stopped or not."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def bury(self, folder: Path) -> None:
        """Remove what a process that has ended left."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
        remove_tree(folder / f"spill-{self.number}")
        (folder / f"worker-{self.number}.sock").unlink(missing_ok=True)

    def pause_seconds(self) -> float:
        """Wait so long before the next: those that end at once are not restarted without pause."""
        lived = time.monotonic() - self.began > _SHORT_LIFE_SECONDS
        self.short_lives = 0 if lived else self.short_lives + 1
        doublings = self.short_lives - _SHORT_LIVES_AT_ONCE - 1
        if doublings < 0:
            return 0.0
        return min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0**doublings)


def exit_sentence(code: int) -> str:
    """How a process ended, as half a sentence."""
    return _EXITS.get(code) or ended_with(code)


def _environment(environment: dict[str, str]) -> dict[str, str]:
    """The environment of a worker; it finds the package where this program does."""
    home = Path(__file__).parent.parent.parent
    if home.name.endswith("-packages"):
        return environment
    others = environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, [str(home), others]))}
