"""A viewer of a Dask cluster that was not begun: tests call its parts one by one."""

from __future__ import annotations

from typing import Any

from spanwise.dask_bridge.viewer import Viewer


def unreached_viewer() -> Any:
    """Return a viewer without a thread, a log and an observer; nobody listens at its address."""
    return Viewer("tcp://127.0.0.1:1", None, "seen", lambda: None, 1.0)  # type: ignore[arg-type, return-value]
