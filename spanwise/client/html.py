"""How a client, a cluster and a future show themselves in a notebook."""

from __future__ import annotations

from typing import Any

from dask.utils import format_bytes, typename

from spanwise.graph.key_text import KeyTexts
from spanwise.observed.html import cluster_html
from spanwise.shown_text import markup_text

NO_BREAK = "\N{NO-BREAK SPACE}"


def cluster_facts_html(session: Any, status: str) -> str:
    """The cluster's name, state, workers, threads, memory, and a button for the panels."""
    workers = session.workers_there()
    threads = sum(worker["threads"] for worker in workers)
    state = status if session.dead is None else "ended"
    facts = [
        f"{len(workers)} {'worker' if len(workers) == 1 else 'workers'}",
        f"{threads} {'thread' if threads == 1 else 'threads'}",
    ]
    if workers:  # (else there is nothing that could have a limit)
        limits = [int(worker["memoryLimit"]) for worker in workers]
        facts.append(f"memory {_limits_text(limits)}")
    return cluster_html(session.cluster_id, session.name, state, facts, session.dead or "")


def _limits_text(limits: list[int]) -> str:
    """What workers may use. Each has its own limit: their sum may be more than the machine has."""
    if not any(limits):
        return "no limit"
    if len(limits) == 1:
        return _unbroken(format_bytes(limits[0]))
    if len(set(limits)) == 1:
        return _unbroken(f"{len(limits)} × {format_bytes(limits[0])}")
    return f"{_unbroken(format_bytes(sum(limits)))}, limits added up"


def _unbroken(figure: str) -> str:
    """In one line, however narrow the cell is."""
    return figure.replace(" ", NO_BREAK)


def future_html(key: Any, status: str, kind: type | None) -> str:
    """The name of the task, its state, the type of its result if that is known, and its key."""
    facts = [f"status: {status}", *([f"type: {typename(kind)}"] if kind else []), f"key: {key}"]
    name = markup_text(KeyTexts().function(key))
    return f"<strong>Future: {name}</strong> {markup_text(', '.join(facts))}"
