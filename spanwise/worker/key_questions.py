"""Asks the scheduler what tasks are called: workers are not told the keys."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.wire.frame import Message
    from spanwise.worker.needs import Telling

#: The scheduler answers within this, or is stopped.
ANSWER_SECONDS = 60.0


class KeyQuestions:
    """Asks the scheduler for keys.

    Parameters
    ----------
    worker
        Sends the questions.
    """

    def __init__(self, worker: Telling) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        # Guarded by _lock.
        self._last = 0
        self._waiting: dict[int, SimpleQueue[tuple[float, list[str]]]] = {}

    def ask(self, task_ids: list[int]) -> tuple[float, list[str]]:
        """Return the wall clock at the zero of the scheduler's, and the texts of the keys.

        Raises
        ------
        TimeoutError
        """
        answers: SimpleQueue[tuple[float, list[str]]] = SimpleQueue()
        with self._lock:
            self._last = request = (self._last + 1) % 2**32
            self._waiting[request] = answers
        try:
            ids = {"ids": [(task_id,) for task_id in task_ids]}
            self._worker.send("askKeys", {"request": request}, ids)
            return answers.get(timeout=ANSWER_SECONDS)
        except Empty:
            raise TimeoutError(
                f"The scheduler did not say within {ANSWER_SECONDS:g} s what the tasks of a "
                "transfer log are called: it is stopped, or very busy"
            ) from None
        finally:
            with self._lock:
                self._waiting.pop(request, None)

    def came(self, message: Message) -> None:
        """Take an answer; called by the thread that reads the link."""
        fields = message.fields
        with self._lock:
            answers = self._waiting.pop(fields["request"], None)
        if answers is not None:
            answers.put((fields["wallZero"], fields["keys"]))
