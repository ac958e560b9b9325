"""What Jupyter loads: ties the parts of this folder together."""

from __future__ import annotations

from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool, Enum, Float, Int

from spanwise.processes.node import NodeNotFound, find_node
from spanwise.server.activity import ActivityWatch
from spanwise.server.cluster_handlers import ClusterHandler, ClustersHandler
from spanwise.server.default_clusters import DefaultClusters
from spanwise.server.doorbell import hang_doorbell
from spanwise.server.kernel_environment import KernelEnvironments
from spanwise.server.panel_socket import PanelSocket, StatusHandler
from spanwise.server.runtime_folder import RuntimeFolder
from spanwise.server.supervisor import Supervisor, observer_starter
from spanwise.wire.addresses import default_transport
from spanwise.wire.door import Door
from spanwise.wire.handshake import new_secret, own_build
from spanwise.wire.schema import PROTOCOL


class SpanwiseExtension(ExtensionApp):  # type: ignore[misc]
    """The relay between pages, kernels and the observer."""

    name = "spanwise"

    transport = Enum(
        ["unix", "tcp"],
        default_value=None,
        allow_none=True,
        help="How processes of this machine talk: unix sockets, or TCP on loopback.",
    ).tag(config=True)
    observer_budget_bytes = Int(
        None,
        min=1 << 20,
        allow_none=True,
        help="Bytes that the observer may keep of all runs together; default: what "
        "spanwise.observer.budget in Dask's configuration says, else 1 GiB.",
    ).tag(config=True)
    default_cluster = Bool(
        True,
        help="Whether Client() in a notebook joins the cluster that all notebooks of its "
        "environment share, and which this server starts; else each gets a cluster of its own.",
    ).tag(config=True)
    default_cluster_idle_seconds = Float(
        1800.0,
        min=0.0,
        help="A default cluster ends after so many seconds in which it holds no task and no "
        "result, and hears of no notebook; 0: never.",
    ).tag(config=True)

    _folder: RuntimeFolder | None = None
    _doorbell: Door | None = None
    _supervisor: Supervisor | None = None
    _activity: ActivityWatch | None = None
    _clusters: DefaultClusters | None = None
    _environments: KernelEnvironments | None = None

    def initialize_settings(self) -> None:
        """Write the connection file and hang the doorbell; the observer waits for its first use."""
        serverapp = self.serverapp
        if serverapp is None:
            raise RuntimeError("The extension was not linked to a server.")
        transport = self.transport or default_transport()
        # Before the variable names our own file, in which it would look for itself.
        self._node: str | None = None
        try:
            self._node = find_node()
        except NodeNotFound as missing:
            self.log.warning("Spanwise: %s", missing)
        folder = RuntimeFolder(serverapp.runtime_dir)
        self._folder = folder
        self._pages: set[PanelSocket] = set()
        self._activity = ActivityWatch(serverapp.web_app.settings, self.log)
        self._supervisor = Supervisor(
            observer_starter(folder.path, transport, self.observer_budget_bytes),
            self.log,
            self._activity.follow,
        )
        self._environments = KernelEnvironments(serverapp.root_dir)
        self._clusters = DefaultClusters(
            self._supervisor,
            transport,
            self.default_cluster_idle_seconds,
            self.default_cluster,
            self.log,
        )
        secret = new_secret()
        secret_file = folder.secret_file("doorbell-secret", secret)
        self._doorbell = hang_doorbell(
            folder.path,
            secret,
            self._supervisor,
            self._clusters,
            transport,
            # Tornado's loops are asyncio's; this is the one that the server will run.
            serverapp.io_loop.asyncio_loop,  # type: ignore[attr-defined]
            self.log,
        )
        folder.publish(
            {
                "protocol": PROTOCOL,
                "build": own_build(),
                "doorbell": self._doorbell.address,
                "secretFile": str(secret_file),
                "node": self._node,
            }
        )

    def initialize_handlers(self) -> None:
        """Add the addresses below the server's base URL."""
        clusters = {
            "clusters": self._clusters,
            "environments": self._environments,
        }
        self.handlers.extend(
            [
                (
                    r"/spanwise/ws",
                    PanelSocket,
                    {"supervisor": self._supervisor, "pages": self._pages},
                ),
                (
                    r"/spanwise/status",
                    StatusHandler,
                    {"supervisor": self._supervisor, "node": self._node},
                ),
                (r"/spanwise/clusters", ClustersHandler, clusters),
                (r"/spanwise/clusters/([0-9a-f]+)", ClusterHandler, clusters),
            ]
        )

    async def stop_extension(self) -> None:
        """End what was started, remove what was written."""
        if self._doorbell is not None:
            self._doorbell.close()
        for page in list(getattr(self, "_pages", ())):
            page.close(1001, "the server stops")
        if self._clusters is not None:
            await self._clusters.stop()
        if self._activity is not None:
            await self._activity.stop()
        if self._supervisor is not None:
            await self._supervisor.stop()
        if self._folder is not None:
            self._folder.remove()
