"""What pages are told of the cluster of a client, and of the tasks that wait there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.observed.observer_address import ObserverAddress
from spanwise.tests.processes import wait_until
from spanwise.wire.link import Link, dial

if TYPE_CHECKING:
    # (which needs a newer Dask than the bridge)
    from spanwise import Client


def page(observer: ObserverAddress) -> Link:
    """A page that looks, until it is closed."""
    return dial(observer.current_address(), observer.secret, "panel")


def told_by(observer: ObserverAddress) -> dict[str, Any]:
    """What pages are told of the one cluster that has not ended, once the observer knows it."""
    (cluster,) = wait_until("the observer knows the cluster", lambda: _going(observer))
    return cluster


def _going(observer: ObserverAddress) -> list[dict[str, Any]]:
    link = page(observer)
    try:
        fields = link.read().fields
    finally:
        link.close()
    return [dict(each) for each in fields["clusters"] if each["state"] != "ended"]


def told(client: Client) -> dict[str, Any]:
    """What pages are told of the cluster."""
    observer = client._observer
    assert observer is not None
    return told_by(observer)


def waiting_in(cluster: dict[str, Any]) -> dict[str, int]:
    """By reason, how many tasks wait."""
    return {each["reason"]: each["tasks"] for each in cluster.get("waiting", [])}


def notices_in(cluster: dict[str, Any]) -> dict[str, str]:
    """By reason, the notice that is told, if there is one."""
    rows = cluster.get("waiting", [])
    return {each["reason"]: each["told"] for each in rows if "told" in each}


def needs_in(cluster: dict[str, Any]) -> dict[str, str]:
    """By reason, which resources some of the tasks need, if that is told."""
    rows = cluster.get("waiting", [])
    return {each["reason"]: each["need"] for each in rows if "need" in each}


def waiting(client: Client) -> dict[str, int]:
    """By reason, how many tasks wait."""
    return waiting_in(told(client))


def notices(client: Client) -> dict[str, str]:
    """By reason, the notice that is told, if there is one."""
    return notices_in(told(client))
