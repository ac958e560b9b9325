"""Sets plugins up and tears them down, one after another, in a thread of their own."""

from __future__ import annotations

import inspect
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from spanwise.processes import forks
from spanwise.wire import payload
from spanwise.worker.awaiting import awaited
from spanwise.worker.errors import Described, describe

if TYPE_CHECKING:
    from spanwise.worker.library import Library
    from spanwise.worker.needs import Telling
    from spanwise.worker.worker_object import WorkerObject

    class Preparing(Telling, Protocol):
        """A worker whose plugins are set up."""

        library: Library
        object: WorkerObject


class _Order(NamedTuple):
    request: int
    name: str
    #: The plugin's payload; None: tear it down.
    blob: Any


class Plugins:
    """The plugins of a worker.

    Parameters
    ----------
    worker
        Opens their pickles and sends the answers.
    """

    def __init__(self, worker: Preparing) -> None:
        self._worker = worker
        self._orders: SimpleQueue[_Order] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def order(self, request: int, name: str, blob: Any) -> None:
        """Set up a plugin, or tear one down, and answer the request; called by one thread."""
        self._orders.put(_Order(request, name, blob))
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._serve, name="spanwise-plugins", daemon=True
            )
            self._thread.start()

    def _serve(self) -> None:
        # For get_worker().
        threading.current_thread().worker = self._worker  # type: ignore[attr-defined]
        while True:
            order = self._orders.get()
            fields: dict[str, Any] = {"request": order.request, "ok": True}
            try:
                fields["why"] = self._follow(order)
                if forks.is_child:
                    forks.leave(None)
                answer: Any = payload.dumps(None)
            except BaseException as error:  # noqa: BLE001 (told to the client)
                if forks.is_child:
                    forks.leave(error)
                described = describe(error)
                fields |= {"ok": False, "why": _said(described)}
                answer = described.blob
            self._worker.send("runResult", fields, None, [answer])

    def _follow(self, order: _Order) -> str:
        """Do as ordered; returns what the teardown of a replaced plugin raised, if anything."""
        seen = self._worker.object
        why = ""
        old = seen.plugins.pop(order.name, None)
        if old is not None:
            try:
                _call(getattr(old, "teardown", None), seen)
            except BaseException as error:  # the new one is set up all the same
                if order.blob is None or forks.is_child:
                    raise
                why = _said(describe(error))
        if order.blob is None:
            return ""
        plugin = self._worker.library.loads(order.blob)
        _call(getattr(plugin, "setup", None), seen)
        seen.plugins[order.name] = plugin
        return why


def _said(described: Described) -> str:
    return f"{described.type}: {described.message}"[:2_000]


def _call(method: Any, worker: Any) -> None:
    if method is not None:
        answer = method(worker)
        if inspect.isawaitable(answer):
            awaited(answer)
