"""What the page asks a kernel: which clusters are shown, to show a cluster, and to let go of one.

The texts that ask are in ``src/lab/kernel-snippet.ts``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spanwise.dask_bridge.attach import attach, attached_clusters, running_clients, shown
from spanwise.errors import ClusterError

#: A kernel that attaches does nothing else meanwhile.
_SECONDS = 10.0


def attach_here(
    address: str, ca_file: str = "", cert_file: str = "", key_file: str = ""
) -> dict[str, str]:
    """Attach to a cluster; returns its id, or a problem: a sentence.

    A client in this kernel that is connected to the address lends its security.
    """
    already = shown().get(address)
    if already:
        return {"cluster": already}
    # (what reads them does not say which one is missing)
    for name in (ca_file, cert_file, key_file):
        if name and not Path(name).is_file():
            return {
                "problem": f"There is no file {name!r} for the kernel, which is in {Path.cwd()}."
            }
    security: Any = None
    if ca_file or cert_file or key_file:
        security = {
            "tls_ca_file": ca_file or None,
            "tls_client_cert": cert_file or None,
            "tls_client_key": key_file or None,
            "require_encryption": True,
        }
    try:
        where = address if security is not None else _client_of(address) or address
        return {"cluster": attach(where, security=security, timeout=_SECONDS).cluster_id}
    except (ClusterError, OSError, ValueError, TypeError) as error:
        return {"problem": str(error)}


def _client_of(address: str) -> Any:
    for each in running_clients():
        if getattr(getattr(each, "scheduler", None), "address", None) == address:
            return each
    return None


def let_go_here(cluster: str) -> dict[str, str]:
    """Watch a cluster no more; returns a problem, a sentence, if it is not watched from here."""
    for each in attached_clusters().values():
        if each.cluster_id == cluster and each.status != "closed":
            each.let_go()
            return {"cluster": cluster}
    return {"problem": "This kernel does not watch the cluster: it was attached to elsewhere."}
