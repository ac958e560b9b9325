"""The default cluster as `client.cluster` of one of the notebooks that share it."""

from __future__ import annotations

from spanwise.client.local_cluster import LocalCluster
from spanwise.notices import tell


class SharedCluster(LocalCluster):
    """What a notebook may do with the cluster of its environment: :meth:`scale` and so on, for all.

    The Jupyter server owns it: :meth:`close` leaves it, and ``client.shutdown()`` ends it.
    """

    def _close(self) -> None:
        if self.status == "running":
            tell(
                f"The cluster {self.name!r} goes on, for the notebooks that share it, and this one "
                "has left it. client.shutdown() ends it for all."
            )
        super()._close()
