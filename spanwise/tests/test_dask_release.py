"""Figures of a Dask cluster against Dask's own, as a program of the cluster's release tells them.

``scripts/dask-versions`` runs this with a cluster of the oldest release, watched by the newest.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.test_dask_attach import until

#: Tasks of three spans on both workers, whose inputs travel, and one that raises; then what Dask
#: tells of them.
_COMPUTES = """
import json, sys, time
from distributed import Client, span, wait

def part(number):
    return bytes(1000 * (1 + number % 7))

def joined(*parts):
    return sum(map(len, parts))

def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        step()

def step():
    return sum(n for n in range(1000))

def bad(number):
    raise ValueError(f"not {number}")

def told(dask_scheduler):
    scheduler = dask_scheduler
    spans = scheduler.extensions["spans"].spans.values()
    metrics = scheduler.cumulative_worker_metrics.items()
    return {
        "spans": {
            each.id: [list(each.name), None if each.parent is None else each.parent.id]
            for each in spans
        },
        "measured": [
            [*map(str, label), value] for label, value in metrics if isinstance(label, tuple)
        ],
    }

def heartbeats(dask_scheduler):
    return {address: each.last_seen for address, each in dask_scheduler.workers.items()}

def sampled(dask_worker):
    return dask_worker.profile_keys_history[-1][0] if dask_worker.profile_keys_history else 0.0

def wait_until_all_is_told(client):
    # Of each worker the second heartbeat from now on was sent from now on, and the last second of
    # samples is closed.
    began = time.time()
    heard = {address: {began} for address in client.nthreads()}
    while min(map(len, heard.values())) < 3 or min(client.run(sampled).values()) <= began:
        for address, at in client.run_on_scheduler(heartbeats).items():
            if at > began:
                heard.setdefault(address, {began}).add(at)
        time.sleep(0.05)

with Client(sys.argv[1]) as client:
    client.get_task_stream()
    workers = sorted(client.nthreads())
    with span("load"):
        parts = [
            client.submit(part, n, workers=workers[n % 2], pure=False) for n in range(40)
        ]
    with span("learn"), span("join"):
        sums = [client.submit(joined, *parts[at : at + 8], pure=False) for at in range(0, 40, 8)]
    with span("spin"):
        turns = client.map(spin, [1.2, 1.3], pure=False)
    wait([*sums, *turns, client.submit(bad, 7, pure=False)])
    wait_until_all_is_told(client)
    records = [
        [
            each["key"], each["worker"], each["thread"], each["status"],
            [[s["action"], s["start"], s["stop"]] for s in each["startstops"]],
        ]
        for each in client.get_task_stream()
    ]
    profile = client.profile(key="spin")["count"]
    print(json.dumps({"records": records, "profile": profile, **client.run_on_scheduler(told)}))
"""

_TRACES = """
import json, sys
from distributed import Client

def traces(dask_scheduler):
    return [sorted(dask_scheduler.handlers), sorted(dask_scheduler.plugins)]

with Client(sys.argv[1]) as client:
    print(json.dumps(client.run_on_scheduler(traces)))
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path)
    yield processes
    processes.close()


def test_figures_are_those_that_the_clusters_release_tells(cluster: DaskProcesses) -> None:
    with spanwise.attach(cluster.address) as attached:
        until(lambda: len(attached._viewer.log.present()) == 2, "both workers are there")
        theirs = json.loads(cluster.run(_COMPUTES))
        _same_records(theirs["records"], attached.get_task_stream())
        ours = {each.id: [list(each.name), each.parent] for each in attached.spans()}
        assert {id: ours.get(id) for id in theirs["spans"]} == theirs["spans"]
        assert {tuple(name) for name, _ in theirs["spans"].values()} >= {("load",), ("spin",)}
        _same_measures(theirs["measured"], attached)
        asked = attached._asked()
        until(lambda: asked.profile(key="spin").tree()["count"] == theirs["profile"] > 0, "samples")
        assert asked.profile(span=("spin",)).tree()["count"] == theirs["profile"]
        assert len(asked.system()) >= 2


def _same_records(theirs: list[Any], ours: list[Any]) -> None:
    by_key = {each["key"]: each for each in ours}
    assert len(by_key) == len(theirs) == 48
    for key, worker, thread, status, startstops in theirs:
        our = by_key[key]
        assert (our["worker"], our["thread"], our["status"]) == (worker, thread, status)
        told = [[each["action"], each["start"], each["stop"]] for each in our["startstops"]]
        assert [each[0] for each in sorted(told)] == [each[0] for each in sorted(startstops)]
        for own, of_dask in zip(sorted(told), sorted(startstops), strict=True):
            assert own[1:] == pytest.approx(of_dask[1:], abs=1e-5)


def _same_measures(theirs: list[Any], attached: Any) -> None:
    """What was measured outside of tasks; there is time between the two questions."""
    known = _by_label((tuple(label), value) for *label, value in theirs)
    assert any(context == "gather-dep" for context, *_ in known)
    assert _by_label(attached.fine_metrics().items()) == pytest.approx(known, rel=1e-4)


def _by_label(measures: Iterable[tuple[Any, float]]) -> dict[tuple[str, ...], float]:
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for label, value in measures:
        if label[0] in ("gather-dep", "get-data"):
            found[label[0], *label[-2:]] += value
    return {label: value for label, value in found.items() if value}


def test_nothing_is_left_on_a_scheduler_of_the_clusters_release(cluster: DaskProcesses) -> None:
    before = json.loads(cluster.run(_TRACES))
    with spanwise.attach(cluster.address):
        assert json.loads(cluster.run(_TRACES)) != before
    until(lambda: json.loads(cluster.run(_TRACES)) == before, "as before")


def test_what_needs_another_dask_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lacks_a_name.py").write_text("from dask.base import of_another_release")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(spanwise._PUBLIC, "Newer", "dask.of_another_release")
    monkeypatch.setitem(spanwise._PUBLIC, "Lacking", "lacks_a_name")
    monkeypatch.setitem(spanwise._PUBLIC, "Broken", "spanwise.not_there")
    for name in ("Newer", "Lacking"):
        said = rf"^spanwise\.{name} does not run with Dask {re.escape(version('dask'))}, .* pip "
        # (one command, so that pip looks for releases that go together)
        with pytest.raises(ImportError, match=said + r"install --upgrade spanwise distributed\.$"):
            getattr(spanwise, name)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'spanwise\.not_there'"):
        spanwise.Broken
