"""Spans beside those of `distributed`'s scheduler, for one program.

Known differences (docs/measures.md, docs/moving-from-distributed.md): tasks of one function in two
spans are of both here, of the first there; so each span of the program has functions of its own.
Sizes of small objects differ: each of `bytes` has a header of 33 bytes, which Dask leaves out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.tests.processes import LIMIT_SECONDS, wait_until

SIZES = (1_000, 20_000, 300_000)


def make(nbytes: int) -> bytes:
    time.sleep(0.02)
    return bytes(nbytes)


def clean(data: bytes) -> bytes:
    return data[: len(data) // 2]


def count(data: bytes) -> int:
    return len(data)


def fail(number: int) -> int:
    raise ValueError(number)


def rest(number: int) -> int:
    time.sleep(0.02)
    return number


def program(client: Any, span: Callable[..., Any]) -> tuple[dict[str, str], list[Any]]:
    """Ids of the spans by a name of the test's, and what is held to the end."""
    ids: dict[str, str] = {}
    with span("load") as ids["load"]:
        made = client.map(make, SIZES, pure=False)
        with span("clean", "deep") as ids["deep"]:
            cleaned = client.map(clean, made, pure=False)
    with span("count") as ids["count"]:
        counted = client.gather(client.map(count, cleaned, pure=False))
        assert counted == [size // 2 for size in SIZES]
    with span("bad") as ids["bad"]:
        failed = client.map(fail, range(2), pure=False)
    with span("load", "again") as ids["again"]:
        rested = client.map(rest, range(4), pure=False)
    with span("unused") as ids["unused"]:
        pass
    for each in [*made, *cleaned, *failed, *rested]:
        each.exception(timeout=LIMIT_SECONDS)
    return ids, [made, failed, rested]


def their_spans(client: distributed.Client) -> dict[str, dict[str, Any]]:
    found = client.cluster.scheduler.extensions["spans"].spans
    return {
        each.id: {
            "name": each.name,
            "parent": each.parent and each.parent.id,
            "children": [child.id for child in each.children],
            "states": {state: n for state, n in each.states.items() if n},
            "nbytes": each.nbytes_total,
            "compute": each.all_durations.get("compute", 0.0),
            "done": each.done,
            "span": each,
        }
        for each in list(found.values())
    }


def our_spans(client: spanwise.Client) -> dict[str, dict[str, Any]]:
    return {
        each.id: {
            "name": each.name,
            "parent": each.parent,
            "children": list(each.children),
            "states": dict(each.states),
            "nbytes": each.nbytes_total,
            "compute": each.all_durations.get("compute", 0.0),
            "done": each.done,
            "span": each,
        }
        for each in client.spans()
    }


def by_name(spans: dict[str, dict[str, Any]], ids: dict[str, str]) -> dict[str, Any]:
    """What does not depend on ids and clocks; ids by the test's names, or by the tags."""
    called = {id: name for name, id in ids.items()}

    def name_of(id: str | None) -> Any:
        return None if id is None else called.get(id, spans[id]["name"])

    return {
        str(name_of(id)): {
            "name": each["name"],
            "parent": name_of(each["parent"]),
            "children": [name_of(child) for child in each["children"]],
            "states": each["states"],
            "nbytes": each["nbytes"],
            "done": each["done"],
        }
        for id, each in spans.items()
    }


def seconds_in_records(client: Any, prefixes: tuple[str, ...]) -> float:
    return sum(
        part["stop"] - part["start"]
        for record in client.get_task_stream()
        if record["status"] == "OK" and str(record["key"]).startswith(prefixes)
        for part in record["startstops"]
        if part["action"] == "compute"
    )


def test_names_levels_states_and_sizes_are_those_of_distributed(
    cluster: spanwise.Client, theirs: distributed.Client
) -> None:
    theirs.get_task_stream()  # (it records from its first question on)
    their_ids, their_held = program(theirs, distributed.span)
    our_ids, our_held = program(cluster, spanwise.span)
    sides = [
        (theirs, their_ids, lambda: their_spans(theirs)),
        (cluster, our_ids, lambda: our_spans(cluster)),
    ]
    for _, ids, spans in sides:
        # What nobody holds is forgotten a moment later.
        for name in ("count", "deep"):
            wait_until(
                f"the results of {name} are let go",
                lambda id=ids[name], spans=spans: spans()[id]["states"] == {"forgotten": 3},
            )
    there, here = (by_name(spans(), ids) for _, ids, spans in sides)
    for name, span in here.items():
        assert span.pop("nbytes") == pytest.approx(there[name].pop("nbytes"), rel=0.01)
    assert here == there
    assert set(here) == {"load", "('load', 'clean')", "deep", "count", "bad", "again", "('load',)"}
    # Seconds by action are those of the records, on either side.
    for asked, ids, spans in sides:
        found = spans()
        for name, prefixes in {
            "load": ("make", "clean"),
            "deep": ("clean",),
            "count": ("count",),
            "bad": ("fail",),
            "again": ("rest",),
        }.items():
            seconds = seconds_in_records(asked, prefixes)
            assert found[ids[name]]["compute"] == pytest.approx(seconds, rel=0.01, abs=1e-4)
        assert found[ids["again"]]["compute"] >= 4 * 0.02
    # A span of failed tasks alone has no seconds by action, and no results.
    for _, ids, spans in sides:
        bad = spans()[ids["bad"]]
        assert (bad["compute"], bad["nbytes"], bad["states"]) == (0.0, 0, {"erred": 2})
    assert our_held and their_held
