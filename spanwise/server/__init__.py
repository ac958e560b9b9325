"""The Jupyter server extension of Spanwise."""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Tell Jupyter which class to load; imported here, so that importing this stays cheap."""
    from spanwise.server.extension import SpanwiseExtension

    return [{"module": "spanwise.server", "app": SpanwiseExtension}]
