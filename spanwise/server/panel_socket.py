"""The WebSocket of a page: bytes go unread to the observer and back."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from jupyter_server.utils import ensure_async
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from spanwise.processes.node_process import NodeProcess
from spanwise.server.observer_stream import LIMIT, ObserverStream, open_stream
from spanwise.server.supervisor import ObserverUnavailable, Supervisor
from spanwise.version import read_version
from spanwise.wire.errors import BrokenFrame, HandshakeRefused, LinkClosed
from spanwise.wire.frame import decode, encode
from spanwise.wire.handshake import own_build
from spanwise.wire.schema import PROTOCOL, link_type

#: WebSocket close codes (RFC 6455).
_UNSUPPORTED_DATA = 1003
_TOO_BIG = 1009
_TRY_AGAIN_LATER = 1013
#: Strips of panels add that the computation goes on, unless the cluster has ended.
_OBSERVER_GONE = "The observer stopped and is being started again."

_POLICY_VIOLATION = 1008

_RESOURCE = "spanwise"

#: The messages that a page may send if its user has the permission `read`: they ask,
#: and neither change a cluster nor start anything. All other messages need `execute`.
READING = frozenset({"watch", "change", "tiles", "detail", "ack", "unwatch"})


class PanelSocket(WebSocketMixin, WebSocketHandler, JupyterHandler):  # type: ignore[misc]
    """One page; Jupyter's own authentication, authorization and check of the origin."""

    auth_resource = _RESOURCE

    def initialize(self, supervisor: Supervisor, pages: set[PanelSocket]) -> None:
        """Take what the extension gives."""
        self._supervisor = supervisor
        self._pages = pages
        self._stream: ObserverStream | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pump: asyncio.Task[None] | None = None
        self._may_execute = False

    @ws_authenticated
    @authorized(action="read")
    async def get(  # type: ignore[override]
        self, *args: Any, **kwargs: Any
    ) -> None:
        """Upgrade to a WebSocket; 403 for users whom Jupyter does not know or let read."""
        self._may_execute = await ensure_async(
            self.authorizer.is_authorized(self, self.current_user, "execute", _RESOURCE)
        )
        await super().get(*args, **kwargs)

    def open(self, *args: Any, **kwargs: Any) -> None:
        """Find the observer while the page may already be sending."""
        super().open(*args, **kwargs)
        self._pages.add(self)
        self._pump = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """From here on, every end of the page's link is handled here."""
        try:
            self._check_page()
            observer = await self._find_observer()
            self._stream = await open_stream(observer.address, observer.secret, {"name": "page"})
            self._opened.set_result(None)
            while True:
                # Awaiting the write is the back-pressure: a slow page makes the observer wait.
                await self.write_message(await self._stream.read_body(), binary=True)
        except ObserverUnavailable as unavailable:
            await self._say(unavailable.state, unavailable.sentence)
        except HandshakeRefused as refused:
            state = "version" if refused.code == "protocol" else "refused"
            await self._say(state, refused.sentence)
        except (LinkClosed, BrokenFrame) as error:
            self.log.debug("Spanwise: page: %s", error)
            await self._say("no-observer", _OBSERVER_GONE)
        except WebSocketClosedError:
            pass  # the page has gone
        finally:
            self._opened.cancel()
            if self._stream is not None:
                self._stream.close()
            self.close(_TRY_AGAIN_LATER, "no observer")

    async def _find_observer(self) -> NodeProcess:
        """Return the observer; starting one is more than reading."""
        running = self._supervisor.running
        if running is None and not self._may_execute:
            raise ObserverUnavailable(
                "no-observer",
                "No observer runs, and you may not start one on this server: it starts when "
                'somebody with the permission "execute" on "spanwise" opens a panel or a cluster.',
            )
        return running or await self._supervisor.ensure()

    def _check_page(self) -> None:
        """Refuse a page that was loaded before the server was upgraded."""
        said = self.get_query_argument("protocol", str(PROTOCOL))
        if said != str(PROTOCOL):
            raise ObserverUnavailable(
                "version",
                f"Reload the page to use Spanwise {read_version()} "
                f"(protocol {PROTOCOL}, here {said[:10]}).",
            )

    async def _say(self, state: str, sentence: str) -> None:
        """Answer in the observer's place."""
        kind = link_type("panel").down["state"]
        body = b"".join(encode(kind, {"state": state, "sentence": sentence}))[4:]
        with contextlib.suppress(WebSocketClosedError):
            await self.write_message(body, binary=True)

    async def on_message(self, message: str | bytes) -> None:
        """Hand a body on; the next is not read before the observer has room for this one."""
        if isinstance(message, str):
            self.close(_UNSUPPORTED_DATA, "bodies are binary")
            return
        if len(message) > LIMIT:
            self.close(_TOO_BIG, f"over {LIMIT} bytes")
            return
        if not self._may_execute and not _is_reading(message):
            await self._say(
                "refused",
                "On this server you may only watch: this message needs the permission "
                '"execute" on "spanwise".',
            )
            self.close(_POLICY_VIOLATION, "not permitted")
            return
        try:
            await asyncio.shield(self._opened)
            if self._stream is not None:
                await self._stream.write_body(message)
        except (asyncio.CancelledError, LinkClosed):
            return  # `_run` tells the page why

    def on_close(self) -> None:
        """Let go of the observer's side."""
        super().on_close()
        self._pages.discard(self)
        if self._pump is not None:
            self._pump.cancel()


def _is_reading(body: bytes) -> bool:
    try:
        return decode(link_type("panel").up, body).type in READING
    except BrokenFrame:
        return False


class StatusHandler(APIHandler):  # type: ignore[misc]
    """``GET spanwise/status``: what runs here, and what is wrong if anything is."""

    auth_resource = _RESOURCE

    def initialize(self, supervisor: Supervisor, node: str | None) -> None:
        """Take what the extension gives."""
        self._supervisor = supervisor
        self._node = node

    @web.authenticated
    @authorized(action="read")
    async def get(self) -> None:
        """Answer with protocol, build, observer, node and, if there is one, the problem."""
        problem = self._supervisor.problem
        status: dict[str, Any] = {
            "protocol": PROTOCOL,
            "build": own_build(),
            "observer": "running" if self._supervisor.running else "stopped",
            "node": self._node,
        }
        if problem is not None:
            status["problem"] = problem.sentence
        await self.finish(status)
