"""What a record of ``get_task_stream`` says of a run, and which runs are those of a block."""

from __future__ import annotations

import asyncio
import operator
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import dask.array as da
import numpy as np
import pytest
import yaml
from dask.utils import typename

import spanwise
from spanwise import Client
from spanwise.measure.names import Names
from spanwise.measure.type_names import TypeNames, name_of_type
from spanwise.observed.report_page import NO_TASKS, slots_of
from spanwise.observed.task_groups import key_split_group, task_groups, task_prefixes


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as client:
        yield client


def keys(records: list[dict[str, Any]]) -> set[Any]:
    return {record["key"] for record in records}


class Held:
    """A class of a module, within which is another."""

    class Inner:
        pass


def made(kind: str) -> Any:
    """A value, and where it was made."""
    values: dict[str, Any] = {
        "int": 1,
        "array": np.ones(3),
        "own": Held(),
        "inner": Held.Inner(),
        "none": None,
        "local": type("Local", (), {})(),
        "class": Held,
    }
    return values[kind], threading.get_ident()


def first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


@pytest.mark.parametrize("kind", ["int", "array", "own", "inner", "none", "class"])
def test_a_record_has_the_type_of_its_result(client: Client, kind: str) -> None:
    value = client.submit(first, client.submit(made, kind, pure=False), pure=False)
    result = value.result(timeout=60)
    (record,) = [each for each in client.get_task_stream() if each["key"] == value.key]
    assert record["typename"] == typename(type(result))
    assert pickle.loads(record["type"]) is type(result)
    assert record["metadata"] == {}


def test_a_class_that_cannot_be_imported_has_a_name_alone(client: Client) -> None:
    def make() -> Any:
        class Local:
            __module__ = "anywhere"

        return Local()

    future = client.submit(make)
    spanwise.wait(future)
    (record,) = [each for each in client.get_task_stream() if each["key"] == future.key]
    assert (record["type"], record["typename"]) == (None, "anywhere.Local")


def test_classes_are_named_whatever_they_and_their_metaclasses_do() -> None:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise RuntimeError(name)

    class Hostile(metaclass=Meta):
        pass

    class Shown:
        __module__ = property(lambda self: "lies")  # type: ignore[assignment]

    inside = "test_classes_are_named_whatever_they_and_their_metaclasses_do.<locals>"
    assert name_of_type(Hostile) == f"{__name__}:{inside}.Hostile"
    assert name_of_type(Shown) == f":{inside}.Shown"
    assert name_of_type(Held.Inner) == f"{__name__}:Held.Inner"
    names = Names()
    types = TypeNames(names)
    assert names.id_of("builtins:int") == types.meet(int) == types.ids[int]
    for number in range(1500):
        types.meet(type(f"C{number}", (), {}))
    assert len(types.ids) <= 1000


def test_a_record_says_where_its_task_ran_and_where_inputs_came_from(client: Client) -> None:
    here, there = client.nthreads()
    array = client.submit(np.ones, 300_001, workers=[here], pure=False)
    moved = client.submit(np.sum, array, workers=[there], pure=False)
    ident = client.submit(threading.get_ident, workers=[there], pure=False)
    assert moved.result(timeout=60) == 300_001
    told = ident.result(timeout=60)
    records = {each["key"]: each for each in client.get_task_stream()}
    assert records[array.key]["worker"] == here
    assert records[moved.key]["worker"] == records[ident.key]["worker"] == there
    assert records[ident.key]["thread"] == records[moved.key]["thread"] == told
    names = {each["worker"]: each["worker_name"] for each in records.values()}
    assert len(names) == 2 and all(name.startswith("worker-") for name in names.values())
    # Two parts if the other task's run ended meanwhile: one beside it, one that held the thread.
    transfers = [each for each in records[moved.key]["startstops"] if each["action"] == "transfer"]
    assert {each["source"] for each in transfers} == {here}
    own = [each for each in records[array.key]["startstops"] if "source" in each]
    assert own == []


def test_keys_are_as_the_user_made_them(client: Client) -> None:
    x = da.ones((4, 4), chunks=2, name="ones-of-mine") + 1
    x.compute(optimize_graph=False)
    keys_seen = keys(client.get_task_stream())
    assert ("ones-of-mine", 0, 1) in keys_seen
    # Of a future that is held the key itself, whatever its text looks like.
    odd = [client.submit(abs, -1, key=key) for key in ("('a', 1)", ("a", 2), 17, b"raw")]
    spanwise.wait(odd)
    assert {each.key for each in odd} <= keys(client.get_task_stream())


def test_around_a_block_the_stream_has_what_ended_in_it(client: Client) -> None:
    client.submit(operator.neg, 1, pure=False).result()
    with spanwise.get_task_stream() as stream:
        assert stream.data == []
        one = client.submit(operator.neg, 2, pure=False)
        one.result()
    client.submit(operator.neg, 3, pure=False).result()
    assert [each["key"] for each in stream.data] == [one.key]
    assert stream.figure is None
    with stream:
        other = client.submit(operator.neg, 4, pure=False)
        other.result()
    assert [each["key"] for each in stream.data] == [one.key, other.key]
    with pytest.raises(ZeroDivisionError), spanwise.get_task_stream(client) as failing:
        client.submit(operator.truediv, 1, 0, pure=False).result()
    assert [each["status"] for each in failing.data] == ["error"]


def test_around_a_block_of_an_asynchronous_client() -> None:
    async def run() -> tuple[list[str], list[Any]]:
        async with Client(n_workers=1, threads_per_worker=1, asynchronous=True) as own:
            await own.submit(operator.neg, 1)
            async with spanwise.get_task_stream(own) as stream:
                await own.submit(operator.neg, 2, key="in-the-block")
            whole = await own.get_task_stream()
            return [each["key"] for each in stream.data], whole

    inside, whole = asyncio.run(run())
    assert inside == ["in-the-block"] and len(whole) == 2


def test_around_a_block_the_states_of_its_tasks(client: Client) -> None:
    with spanwise.get_task_metadata() as tasks:
        good = client.submit(operator.neg, 5, pure=False)
        bad = client.submit(operator.truediv, 1, 0, pure=False)
        spanwise.wait([good, bad])
    assert tasks.state == {good.key: "memory", bad.key: "erred"}
    assert tasks.metadata == {good.key: {}, bad.key: {}}


def test_states_are_those_of_runs_that_ended_by_themselves() -> None:
    tasks = spanwise.get_task_metadata()
    ended = ["OK", "lost", "cancelled", "error"]
    records = [{"key": status, "status": status} for status in ended]
    records += [{"key": "again", "status": status} for status in ("error", "OK", "lost")]
    tasks._take(cast(Any, None), records)
    assert tasks.state == {"OK": "memory", "error": "erred", "again": "memory"}
    assert tasks.metadata == {"OK": {}, "error": {}, "again": {}}


def test_a_block_is_of_the_client_that_it_was_given(client: Client) -> None:
    with Client(n_workers=1, threads_per_worker=1) as other:
        with spanwise.get_task_stream(client) as ours, spanwise.get_task_stream() as others:
            mine = client.submit(operator.neg, 6, key="of-the-first").result()
            theirs = other.submit(operator.neg, 7, key="of-the-current").result()
        assert (mine, theirs) == (-6, -7)
    assert keys(ours.data) == {"of-the-first"}
    assert keys(others.data) == {"of-the-current"}


def test_an_error_of_collecting_is_a_note_of_the_blocks_own(client: Client) -> None:
    stream = spanwise.get_task_stream(client)
    with pytest.raises(KeyError) as caught, stream:
        break_questions(stream)
        raise KeyError("own")
    assert "records of the block's tasks are lost: it is broken" in caught.value.__notes__[0]
    with pytest.raises(OSError, match="broken"), stream:
        break_questions(stream)


def break_questions(stream: spanwise.get_task_stream) -> None:
    assert stream._watched is not None
    stream._watched.asked = cast(Any, Broken())


class Broken:
    def task_stream_from(self, _: tuple[int, int]) -> list[Any]:
        raise OSError("it is broken")


def boxes_of(page: Any) -> list[tuple[Any, ...]]:
    """Key, lane, function of the run, action, whether it held the thread, start (from the first)
    and duration of what a page draws."""
    (section,) = [each for each in page.content["sections"] if each["kind"] == "task-stream"]
    records, boxes = section["records"], section["boxes"]
    columns = ("record", "action", "held", "start", "duration")
    places = zip(*(boxes[name] for name in columns), strict=True)
    return [
        (
            records["key"][record],
            section["lanes"][records["lane"][record]],
            section["functions"][records["function"][record]]["name"],
            section["actions"][action],
            held == 1,
            start,
            duration,
        )
        for record, action, held, start, duration in places
    ]


def parts_of(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The same of records; the times as near as a page has them."""
    parts = [(each, part) for each in records for part in each["startstops"]]
    begin = min(part["start"] for _, part in parts)
    return [
        (
            str(each["key"]),
            {"worker": each["worker_name"], "thread": each["lane"]}
            | ({} if each["beside"] is None else {"beside": list(each["beside"])}),
            each["name"],
            part["action"],
            part["held"],
            pytest.approx(part["start"] - begin, abs=1e-6),
            pytest.approx(part["stop"] - part["start"], abs=1e-8),
        )
        for each, part in parts
    ]


def test_a_picture_has_each_part_of_the_records(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with spanwise.get_task_stream(client, plot=True) as stream:
        client.submit(operator.neg, 31, pure=False).result()
    page = stream.figure
    assert page is not None and boxes_of(page) == parts_of(stream.data)
    # A block that is entered again draws all.
    with stream:
        client.submit(operator.truediv, 1, 0, pure=False).exception()
    assert boxes_of(stream.figure) == parts_of(stream.data) != boxes_of(page)
    summary = stream.figure.content["sections"][-1]
    values = {row[0]["value"]: row[1]["value"] for row in summary["rows"]}
    assert (values["Task runs"], values["Failed task runs"]) == (2, 1)
    assert values["Duration"] == pytest.approx(
        max(part["stop"] for each in stream.data for part in each["startstops"])
        - min(part["start"] for each in stream.data for part in each["startstops"])
    )
    # Functions have the colours of panels.
    (section, _) = stream.figure.content["sections"]
    slots = slots_of(client.fine_metrics())
    assert {each["name"]: (each["slot"], each["round"]) for each in section["functions"]} == {
        name: slots[name] for name in ("neg", "truediv")
    }
    assert list(tmp_path.iterdir()) == []

    records, page = client.get_task_stream(count=2, plot="save")
    assert records == client.get_task_stream(count=2)
    assert boxes_of(page) == parts_of(records)
    assert Path("task-stream.html").read_text("utf-8") == page.to_html()
    client.get_task_stream(count=1, plot="save", filename="other.html", bokeh_resources=object())
    # The file is one of the picture.
    assert client.get_task_stream(count=1, filename="none.html") == records[-1:]
    assert {each.name for each in tmp_path.iterdir()} == {"task-stream.html", "other.html"}


def test_a_picture_of_nothing_says_so(client: Client) -> None:
    records, page = client.get_task_stream(start=0, stop=0, plot=True)
    assert records == []
    assert page.content["sections"][0]["missing"] == NO_TASKS
    with spanwise.get_task_stream(client, plot=True) as stream:
        pass
    assert stream.figure is not None
    assert stream.figure.content["sections"][0]["missing"] == NO_TASKS


def test_a_picture_of_an_asynchronous_client(tmp_path: Path) -> None:
    async def run() -> tuple[Any, list[Any], Any]:
        async with Client(n_workers=1, threads_per_worker=1, asynchronous=True) as own:
            file = tmp_path / "block.html"
            async with spanwise.get_task_stream(own, plot="save", filename=file) as stream:
                await own.submit(operator.neg, 1)
            return stream, *await own.get_task_stream(plot=True)

    stream, records, page = asyncio.run(run())
    assert boxes_of(page) == boxes_of(stream.figure) == parts_of(records)
    assert (tmp_path / "block.html").read_text("utf-8") == stream.figure.to_html()


def test_groups_and_prefixes_add_up_the_records(client: Client) -> None:
    with spanwise.get_task_stream(client) as stream, spanwise.span("added up"):
        x = da.ones((40,), chunks=10, name="ones-added") * 2
        x.sum().compute(optimize_graph=False)
        client.submit(operator.truediv, 1, 0, key="truediv-fails").exception()
    groups, prefixes = client.task_groups(), client.task_prefixes()
    mine = [each for each in stream.data if each["key"][0] == "ones-added"]
    group = groups["ones-added"]
    assert len(mine) == 4 and group["states"] == {"memory": 4, "erred": 0}
    assert group["nbytes_total"] == sum(each["nbytes"] for each in mine)
    computed = [p for each in mine for p in each["startstops"] if p["action"] == "compute"]
    seconds = sum(part["stop"] - part["start"] for part in computed)
    assert group["all_durations"]["compute"] == pytest.approx(seconds)
    assert group["duration"] == pytest.approx(sum(group["all_durations"].values()))
    assert group["start"] == min(part["start"] for part in computed)
    assert group["stop"] == max(part["stop"] for part in computed)
    assert (group["prefix"], group["types"]) == ("ones-added", {"numpy.ndarray"})
    assert group["spans"] == {("added up",)}
    assert prefixes["ones-added"]["groups"] == ["ones-added"]
    failed = groups["truediv-fails"]
    assert failed["states"] == {"memory": 0, "erred": 1}
    assert (failed["all_durations"], failed["start"]) == ({}, None)


def test_an_average_counts_the_newest_run_by_a_half() -> None:
    def run(key: str, start: float, seconds: float, status: str = "OK") -> dict[str, Any]:
        part = {"action": "compute", "start": start, "stop": start + seconds}
        return {
            "key": key,
            "status": status,
            "nbytes": 8,
            "span": ("s",),
            "typename": "int",
            "startstops": [part],
        }

    records = [
        run("inc-1", 0.0, 4.0),
        run("inc-2", 10.0, 2.0),
        run("inc-3", 20.0, 9.0, "error"),
        run("inc-1", 30.0, 1.0),
        run("inc-4", 40.0, 9.0, "lost"),
    ]
    found = task_prefixes(records)["inc"]
    assert found["duration_average"] == ((4.0 + 2.0) / 2 + 1.0) / 2
    assert found["states"] == {"memory": 2, "erred": 1}
    assert found["nbytes_total"] == 16
    assert found["duration"] == 7.0


def test_what_a_task_s_last_run_left_counts_once() -> None:
    """Drawn by hand: tries, runs made again, parts of every action, records out of their order."""

    def run(key: Any, end: float, status: str = "OK", **other: Any) -> dict[str, Any]:
        parts = [
            {"action": "transfer", "start": end - 4.0, "stop": end - 3.0},
            # (a clock that went back)
            {"action": "serialize", "start": end - 1.0, "stop": end - 1.5},
            {"action": "compute", "start": end - 3.0, "stop": end},
        ]
        return {
            "key": key,
            "status": status,
            "nbytes": 8,
            "span": ("s",),
            "typename": None,
            "startstops": parts,
            **other,
        }

    records = [
        run(("x-1", 1), 40.0, nbytes=16, typename="int"),
        run(("x-1", 1), 10.0, "error", nbytes=None),
        run(("x-1", 0), 20.0, nbytes=100, typename="str", span=("t",)),
        run(("x-2", 0), 30.0, "error", nbytes=None),
        run(("x-1", 2), 50.0, "lost", nbytes=None, span=("u",)),
        run(("x-1", 3), 60.0, "cancelled", nbytes=7),
        # It was made again, and is smaller now.
        run(("x-1", 0), 35.0, nbytes=50, typename="str", span=("t",)),
    ]
    groups = task_groups(records)
    assert {*groups} == {"x-1", "x-2"}
    found = groups["x-1"]
    assert found["states"] == {"memory": 2, "erred": 0}
    assert found["nbytes_total"] == 16 + 50
    assert found["types"] == {"int", "str"}
    assert found["spans"] == {("s",), ("t",), ("u",)}
    assert found["all_durations"] == {"transfer": 3.0, "serialize": 0.0, "compute": 9.0}
    assert found["duration"] == 12.0
    assert (found["start"], found["stop"]) == (17.0, 40.0)
    assert groups["x-2"]["states"] == {"memory": 0, "erred": 1}
    assert (groups["x-2"]["stop"], found["prefix"]) == (None, "x")
    # In the order of their ends, whatever that of the records is.
    averaged = [run(("x-1", number), end) for number, end in enumerate((90.0, 80.0, 70.0))]
    for each, seconds in zip(averaged, (5.0, 10.0, 3.0), strict=True):
        each["startstops"][2]["start"] = each["startstops"][2]["stop"] - seconds
    assert task_prefixes(averaged)["x"]["duration_average"] == ((3.0 + 10.0) / 2 + 5.0) / 2
    # One that ended its computing before another, and the rest of it after.
    late = run(("x-1", 7), 30.0)
    late["startstops"][1] |= {"start": 80.0, "stop": 90.0}
    assert task_groups([run(("x-1", 8), 50.0), late])["x-1"]["stop"] == 50.0
    assert task_groups([run(("x-1", 8), 50.0)])["x-1"]["types"] == set()
    prefix = task_prefixes(records)["x"]
    assert prefix["groups"] == ["x-1", "x-2"]
    assert prefix["states"] == {"memory": 2, "erred": 1}
    assert prefix["duration_average"] == 3.0
    none = task_prefixes([run("bad", 1.0, "error")])["bad"]
    assert none["duration_average"] is None and none["types"] == set()


@pytest.mark.parametrize(
    "key, group",
    [
        ("x-1-2-3", "x"),
        ("hello-world-1", "hello-world"),
        (("x-2", 1), "x-2"),
        ("('x-2', 1)", "x-2"),
        ("sum-aggregate-" + "0123456789abcdef" * 2, "sum-aggregate"),
        ("x-abcdefab", "x"),
        ("inc-dec", "inc-dec"),
        ("0123456789abcdef" * 2, "data"),
        pytest.param("<module.submodule.myclass object at 0x1>", "myclass", id="an object"),
        (None, "Other"),
        (1, "Other"),
        (b"x-1", "x"),
    ],
)
def test_groups_of_keys_are_those_of_distributed(key: Any, group: str) -> None:
    # (here: workers import this file)
    from distributed.utils import key_split_group as of_distributed

    assert key_split_group(key) == group == of_distributed(key)


def test_a_long_list_of_records_shows_its_ends(client: Client) -> None:
    client.gather(client.map(abs, range(3), key="shown"))
    records = client.get_task_stream(count=3)
    first, *lines = repr(records).splitlines()
    assert first == "3 records (key, status, worker, start, time):" and len(lines) == 3
    assert all(re.search(r"shown.*  OK  +worker-\d  \d\d:\d\d:\d\d  .* s$", each) for each in lines)
    many = type(records)({**records[0], "key": f"<{number}>"} for number in range(100_000))
    first, *lines = repr(many).splitlines()
    assert first.startswith("100,000 records (") and lines[5] == "  … 99,990 more"
    assert [line.split()[0] for line in lines[:5] + lines[6:]] == [
        f"<{number}>" for number in (*range(5), *range(99_995, 100_000))
    ]
    page = many._repr_html_()
    assert page.count("<tr>") == 11 and "… 99,990 more" in page and "&lt;99999&gt;" in page
    assert repr(type(records)()) == "0 records"
    # Programs may take out of their rows what they like.
    bare = type(records)([{"key": "bare"}, {}, {**records[0], "startstops": None}])
    assert repr(bare).splitlines()[1].split() == ["bare"] and "bare" in bare._repr_html_()
    # For programs it is a list: of dictionaries, as ever.
    assert isinstance(records, list) and records == [*records] and type(records[0]) is dict
    assert pickle.loads(pickle.dumps(records)) == records
    with spanwise.get_task_stream() as stream:
        client.submit(abs, -3, pure=False).result()
    assert repr(stream.data).startswith("1 record (")


def test_records_become_yaml_as_any_list_does(client: Client) -> None:
    client.gather(client.map(abs, range(3), key="told"))
    records = client.get_task_stream(count=3)
    told = yaml.safe_load(yaml.safe_dump(records))
    assert [each["key"] for each in told] == [each["key"] for each in records] != []
    for dumper in (yaml.SafeDumper, yaml.Dumper, getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
        assert yaml.dump(records, Dumper=dumper) == yaml.dump([*records], Dumper=dumper)


def test_records_become_yaml_for_dumpers_that_knew_more_before() -> None:
    """Such a dumper has a table of its own, which later entries of its base do not reach."""
    program = """
import yaml
for dumper in (yaml.SafeDumper, yaml.Dumper):
    dumper.add_representer(complex, lambda d, x: d.represent_str(str(x)))
from spanwise.observed.record_list import RecordList
assert yaml.safe_dump(RecordList([{"key": "a"}])) == yaml.dump(RecordList([{"key": "a"}]))
"""
    subprocess.run([sys.executable, "-c", program], check=True)
