"""One cluster that notebooks share: its scheduler, and the owner's connection to it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from spanwise.errors import ClusterError
from spanwise.processes.node_process import NodeProcess
from spanwise.processes.process_state import started
from spanwise.wire.errors import LinkError
from spanwise.wire.link import Link, dial
from spanwise.wire.schema import PROTOCOL

#: How long a command may wait for the scheduler.
COMMAND_SECONDS = 30.0
#: How long its end may take to come by itself.
_GOODBYE_SECONDS = 10.0
#: What a kernel may say of the cluster that it asks for; the rest is the server's.
_ASKED_FOR = (
    "name",
    "nWorkers",
    "threadsPerWorker",
    "memoryLimit",
    "memory",
    "profile",
    "resources",
    "transferLogLength",
    "launch",
    "recording",
    "workerTtlSeconds",
    "workerSaturation",
    "stallSeconds",
    "allowedFailures",
)


class OthersConnected(Exception):
    """It was not restarted, since it would be others' loss; the text is a sentence for people."""

    def __init__(self, count: int) -> None:
        are = "1 notebook or program is" if count == 1 else f"{count} notebooks or programs are"
        super().__init__(
            f"{are} connected. Their tasks run again, their results are computed again, and data "
            "that they put there by scatter() is lost."
        )
        self.count = count


class Busy(Exception):
    """A command was not begun, since another has not ended; the text is a sentence for people."""


class DefaultCluster:
    """A scheduler that the server started and owns.

    All methods but :meth:`command` block; :class:`DefaultClusters` calls them in threads.

    Parameters
    ----------
    asked
        The settings that the first kernel asked for.
    transport, idle_seconds
        The server's.
    observer
        ``{"address", "secretFile"}``, or None: nothing is recorded.

    Raises
    ------
    NodeNotFound, ClusterError, OSError
        It could not be started.
    """

    def __init__(
        self,
        asked: Mapping[str, Any],
        transport: str,
        idle_seconds: float,
        observer: Mapping[str, str] | None,
        log: logging.Logger | logging.LoggerAdapter[logging.Logger],
    ) -> None:
        self._log = log
        self.id = uuid.uuid4().hex[:16]
        self.name = str(asked.get("name", "default"))
        secret = secrets.token_bytes(32)
        config = {
            **{name: asked[name] for name in _ASKED_FOR if name in asked},
            "protocol": PROTOCOL,
            "clusterId": self.id,
            "secretHex": secret.hex(),
            "transport": transport,
            "observer": observer,
            "client": {"pid": os.getpid(), "started": started(os.getpid())},
            "owner": "server",
            "idleSeconds": idle_seconds,
            "wallEpoch": time.time(),
        }
        self.process = NodeProcess("scheduler", config, secret)
        self._requests = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._workers: list[int] = []
        self._is_busy = False
        try:
            self._link = self._dial(secret, asked)
        except BaseException:
            self.process.kill()
            raise
        self._reader = threading.Thread(
            target=self._read, args=(self._link,), name="spanwise-owner", daemon=True
        )
        self._reader.start()

    def _dial(self, secret: bytes, asked: Mapping[str, Any]) -> Link:
        launch = {name: value for name, value in asked["launch"].items() if name != "env"}
        intro = {"name": "Jupyter server", "launch": launch}
        try:
            return dial(self.process.address, secret, "client", intro)
        except LinkError as error:
            raise ClusterError(f"The cluster did not answer: {error}") from error

    @property
    def file(self) -> Path:
        """What clients join by."""
        return self.process.folder / "cluster.json"

    @property
    def lives(self) -> bool:
        """Whether its scheduler runs."""
        return self.process.process.poll() is None

    def on_end(self, call: Callable[[], None]) -> None:
        """Have `call` called in a thread when it has ended without :meth:`close`."""
        self.process.on_death(call)

    def _read(self, link: Link) -> None:
        self._note_workers(link.welcome["workers"])
        try:
            while True:
                message = link.read()
                if message.type == "cluster":
                    self._note_workers(message.fields["workers"])
                elif message.type == "done":
                    with self._lock:
                        waiting = self._waiting.pop(message.fields["request"], None)
                    if waiting is not None:
                        waiting.set_result(message.fields)
                elif message.type == "problem":
                    self._log.warning("Spanwise: %s: %s", self.name, message.fields["sentence"])
        except LinkError as error:
            self._log.debug("Spanwise: the cluster %s: %s", self.name, error)
        finally:
            link.close()
            with self._lock:
                left, self._waiting = self._waiting, {}
            for each in left.values():
                each.set_exception(ClusterError("The cluster has ended."))

    def _note_workers(self, rows: list[dict[str, Any]]) -> None:
        self._workers = [row["id"] for row in rows if row["state"] != "closing"]

    async def command(self, what: str, **fields: Any) -> str:
        """Change its workers; returns what was not done, as a sentence, or nothing.

        It is called in the server's event loop, one at a time: a scheduler that hangs must not
        take the threads with which it is stopped.

        Raises
        ------
        OthersConnected
            With ``alone=True``: nothing was done.
        Busy, ClusterError, TimeoutError
        """
        if self._is_busy:
            raise Busy(
                f"The cluster {self.name} was given another command, which has not ended: try "
                f"again in {COMMAND_SECONDS:g} s, or stop the cluster."
            )
        self._is_busy = True
        try:
            return await self._command(what, fields)
        finally:
            self._is_busy = False

    async def _command(self, what: str, fields: dict[str, Any]) -> str:
        number = next(self._requests)
        waiting: Future[Any] = Future()
        # From here on it cannot be cancelled: the reader may set it at any time.
        waiting.set_running_or_notify_cancel()
        with self._lock:
            self._waiting[number] = waiting
        if what == "restart":
            fields["workers"] = self._workers
        try:
            request = {"request": number, "what": what, **fields}
            # (it waits while the socket of a scheduler that hangs is full)
            await asyncio.to_thread(self._link.send, "command", request)
            async with asyncio.timeout(COMMAND_SECONDS):
                done = await asyncio.wrap_future(waiting)
        except LinkError as error:
            raise ClusterError(f"The cluster has ended: {error}") from error
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        if done["others"] > 0:
            raise OthersConnected(done["others"])
        return str(done["sentence"])

    def close(self, why: str = "") -> None:
        """End it; `why` is half a sentence for its clients. Twice is safe."""
        if why:
            try:
                self._link.send("close", {"why": why})
                # It ends by itself, and says why; one that is stopped or hangs is ended below,
                # by the end of its lifeline, which says only that the server has gone.
                self.process.kill_if_stopped()
                self._reader.join(_GOODBYE_SECONDS)
            except LinkError as error:
                self._log.debug("Spanwise: the cluster %s: %s", self.name, error)
        self.process.close()
        self._link.close()
