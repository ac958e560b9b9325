"""Tells the log of a Dask cluster how many tasks wait, for what, and what to do about it.

Of what has changed a row is written. What waits for a worker that is not there has a notice after
:data:`NOTICE_SECONDS`, as on a cluster of Spanwise: until then one may be on its way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from spanwise.records.enumerations import (
    LARGEST_U32,
    WAIT_INPUT,
    WAIT_NO_NAMED,
    WAIT_NO_RESOURCE,
    WAIT_NO_WORKER,
    WAIT_PAUSED,
    WAIT_RESOURCE,
    WAIT_THREAD,
    WAIT_UNPLACED,
)

#: As in src/sidecar/scheduler-process/unplaced-tasks.ts.
NOTICE_SECONDS = 3.0
_REASONS = {
    "input": WAIT_INPUT,
    "thread": WAIT_THREAD,
    "resource": WAIT_RESOURCE,
    "paused": WAIT_PAUSED,
    "no-worker": WAIT_NO_WORKER,
    "no-named": WAIT_NO_NAMED,
    "no-resource": WAIT_NO_RESOURCE,
    "unplaced": WAIT_UNPLACED,
}
_KEY_LENGTH = 200
_NEED_LENGTH = 300
_NONE_WAITS = 0, "", "", ""
#: What a shell takes as it is: names come from whoever submits to the cluster, and a command is
#: there to be pasted.
_PLAIN_ADDRESS = re.compile(r"tcp://[\w.:\[\]-]+", re.ASCII)
_PLAIN_NEED = re.compile(r"[\w.-]+=[\w.+-]+(?:, [\w.-]+=[\w.+-]+)*", re.ASCII)


class Wait(NamedTuple):
    """So many tasks wait for one reason.

    Attributes
    ----------
    key, need
        Of one of them, where no worker may run it: its key, and which workers or resources it
        needs; ``None`` and ``""`` where that is not told.
    needs
        What some of them need, of which one's is ``need``.
    """

    reason: str
    tasks: int
    key: str | None
    need: str
    needs: str = ""


class WaitingTasks:
    """What a log says of tasks that wait."""

    def __init__(self) -> None:
        #: By reason, what the log says.
        self._logged: dict[int, tuple[int, str, str, str]] = {}
        self._has_rows = False
        #: By reason, since when some wait.
        self._since: dict[int, float] = {}

    def unseen(self) -> None:
        """Nobody looks. Who comes may have lost what was written before: all is written anew."""
        self._logged.clear()
        self._since.clear()

    def changed(
        self, now: float, waits: Sequence[Wait], address: str
    ) -> list[tuple[int, int, str, str, str]]:
        """Rows of the log without their time: reason, tasks, notice, resources, command.

        Parameters
        ----------
        now
            Seconds of any clock that goes on.
        address
            Where workers find the scheduler.
        """
        rows = []
        said = {wait.reason: wait for wait in waits}
        for word, reason in _REASONS.items():
            wait = said.get(word)
            if wait is None:
                continue
            tasks = min(max(wait.tasks, 0), LARGEST_U32)
            told = need = command = ""
            if tasks == 0:
                self._since.pop(reason, None)
            elif now - self._since.setdefault(reason, now) >= NOTICE_SECONDS:
                told, command = notice(wait, address), remedy(wait, address)
            if tasks and word == "no-resource":
                need = _cut(wait.needs, _NEED_LENGTH)
            # (a log in which nothing has waited has no rows)
            logged = self._logged.get(reason, None if self._has_rows else _NONE_WAITS)
            row = self._logged[reason] = tasks, told, need, command
            if logged != row:
                rows.append((reason, *row))
        self._has_rows = self._has_rows or bool(rows)
        return rows


def notice(wait: Wait, address: str) -> str:
    """What users are told of tasks for which no worker is there; ``""``: nothing is to be done."""
    if wait.reason not in ("no-worker", "no-named", "no-resource"):
        return ""
    key = "" if wait.key is None else _cut(wait.key, _KEY_LENGTH)
    need = _cut(wait.need, _NEED_LENGTH)
    command = remedy(wait, address)
    if wait.tasks == 1:
        who = f"The task {key} waits" if key else "A task waits"
        they = "It runs"
    else:
        among = f", {key} among them," if key else ""
        who = f"{wait.tasks:,} tasks{among} wait"
        they = "They run"
    if wait.reason == "no-worker":
        starts = f" (or, in a terminal, `{command}`)" if command else ""
        return (
            f"{who}, and the cluster has no worker that takes tasks. {they} when one comes: "
            f"cluster.scale(1) of Dask{starts} starts one. Else cancel what waits."
        )
    if wait.reason == "no-resource":
        starts = f" (in a terminal, `{command}` starts one)" if command else ""
        return (
            f"{who} in Dask's state no-worker: no worker has {need}, which resources= asks for. "
            f"{they} when such a worker joins{starts}; otherwise cancel what waits and submit it "
            "again."
        )
    return (
        f"{who} in Dask's state no-worker: of the workers that workers= names ({need}) none is "
        f"there. {they} when one of them joins; otherwise cancel what waits and submit it again, "
        "with allow_other_workers=True if any worker will do."
    )


def remedy(wait: Wait, address: str) -> str:
    """A command of Dask that starts such a worker, for a terminal.

    ``""``: none does, or it would need more than is known here, or quoting.
    """
    if wait.reason not in ("no-worker", "no-resource"):
        return ""
    need = _cut(wait.need, _NEED_LENGTH) if wait.reason == "no-resource" else ""
    if _PLAIN_ADDRESS.fullmatch(address) is None:
        return ""
    if wait.reason == "no-worker":
        return f"dask worker {address}"
    if _PLAIN_NEED.fullmatch(need) is None:
        return ""
    return f'dask worker {address} --resources "{need.replace(",", "")}"'


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
