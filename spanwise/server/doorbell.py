"""The socket on which kernels ask where observer and cluster are; ringing starts them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from spanwise.processes.node_process import READY_SECONDS
from spanwise.processes.start_observer import where_it_listens
from spanwise.server.default_clusters import DefaultClusters, NoCluster
from spanwise.server.supervisor import ObserverUnavailable, Supervisor
from spanwise.wire.door import Door, listen
from spanwise.wire.errors import LinkError
from spanwise.wire.link import Link

#: Longer than a start may take, so that its own sentence comes first.
_ANSWER_SECONDS = READY_SECONDS + 5.0
#: The observer is started first.
_CLUSTER_SECONDS = _ANSWER_SECONDS + READY_SECONDS + 5.0

_T = TypeVar("_T")


def hang_doorbell(
    folder: Path,
    secret: bytes,
    supervisor: Supervisor,
    clusters: DefaultClusters,
    transport: str,
    loop: asyncio.AbstractEventLoop,
    log: logging.Logger | logging.LoggerAdapter[logging.Logger],
) -> Door:
    """Open the door; its threads ask in the server's `loop`."""

    def wait_for(asked: Coroutine[Any, Any, _T], what: str, seconds: float) -> _T:
        future = asyncio.run_coroutine_threadsafe(asked, loop)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise ObserverUnavailable(
                "no-observer", f"The {what} did not start within {seconds:g} s."
            ) from None

    def tell_observer(link: Link) -> None:
        observer = wait_for(supervisor.ensure(), "observer", _ANSWER_SECONDS)
        link.send("observer", where_it_listens(observer))

    def tell_cluster(link: Link, settings: Mapping[str, Any]) -> None:
        file = wait_for(clusters.join(settings), "cluster", _CLUSTER_SECONDS)
        link.send("cluster", {"file": str(file)})

    def serve(link: Link) -> None:
        try:
            while True:
                message = link.read()
                try:
                    if message.type == "ring":
                        tell_observer(link)
                    elif message.type == "join":
                        tell_cluster(link, message.fields["settings"])
                    else:
                        link.refuse("order", f'"{message.type}" does not belong here.')
                        return
                except ObserverUnavailable as unavailable:
                    link.refuse(unavailable.state, unavailable.sentence)
                    return
                except NoCluster as why:
                    link.refuse(why.code, str(why))
                    return
        except LinkError as error:
            # Kernels ring once and hang up.
            log.debug("Spanwise: doorbell: %s", error)

    return listen(folder, "doorbell", secret, ["doorbell"], serve, transport=transport)
