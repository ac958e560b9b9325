"""Where the panels are: what `dashboard_link` says."""

from __future__ import annotations

import json
import os

from spanwise.errors import ClusterError
from spanwise.observed.newest_server import server_file

#: It is not known where the server is.
_NO_LINK = "(no page of its own: open the panels from the Spanwise sidebar of JupyterLab)"
#: No panels have it.
_NOT_SHOWN = (
    "(no page of its own, and no panels: those of JupyterLab have what notebooks, its terminals, "
    "and scripts that are started with SPANWISE_CONNECTION=newest measure)"
)


def dashboard_link() -> str:
    """The address of the JupyterLab whose server this program has; a sentence without one.

    Its sidebar has the panels. The address holds no token: the browser that shows this is let in.
    """
    try:
        file = server_file()
    except ClusterError:  # (the warning of the client said why nothing is shown)
        return _NOT_SHOWN
    if file is None:
        return _NOT_SHOWN
    try:
        pid = int(json.loads(file.read_text("utf-8"))["pid"])
        server = json.loads((file.parent / f"jpserver-{pid}.json").read_text("utf-8"))
        return f"{str(server['url']).rstrip('/')}/lab"
    except (OSError, ValueError, KeyError, TypeError):
        # A server that keeps no such file, as a hub's may: its path is in the kernel's environment.
        prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "")
        return f"{prefix.rstrip('/')}/lab" if prefix else _NO_LINK
