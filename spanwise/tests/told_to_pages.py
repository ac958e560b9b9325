"""What pages are told of the cluster of a client, and of the tasks that wait there."""

from __future__ import annotations

from typing import Any

from spanwise import Client
from spanwise.wire.link import dial


def told(client: Client) -> dict[str, Any]:
    """What pages are told of the cluster."""
    observer = client._observer
    assert observer is not None
    link = dial(observer.current_address(), observer.secret, "panel")
    try:
        fields = link.read().fields
    finally:
        link.close()
    (cluster,) = [each for each in fields["clusters"] if each["state"] != "ended"]
    return dict(cluster)


def waiting(client: Client) -> dict[str, int]:
    """By reason, how many tasks wait."""
    return {each["reason"]: each["tasks"] for each in told(client).get("waiting", [])}


def notices(client: Client) -> dict[str, str]:
    """By reason, the notice that is told, if there is one."""
    rows = told(client).get("waiting", [])
    return {each["reason"]: each["told"] for each in rows if "told" in each}
