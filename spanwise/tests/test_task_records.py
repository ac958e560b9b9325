"""What ``get_task_stream`` gives, on real clusters: all parts, one pass, the selection of Dask."""

from __future__ import annotations

import operator
import pickle
import random
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

from spanwise import Client
from spanwise.observed.questions import moment
from spanwise.observed.task_records import TaskRecords
from spanwise.tests.work import lines_of


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as client:
        client.gather(client.map(operator.neg, range(8)))
        yield client


def last_stop(record: dict[str, Any]) -> float:
    return max(each["stop"] for each in record["startstops"])


def keys(records: list[dict[str, Any]]) -> set[str]:
    return {record["key"] for record in records}


def border_after(by_end: list[dict[str, Any]], first: int) -> float:
    """A moment between the ends of two records, the first of them at or after `first`."""
    for one, other in pairwise(map(last_stop, by_end[first:])):
        if other - one > 10e-6:
            return (one + other) / 2
    raise AssertionError("all of them end at once")


def test_start_stop_and_count_combine_as_in_distributed(client: Client) -> None:
    client.gather([client.submit(time.sleep, 0.002, key=f"nap-{n}") for n in range(20)])
    whole = client.get_task_stream()
    by_end = sorted(whole, key=last_stop)
    starts = [record["startstops"][0]["start"] for record in whole]
    assert starts == sorted(starts)
    # Between two ends: a record's own end is rounded to 0.2 us on its way through the wall clock.
    a, b = border_after(by_end, 5), border_after(by_end, len(by_end) - 6)
    inside = [record for record in by_end if a <= last_stop(record) < b]
    assert keys(client.get_task_stream(start=a, stop=b)) == keys(inside)
    assert keys(client.get_task_stream(start=a, stop=b, count=3)) == keys(inside)
    # Counted in the order in which the scheduler heard of the ends, which may be another one.
    heard = client._observed.query("records")["key"]
    end_of = {record["key"]: last_stop(record) for record in whole}
    assert sorted(heard) == sorted(end_of)
    after = [key for key in heard if end_of[key] >= a]
    before = [key for key in heard if end_of[key] < b]
    assert keys(client.get_task_stream(start=a, count=6)) == set(after[:6])
    assert keys(client.get_task_stream(count=6)) == set(heard[-6:])
    assert keys(client.get_task_stream(stop=b, count=6)) == set(before[-6:])
    assert client.get_task_stream(start=0, stop=0) == []
    assert client.get_task_stream(count=0) == []
    assert keys(client.get_task_stream(start="1 h")) == keys(whole)
    assert client.get_task_stream(stop="1 h") == []


def test_long_ago_is_by_the_clock_of_the_records(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    future = client.submit(operator.neg, 1, pure=False)
    assert future.result() == -1
    # The machine has slept for an hour since the cluster began, or its clock was set.
    for module in "spanwise.observed.questions", "spanwise.client.profiles":
        monkeypatch.setattr(f"{module}.time", lambda: time.time() + 3600, raising=False)
    assert future.key in keys(client.get_task_stream(start="30 minutes"))
    assert moment("500 ms", 100.0) == 99.5


def test_all_parts_of_a_fused_task_are_there(client: Client) -> None:
    with dask.config.set({"optimization.fuse.active": True}):
        x = da.ones(4, chunks=4)
        for _ in range(40):
            x = x + 1
        assert x.sum().compute() == 164
    longest = max(client.get_task_stream(), key=lambda record: len(record["startstops"]))
    computing = [each for each in longest["startstops"] if each["action"] == "compute"]
    assert len(computing) > 30
    assert all(one["stop"] <= other["start"] + 1e-4 for one, other in pairwise(computing))


def test_a_fused_task_has_the_name_of_what_took_most_of_it(client: Client) -> None:
    def doze(block: Any) -> Any:
        time.sleep(0.2)
        return block

    with dask.config.set({"optimization.fuse.active": True}):
        assert (da.ones(4, chunks=4).map_blocks(doze, dtype=float) + 1).sum().compute() == 8
    (record,) = [each for each in client.get_task_stream() if each["name"] == "doze"]
    assert "doze" not in str(record["key"])
    functions = [part["function"] for part in record["startstops"] if part["action"] == "compute"]
    assert len(set(functions)) > 1


def test_ten_times_as_many_records_cost_ten_times_as_much(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 100_000
    futures = client.map(operator.neg, range(1000, 1000 + count), key="many")
    client.gather(futures[-1:])
    client.gather(futures)
    pages: list[int] = []
    query = client._observed.query

    def note(*arguments: Any) -> Any:
        page = query(*arguments)
        pages.append(len(page["run"]))
        return page

    monkeypatch.setattr(client._observed, "query", note)
    records = client.get_task_stream()
    assert sum(record["key"].startswith("many") for record in records) == count
    assert len(keys(records)) == len(records)
    # Each page but the last is full, and none brings again what has come.
    assert len(records) <= sum(pages) <= len(records) + len(pages)
    assert min(pages[:-1]) >= 0.9 * max(pages)
    few, many = (lines_of(lambda n=n: client.get_task_stream(count=n)) for n in (1_000, 10_000))
    assert few > 1_000
    # One that looked through the others for each would run 100 times as many lines.
    assert many <= 11 * few


def test_attempts_count_from_one(client: Client, tmp_path: Path) -> None:
    def third_time_lucky() -> int:
        tries = sorted(tmp_path.iterdir())
        (tmp_path / str(len(tries))).touch()
        if len(tries) < 2:
            raise OSError("not yet")
        return len(tries)

    future = client.submit(third_time_lucky, retries=5, key="lucky")
    assert future.result(timeout=60) == 2
    tries = [each for each in client.get_task_stream() if each["key"] == "lucky"]
    assert [each["attempt"] for each in tries] == [1, 2, 3]
    assert [each["status"] for each in tries] == ["error", "error", "OK"]
    for failed in tries[:2]:
        assert failed["cause"] == "lucky"
        assert failed["exception_text"] == "OSError: not yet"
        head, *_, last = failed["traceback_text"].rstrip().splitlines()
        assert (head, last) == ("Traceback (most recent call last):", "OSError: not yet")
        assert "third_time_lucky" in failed["traceback_text"]
    table = client._observed.query("tasks", params={"search": "lucky"})["rows"]
    assert sorted(row["attempt"] for row in table) == [1, 2, 3]


def page(run: int, kinds: list[int], **changes: Any) -> dict[str, Any]:
    """A page of one run."""
    return {
        "names": ["transfer", "compute", "f", "w", "ok"],
        "spans": [[]],
        "run": [run],
        "key": ["k"],
        "function": [2],
        "span": [0],
        "lanes": [{"worker": "w", "address": "", "why": "", "thread": 0, "ident": None}],
        "errors": [],
        "marks": [],
        "lane": [0],
        "status": [4],
        "type": [None],
        "attempt": [1],
        "start": [1.0],
        "duration": [2.0],
        "nbytes": [None],
        "parts": [len(kinds)],
        "partKind": kinds,
        "partFrom": [3] * len(kinds),
        "partHeld": [1] * len(kinds),
        "partFunction": [2] * len(kinds),
        "partSpan": [0] * len(kinds),
        "partOffset": [0.0] * len(kinds),
        "partDuration": [1.0] * len(kinds),
        **changes,
    }


def test_a_run_cut_by_a_page_is_one_record() -> None:
    records = TaskRecords(100.0)
    records.add(page(7, [0, 0]))
    records.add(page(7, [0, 1]))
    records.add(page(8, []))
    cut, whole = records.in_order_of_start()
    assert [each["action"] for each in cut["startstops"]] == ["transfer"] * 3 + ["compute"]
    assert [each["action"] for each in whole["startstops"]] == ["compute"]
    assert whole["startstops"][0]["stop"] == 103.0
    # A worker without an address is named by its name.
    assert (whole["worker"], whole["thread"], whole["type"]) == ("w", None, None)


def test_of_an_observer_of_before_all_parts_count_as_held() -> None:
    def held(of_page: dict[str, Any]) -> list[bool]:
        records = TaskRecords(100.0)
        records.add(of_page)
        (record,) = records.in_order_of_start()
        return [each["held"] for each in record["startstops"]]

    told = page(7, [0, 1], partHeld=[0, 1])
    assert held(told) == [False, True]
    del told["partHeld"]
    assert held(told) == [True, True]


def ended(status: str, **changes: Any) -> dict[str, Any]:
    """The record of a run that ended so, by the page's last name."""
    records = TaskRecords(100.0)
    names = ["transfer", "compute", "f", "w", status, *changes.pop("more", ())]
    records.add(page(1, [1], names=names, **changes))
    (record,) = records.in_order_of_start()
    return record


@pytest.mark.parametrize(
    "name, found, typename",
    [
        ("builtins:int", int, "int"),
        ("builtins:NoneType", type(None), "NoneType"),
        # (classes that say that they are of builtins, and are not there, or are no class)
        ("builtins:function", None, "function"),
        ("builtins:print", None, "print"),
        ("numpy:ndarray", np.ndarray, "numpy.ndarray"),
        ("spanwise.client.client:Client", Client, "spanwise.client.client.Client"),
        ("__main__:Mine", None, "__main__.Mine"),
        (":Nameless", None, "Nameless"),
        ("m:f.<locals>.Local", None, "m.Local"),
        ("m:Cut…", None, "m.Cut…"),
        ("nothing", None, None),
    ],
)
def test_a_class_is_a_pickle_where_it_can_be_imported_by_name(
    name: str, found: Any, typename: str | None
) -> None:
    record = ended("ok", more=[name], type=[5])
    assert record["typename"] == typename
    assert record["type"] == (None if found is None else Pickled(found))
    assert ended("ok")["typename"] is None


def test_what_was_raised_is_what_follows_the_last_frame() -> None:
    head = "Traceback (most recent call last):"
    first = f"{head}\n  File 1\n    code\nOSError: before\n"
    last = f"{head}\n  File 2\nValueError: two\n  lines\nof it\n"
    between = "\nThe above exception was the direct cause of the following exception:\n\n"
    text = first + between + last
    record = ended("failed", errors=[[0, text]])
    assert record["exception_text"] == "ValueError: two\n  lines\nof it"
    assert record["traceback_text"] == text
    # Cut in its middle, or a line alone.
    for said in ("…\n  File 2\nOSError: x\n", "OSError: x", head + "\n  File\nOSError: x\n"):
        assert ended("failed", errors=[[0, said]])["exception_text"] == "OSError: x"
    assert ended("failed", errors=[])["exception_text"] == ""


def test_every_column_of_a_page_is_where_it_belongs() -> None:
    """Drawn: no two figures are alike, and each field is held against the drawn run."""
    chance = random.Random(7)
    names = ["x", "transfer", "compute", "serialize", "inc", "add", "tcp://a", "tcp://b"]
    names += ["ok", "failed", "lost", "cancelled", "builtins:int", "numpy:ndarray"]
    paths = [["default"], ["cell", "load"], ["cell", "train", "deep"]]
    lanes = [
        {
            "worker": f"w-{number}",
            "address": f"tcp://{number}",
            "why": f"why {number}",
            "thread": 10 + number,
            "ident": 2.0**47 + number,
            # (absent of a thread's lane)
            **({"beside": ["seceded", number]} if number else {}),
        }
        for number in range(3)
    ]
    # Runs as plain facts, out of the order of their starts.
    drawn = [
        {
            "run": number,
            "key": f"k-{number % 7}",
            "function": chance.choice(names[4:6]),
            "span": chance.choice(paths),
            "lane": chance.choice(lanes),
            "status": chance.choice(names[8:12]),
            "type": chance.choice(names[12:]),
            "attempt": 1 + number // 7,
            "start": chance.randrange(10**6) / 64,
            "duration": 1 + chance.randrange(500) / 64,
            "nbytes": chance.choice([None, chance.randrange(10**6)]),
            "parts": [
                {
                    "kind": chance.choice(names[1:4]),
                    "function": chance.choice(names[4:6]),
                    "span": chance.choice(paths),
                    "offset": chance.randrange(-30, 500) / 64,
                    "duration": chance.randrange(1, 90) / 64,
                    "from": chance.choice(names[6:8]),
                    "held": chance.randrange(2),
                }
                for _ in range(chance.randrange(4))
            ],
        }
        for number in range(40)
    ]
    ids: dict[str, Any] = {"function": names.index, "status": names.index, "type": names.index}
    ids |= {"kind": names.index, "from": names.index, "span": paths.index, "parts": len}
    ids |= {"lane": lanes.index}

    def column(rows: list[dict[str, Any]], name: str) -> list[Any]:
        return [ids.get(name, lambda value: value)(row[name]) for row in rows]

    parts = [part for run in drawn for part in run["parts"]]
    page = {name: column(drawn, name) for name in drawn[0]}
    page |= {f"part{name.capitalize()}": column(parts, name) for name in _PART_FIELDS}
    page |= {"names": names, "spans": paths, "lanes": lanes}
    page["marks"] = [
        [3.5, "inc-1", names.index("tcp://a"), 1, "died"],
        [9.5, "add-2", None, 2, "?"],
    ]
    page["errors"] = [
        [row, f"Traceback (most recent call last):\n  frame {row}\nE: {row}"]
        for row, run in enumerate(drawn)
        if run["status"] == "failed"
    ]
    records = TaskRecords(1000.0, lambda text: ("key", text))
    records.add(page)
    expected = [
        {
            "key": ("key", run["key"]),
            "name": run["function"],
            "worker": run["lane"]["address"],
            "thread": int(run["lane"]["ident"]),
            "worker_name": run["lane"]["worker"],
            "lane": run["lane"]["thread"],
            "beside": tuple(run["lane"]["beside"]) if "beside" in run["lane"] else None,
            "attempt": run["attempt"],
            "span": tuple(run["span"]),
            "nbytes": run["nbytes"],
            "startstops": _startstops(run, 1000.0 + run["start"]),
            **_ended(row, run),
        }
        for row, run in enumerate(drawn)
    ]
    assert {each["status"] for each in expected} == {"OK", "error", "lost", "cancelled"}
    expected += [
        {
            "key": ("key", key),
            "name": "key",
            "worker": worker,
            "thread": None,
            "worker_name": None,
            "lane": None,
            "beside": None,
            "status": "lost",
            "attempt": None,
            "span": tuple(path),
            "nbytes": None,
            "startstops": [
                {
                    "action": "lost",
                    "start": 1000.0 + t,
                    "stop": 1000.0 + t,
                    "function": "key",
                    "span": tuple(path),
                    "held": True,
                }
            ],
            "reason": why,
        }
        for t, key, worker, path, why in [
            (3.5, "inc-1", "tcp://a", paths[1], "died"),
            (9.5, "add-2", None, paths[2], "?"),
        ]
    ]
    expected.sort(key=lambda record: record["startstops"][0]["start"])
    assert records.in_order_of_start() == expected


def _ended(row: int, run: dict[str, Any]) -> dict[str, Any]:
    """What a record has by its run's end."""
    if run["status"] == "ok":
        kind, typename = {
            "builtins:int": (int, "int"),
            "numpy:ndarray": (np.ndarray, "numpy.ndarray"),
        }[run["type"]]
        return {"status": "OK", "type": Pickled(kind), "typename": typename, "metadata": {}}
    if run["status"] == "lost":
        return {"status": "lost", "reason": run["lane"]["why"]}
    if run["status"] == "cancelled":
        return {"status": "cancelled"}
    text = f"Traceback (most recent call last):\n  frame {row}\nE: {row}"
    return {
        "status": "error",
        "cause": ("key", run["key"]),
        "exception_text": f"E: {row}",
        "traceback_text": text,
    }


class Pickled:
    """Equals what opens as a value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, bytes) and pickle.loads(other) is self.value

    __hash__ = None  # type: ignore[assignment]


_PART_FIELDS = ["kind", "function", "span", "offset", "duration", "from", "held"]


def _startstops(run: dict[str, Any], start: float) -> list[dict[str, Any]]:
    """The run's parts; without a computing one, the run itself before them."""
    kind = "lost" if run["status"] == "lost" else "compute"
    whole = {"kind": kind, "offset": 0.0, "held": 1, **run}
    computes = any(part["kind"] == "compute" for part in run["parts"])
    return [
        {
            "action": part["kind"],
            "start": start + part["offset"],
            "stop": start + part["offset"] + part["duration"],
            "function": part["function"],
            "span": tuple(part["span"]),
            "held": part["held"] == 1,
            **({"source": part["from"]} if part["kind"] == "transfer" else {}),
        }
        for part in ([] if computes else [whole]) + run["parts"]
    ]
