"""What a page may do with the clusters that notebooks share: start, scale, restart, stop."""

from __future__ import annotations

from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import ensure_async
from tornado import web

from spanwise.errors import ClusterError
from spanwise.server.default_cluster import Busy, DefaultCluster, OthersConnected
from spanwise.server.default_clusters import DefaultClusters, NoCluster
from spanwise.server.kernel_environment import KernelEnvironments

_RESOURCE = "spanwise"
#: As of `spanwise/client/launch.py`.
_MOST_WORKERS = 1_024
_STOPPED = "it was stopped in JupyterLab"


class _Handler(APIHandler):  # type: ignore[misc]
    """Answers with ``{"message"}`` what was not done."""

    auth_resource = _RESOURCE

    def initialize(self, clusters: DefaultClusters, environments: KernelEnvironments) -> None:
        """Take what the extension gives."""
        self._clusters = clusters
        self._environments = environments

    async def refuse(self, status: int, message: str, **more: Any) -> None:
        """Say why not."""
        self.set_status(status)
        await self.finish({"message": message, **more})

    def body(self) -> dict[str, Any]:
        """The request's JSON; 400 if it is no object."""
        body = self.get_json_body()
        if not isinstance(body, dict):
            raise web.HTTPError(400, "the body is to be a JSON object")
        return body


class ClustersHandler(_Handler):
    """``POST spanwise/clusters {kernel, notebook?}``: the default cluster of an environment."""

    @web.authenticated
    @authorized(action="execute")
    async def post(self) -> None:
        """Start it, or find it; answers with ``{cluster, name, isNew}``."""
        body = self.body()
        kernel, notebook = body.get("kernel"), body.get("notebook", "")
        if not isinstance(kernel, str) or not isinstance(notebook, str):
            raise web.HTTPError(
                400, "`kernel` is to be the name of a kernelspec, `notebook` a notebook's path"
            )
        try:
            spec = await ensure_async(self.kernel_spec_manager.get_kernel_spec(kernel))
        except KeyError:
            await self.refuse(404, f"This Jupyter server has no kernel {kernel!r}.")
            return
        try:
            settings = await self._environments.settings(
                spec.display_name,
                spec.argv,
                spec.env,
                spec.resource_dir,
                # As its kernel would: else each file that it names would be missing on workers.
                self.kernel_manager.cwd_for_path(notebook) if notebook else "",
            )
            cluster, is_new = await self._clusters.find(settings)
        except NoCluster as error:
            await self.refuse(503, str(error))
            return
        await self.finish({"cluster": cluster.id, "name": cluster.name, "isNew": is_new})


class ClusterHandler(_Handler):
    """``POST spanwise/clusters/<id> {do, …}`` and ``DELETE spanwise/clusters/<id>``."""

    @web.authenticated
    @authorized(action="execute")
    async def post(self, cluster_id: str) -> None:
        """Scale it to `workers`, or restart it, with `force` also if notebooks are connected."""
        what, fields = _asked(self.body())
        cluster = await self._found(cluster_id)
        if cluster is None:
            return
        try:
            sentence = await cluster.command(what, **fields)
        except OthersConnected as error:
            # No failure: the page asks its user, and a browser would log another status.
            await self.refuse(200, str(error), others=error.count)
        except Busy as error:
            await self.refuse(409, str(error))
        except ClusterError as error:
            await self.refuse(410, str(error))
        except TimeoutError:
            await self.refuse(
                504, f"The cluster {cluster.name} did not answer: its scheduler may be stopped."
            )
        else:
            await self.finish({"message": sentence})

    @web.authenticated
    @authorized(action="execute")
    async def delete(self, cluster_id: str) -> None:
        """End it for all."""
        cluster = await self._found(cluster_id)
        if cluster is not None:
            await self._clusters.stop_one(cluster, _STOPPED)
            await self.finish({"message": ""})

    async def _found(self, cluster_id: str) -> DefaultCluster | None:
        cluster = self._clusters.get(cluster_id)
        if cluster is None:
            await self.refuse(
                404,
                "This Jupyter server has no such default cluster: it has ended, or a program "
                "started it, which alone controls it.",
            )
        return cluster


def _asked(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    what, workers, force = body.get("do"), body.get("workers"), body.get("force", False)
    if what == "restart" and isinstance(force, bool):
        return what, {"alone": not force}
    if what == "scale" and type(workers) is int and 0 <= workers <= _MOST_WORKERS:
        return what, {"count": workers}
    raise web.HTTPError(
        400,
        f'`do` is to be "restart" (with `force`, true or false) or "scale" (with `workers`, 0 to '
        f"{_MOST_WORKERS})",
    )
