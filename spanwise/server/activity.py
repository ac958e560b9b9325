"""Keeps Jupyter's culler away while tasks run, and never because a panel is open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any

from spanwise.processes.node_process import NodeProcess
from spanwise.server.observer_stream import open_stream
from spanwise.wire.errors import LinkError
from spanwise.wire.frame import decode
from spanwise.wire.schema import link_type

#: Jupyter takes the latest of all settings whose name ends so.
SETTING = "spanwise_last_activity"
#: While the same tasks go on, the observer sends nothing new, so activity is noted by
#: this timer.
_TICK_SECONDS = 30.0


class ActivityWatch:
    """Listens to the observer's list of clusters."""

    def __init__(
        self,
        settings: MutableMapping[str, Any],
        log: logging.Logger | logging.LoggerAdapter[logging.Logger],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings
        self._log = log
        self._now = now
        self._tasks_running = False
        self._task: asyncio.Task[None] | None = None

    def follow(self, observer: NodeProcess) -> None:
        """Listen to this observer from now on."""
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._listen(observer))

    async def _listen(self, observer: NodeProcess) -> None:
        ticking = asyncio.create_task(self._tick())
        try:
            stream = await open_stream(observer.address, observer.secret, {"name": "activity"})
            try:
                incoming = link_type("panel").down
                while True:
                    message = decode(incoming, await stream.read_body())
                    if message.type == "clusters":
                        self.clusters(message.fields["clusters"])
            finally:
                stream.close()
        except LinkError as error:
            # The supervisor starts another observer, which is then followed.
            self._log.debug("Spanwise: the observer's clusters are not heard: %s", error)
        finally:
            self._tasks_running = False
            ticking.cancel()

    def clusters(self, clusters: list[dict[str, Any]]) -> None:
        """Take the observer's list of clusters."""
        self._tasks_running = any(
            cluster.get("state") == "running" and (cluster.get("running") or 0) > 0
            for cluster in clusters
        )
        self._mark()

    def _mark(self) -> None:
        if self._tasks_running:
            self._settings[SETTING] = self._now()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            self._mark()

    async def stop(self) -> None:
        """Stop listening. Twice is safe."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
