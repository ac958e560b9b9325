"""The socket on which kernels ask where the observer is; ringing starts it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from pathlib import Path

from spanwise.server.observer_process import READY_SECONDS, ObserverProcess
from spanwise.server.supervisor import ObserverUnavailable, Supervisor
from spanwise.wire.door import Door, listen
from spanwise.wire.errors import LinkError
from spanwise.wire.link import Link

#: Longer than a start may take, so that its own sentence comes first.
_ANSWER_SECONDS = READY_SECONDS + 5.0


def hang_doorbell(
    folder: Path,
    secret: bytes,
    supervisor: Supervisor,
    transport: str,
    loop: asyncio.AbstractEventLoop,
    log: logging.Logger | logging.LoggerAdapter[logging.Logger],
) -> Door:
    """Open the door; its threads ask the supervisor in the server's `loop`."""

    def ensure() -> ObserverProcess:
        future = asyncio.run_coroutine_threadsafe(supervisor.ensure(), loop)
        try:
            return future.result(_ANSWER_SECONDS)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise ObserverUnavailable(
                "no-observer", f"The observer did not start within {_ANSWER_SECONDS:g} s."
            ) from None

    def serve(link: Link) -> None:
        try:
            while True:
                message = link.read()
                if message.type != "ring":
                    link.refuse("order", f'"{message.type}" does not belong here.')
                    return
                try:
                    observer = ensure()
                except ObserverUnavailable as unavailable:
                    link.refuse(unavailable.state, unavailable.sentence)
                    return
                link.send(
                    "observer",
                    {"address": observer.address, "secretFile": str(observer.secret_file)},
                )
        except LinkError as error:
            # Kernels ring once and hang up.
            log.debug("Spanwise: doorbell: %s", error)

    return listen(folder, "doorbell", secret, ["doorbell"], serve, transport=transport)
