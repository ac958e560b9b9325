"""The clusters that this server's notebooks share: one for each environment.

::

    none ──join()──▶ starting ──ready──▶ running ──idle, stopped, died──▶ none
                        │ failed
                        └──▶ none (each who waited is told why)
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spanwise.errors import ClusterError
from spanwise.processes.node import NodeNotFound
from spanwise.processes.start_observer import where_it_listens
from spanwise.server.default_cluster import DefaultCluster
from spanwise.server.supervisor import ObserverUnavailable, Supervisor

#: Each is a scheduler and workers; a server with more environments in use is a mistake in a loop.
MOST_CLUSTERS = 32
#: Clients and workers open each other's pickles: these versions must be the same.
_SHARED_PACKAGES = ("python", "dask", "cloudpickle", "numpy", "pandas")


class NoCluster(Exception):
    """There is none to join; the text is a sentence for people."""

    def __init__(self, sentence: str, code: str = "no-cluster") -> None:
        super().__init__(sentence)
        self.code = code


class DefaultClusters:
    """Owns the default clusters; lives in the server's event loop.

    Parameters
    ----------
    supervisor
        Knows the observer.
    transport, idle_seconds
        As of :class:`DefaultCluster`.
    are_on
        False: none is started.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        transport: str,
        idle_seconds: float,
        are_on: bool,
        log: logging.Logger | logging.LoggerAdapter[logging.Logger],
    ) -> None:
        self._supervisor = supervisor
        self._transport = transport
        self._idle_seconds = idle_seconds
        self._are_on = are_on
        self._log = log
        self._clusters: dict[str, DefaultCluster] = {}
        self._starts: dict[str, asyncio.Task[DefaultCluster]] = {}
        self._endings: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def join(self, settings: Mapping[str, Any]) -> Path:
        """Return the file of the cluster of an environment, as :meth:`find`."""
        cluster, _ = await self.find(settings)
        return cluster.file

    async def find(self, settings: Mapping[str, Any]) -> tuple[DefaultCluster, bool]:
        """Return the cluster of an environment, and whether it had to be started.

        Parameters
        ----------
        settings
            Of a scheduler, as a kernel would start it for itself.

        Raises
        ------
        NoCluster
        """
        if self._stopped:
            raise NoCluster("The Jupyter server is shutting down.")
        if not self._are_on:
            raise NoCluster(
                "This Jupyter server starts none: its setting SpanwiseExtension.default_cluster is "
                "False.",
                "off",
            )
        environment = environment_id(settings)
        cluster = self._clusters.get(environment)
        if cluster is not None and cluster.lives:
            return cluster, False
        start = self._starts.get(environment)
        if start is None:
            if len(self._clusters) + len(self._starts) >= MOST_CLUSTERS:
                raise NoCluster(
                    f"This Jupyter server has {MOST_CLUSTERS} default clusters already: stop some "
                    "from the sidebar."
                )
            start = asyncio.create_task(self._start(environment, settings))
            self._starts[environment] = start
        # Shielded: one kernel that leaves must not take the start away from the others.
        return await asyncio.shield(start), True

    async def _start(self, environment: str, settings: Mapping[str, Any]) -> DefaultCluster:
        try:
            place = await self._observer() if settings.get("recording", True) else None
            cluster = await asyncio.to_thread(
                DefaultCluster, settings, self._transport, self._idle_seconds, place, self._log
            )
        except (NodeNotFound, ClusterError, OSError) as error:
            self._log.warning("Spanwise: a default cluster could not be started: %s", error)
            raise NoCluster(f"It could not be started: {error}") from error
        finally:
            del self._starts[environment]
        if self._stopped:
            await asyncio.to_thread(cluster.close)
            raise NoCluster("The Jupyter server is shutting down.")
        before = self._clusters.get(environment)
        self._clusters[environment] = cluster
        if before is not None:
            self._end(before)
        loop = asyncio.get_running_loop()

        def tell() -> None:
            # The loop may be closed: then nobody is left to be told.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._died, environment, cluster)

        cluster.on_end(tell)
        self._log.info(
            "Spanwise: the cluster %s runs as %d", cluster.name, cluster.process.process.pid
        )
        return cluster

    async def _observer(self) -> dict[str, str] | None:
        try:
            observer = await self._supervisor.ensure()
        except ObserverUnavailable as unavailable:
            self._log.warning("Spanwise: nothing will be recorded: %s", unavailable.sentence)
            return None
        return where_it_listens(observer)

    def _died(self, environment: str, cluster: DefaultCluster) -> None:
        if self._clusters.get(environment) is cluster:
            del self._clusters[environment]
            self._log.info("Spanwise: the cluster %s has ended", cluster.name)
            self._end(cluster)

    def _end(self, cluster: DefaultCluster) -> None:
        """Remove what it has left, in a thread."""
        ending = asyncio.create_task(asyncio.to_thread(cluster.close))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    def get(self, cluster_id: str) -> DefaultCluster | None:
        """The cluster of this id, if it is one of this server's."""
        for cluster in self._clusters.values():
            if cluster.id == cluster_id:
                return cluster
        return None

    async def stop_one(self, cluster: DefaultCluster, why: str) -> None:
        """End a cluster; the next kernel that asks gets another."""
        for environment, each in list(self._clusters.items()):
            if each is cluster:
                del self._clusters[environment]
        await asyncio.to_thread(cluster.close, why)

    async def stop(self) -> None:
        """End all and start no more. Twice is safe."""
        self._stopped = True
        clusters = [*self._clusters.values()]
        self._clusters = {}
        starts = [*self._starts.values()]
        await asyncio.gather(
            *(asyncio.to_thread(each.close) for each in clusters),
            *self._endings,
            *starts,
            return_exceptions=True,
        )


def environment_id(settings: Mapping[str, Any]) -> str:
    """A hash of the interpreter, the place of its packages, and the versions that must agree.

    Virtual environments of one Python have the same interpreter; the folder tells them apart.

    Raises
    ------
    NoCluster
        The settings describe none.
    """
    try:
        launch = settings["launch"]
        versions = launch["versions"]
        facts = [
            os.path.realpath(launch["executable"]),
            os.path.realpath(launch["prefix"]),
            *(str(versions.get(name)) for name in _SHARED_PACKAGES),
        ]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NoCluster(
            f"What the kernel said of its environment cannot be used ({type(error).__name__}: "
            f"{error}): it may have another version of Spanwise than the Jupyter server."
        ) from error
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
