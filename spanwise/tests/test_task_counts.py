"""How far tasks are, by function and span: as drawn, and as the scheduler says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from operator import add, is_, neg
from pathlib import Path
from typing import Any

import dask

from spanwise import Client, span
from spanwise.tests.gated_tasks import held
from spanwise.tests.processes import wait_until
from spanwise.tests.told_to_pages import page

COUNTS = ("done", "running", "waiting", "failed", "dropped")


def broken(_: Any) -> None:
    raise ValueError("broken")


def counts_of(row: dict[str, Any]) -> dict[str, int]:
    return {count: row[count] for count in COUNTS if row[count]}


def progress(client: Client, **filter: Any) -> dict[str, dict[str, int]]:
    """By function, and of all under ``""``; what is 0 is left out."""
    answer = client._observed.query("progress", filter)
    assert answer["toldAt"] is None or all(
        sum(row[count] for row in answer["functions"]) == answer["total"][count] for count in COUNTS
    )
    rows = {row["function"]: counts_of(row) for row in answer["functions"]}
    return {**rows, "": counts_of(answer["total"])}


def by_scheduler(client: Client, tag: str) -> dict[str, int]:
    """How many tasks of a span are in which state, as the scheduler answers itself."""
    (found,) = [each for each in client.spans() if each.name[-1:] == (tag,)]
    return {state: count for state, count in found.states.items() if count}


@contextmanager
def watched(client: Client) -> Iterator[None]:
    """A page looks at it."""
    assert client._observer is not None
    with closing(page(client._observer)):
        yield


def wait_for(client: Client, expected: dict[str, dict[str, int]], **filter: Any) -> None:
    def is_told() -> bool:
        found = progress(client, **filter)
        del found[""]
        return found == expected

    wait_until(f"{expected} to be told", is_told)


def test_tasks_are_counted_by_function_and_span(tmp_path: Path) -> None:
    file = str(tmp_path / "go")
    with Client(n_workers=1, threads_per_worker=2) as client, watched(client):
        with span("load"):
            loaded = client.map(neg, range(100))
        client.gather(loaded)
        with span("work"):
            going = [client.submit(held, file, pure=False) for _ in range(2)]
            sums = [client.submit(is_, each, going[i % 2]) for i, each in enumerate(loaded)]
            failed = client.map(broken, loaded[:3], priority=10)
            after = [client.submit(add, failed[0], 1), client.submit(neg, going[0])]
            wait_until("both to run", lambda: progress(client).get("held") == {"running": 2})
        wait_for(
            client,
            {
                "neg": {"done": 100, "waiting": 1},
                "held": {"running": 2},
                "is_": {"waiting": 100},
                "add": {"waiting": 1},
                "broken": {"waiting": 3},
            },
        )
        work = {"spans": {"any": [{"tag": "work"}]}}
        assert progress(client, **work)[""] == {"running": 2, "waiting": 105}
        states = by_scheduler(client, "work")
        assert sum(states.values()) == 107
        # (The first two were sent behind what they wait for: one more for each thread.)
        assert states["waiting"] == 100 + 1 + 1 - 2
        assert by_scheduler(client, "load") == {"memory": 100}
        # The sidebar's tree has the same.
        rows = client._observed.query("spans", params={"all": True, "after": 0})["rows"]
        assert [
            (r["tag"], r["running"], r.get("waiting", 0))
            for r in rows
            if r["path"][-1] in ("load", "work")
        ] == [
            ("load", 0, 0),
            ("work", 2, 105),
        ]

        del after[1]
        Path(file).touch()
        client.gather(sums)
        wait_for(
            client,
            {
                "neg": {"done": 100, "dropped": 1},
                "held": {"done": 2},
                "is_": {"done": 100},
                "add": {"failed": 1},
                "broken": {"failed": 3},
            },
        )
        assert by_scheduler(client, "work").get("erred") == 4
        # What is forgotten stays as it was.
        client.cancel([*loaded, *going, *sums, *failed, *after])
        del loaded, going, sums, failed, after
        wait_until("none is left", lambda: not client.who_has())
        assert progress(client)[""] == {"done": 202, "failed": 4, "dropped": 1}


def test_a_graph_of_known_counts_is_counted_so(tmp_path: Path) -> None:
    with Client(n_workers=2, threads_per_worker=1) as client, watched(client):
        parts = [dask.delayed(neg)(i, dask_key_name=("part", i)) for i in range(40)]
        pairs = [
            dask.delayed(add)(parts[i], parts[i + 1], dask_key_name=("pair", i))
            for i in range(0, 40, 2)
        ]
        assert sum(dask.compute(*pairs)) == -780
        wait_for(client, {"part": {"done": 40}, "pair": {"done": 20}})
