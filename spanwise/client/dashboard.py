"""Where the panels are: what `dashboard_link` says."""

from __future__ import annotations

import json
import os

from spanwise.observed.doorbell import connection_file

#: Without a Jupyter server there is nothing to be opened.
NO_LINK = "(no page of its own: open the panels from the Spanwise sidebar of JupyterLab)"


def dashboard_link() -> str:
    """The address of the JupyterLab whose server this program has; a sentence without one.

    Its sidebar has the panels. The address holds no token: the browser that shows this is let in.
    """
    file = connection_file()
    if file is None:
        return NO_LINK
    try:
        pid = int(json.loads(file.read_text("utf-8"))["pid"])
        server = json.loads((file.parent / f"jpserver-{pid}.json").read_text("utf-8"))
        return f"{str(server['url']).rstrip('/')}/lab"
    except (OSError, ValueError, KeyError, TypeError):
        # A server that keeps no such file, as a hub's may: its path is in the kernel's environment.
        prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "")
        return f"{prefix.rstrip('/')}/lab" if prefix else NO_LINK
