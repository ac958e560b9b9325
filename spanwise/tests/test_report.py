"""``performance_report``: the sections of its file, their figures, and when it is written."""

from __future__ import annotations

import asyncio
import base64
import errno
import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

from spanwise import Client, MemorySampler, get_task_stream, performance_report, span
from spanwise.observed import report_page
from spanwise.observed.page_file import Page
from spanwise.observed.profiles import Profile
from spanwise.observed.questions import FineMetrics
from spanwise.observed.span_info import SpanInfo
from spanwise.tests.test_profile import wait_for_rest

EVIL = "</script><img src=x onerror=alert(1)>\u202e"
TITLES = [
    "Summary",
    "Calling Code",
    "Task Stream",
    "Fine Performance Metrics by function",
    "Fine Performance Metrics by activity",
    "Idle time by cause",
    "Background",
    "Spans",
    "Workers’ profile",
    "Workers’ own profile",
    "Scheduler’s profile",
    "Bandwidth by workers",
    "Bandwidth by types",
    "System",
    "Memory",
    "Memory runs",
    "Scheduler’s log",
    "Workers’ logs",
]

Section = dict[str, Any]


def sections_of(html: str) -> dict[str, Section]:
    """What a file shows, by the titles of its sections."""
    (packed,) = re.findall(r'<script type="text/plain" id="content">(.*?)</script>', html)
    content = json.loads(gzip.decompress(base64.b64decode(packed)))
    return {each["title"]: each for each in content["sections"]}


def read(path: Path) -> dict[str, Section]:
    return sections_of(path.read_text("utf-8"))


def values(section: Section) -> list[tuple[Any, ...]]:
    return [tuple(cell["value"] for cell in row) for row in section["rows"]]


WHERE_NOTHING_IS_WRITTEN: dict[str, tuple[Any, type[Exception]]] = {
    "no path": (3, TypeError),
    "a folder": (".", IsADirectoryError),
    "in no folder": ("nope/x.html", FileNotFoundError),
    "in a file": ("file/x.html", FileNotFoundError),
}


@pytest.mark.parametrize("where", WHERE_NOTHING_IS_WRITTEN)
def test_where_nothing_can_be_written_is_told_before_the_block(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    filename, error = WHERE_NOTHING_IS_WRITTEN[where]
    for make in (
        lambda: performance_report(filename),
        lambda: get_task_stream(plot="save", filename=filename),
    ):
        with pytest.raises(error) as caught, make():
            pytest.fail("the block began")
        if isinstance(caught.value, OSError):
            assert caught.value.filename == filename
    with pytest.raises(error):
        Page({"title": "x", "facts": [], "sections": []}).save(filename)


def test_a_path_that_is_an_address_is_left_to_fsspec(client: Client) -> None:
    fsspec = pytest.importorskip("fsspec")

    class Address:
        def __fspath__(self) -> str:
            return "memory://reports/x.html"

    with performance_report(Address()):
        pass
    assert b"<html" in fsspec.filesystem("memory").cat("/reports/x.html")


def test_an_error_of_writing_names_the_path_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "another name")

    monkeypatch.setattr(Path, "write_bytes", full)
    file = tmp_path / "x.html"
    with pytest.raises(OSError, match="No space left") as caught:
        Page({"title": "x", "facts": [], "sections": []}).save(file)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(file))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


def spin(seconds: float) -> float:
    import time

    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return seconds


def move(client: Client) -> None:
    """Have each worker fetch 8 MB of the other."""
    one, two = client.nthreads()
    arrays = [client.submit(np.ones, 1_000_000, workers=[at], pure=False) for at in (one, two)]
    sums = [
        client.submit(np.sum, array, workers=[at], pure=False)
        for array, at in zip(arrays, (two, one), strict=True)
    ]
    client.gather(sums)


def test_every_figure_is_that_of_the_api(client: Client, tmp_path: Path) -> None:
    move(client)  # (before the block: none of that is in it)
    sampler = MemorySampler()
    with performance_report(tmp_path / "report.html") as report:
        with span("reported"), sampler.sample("sampled"):
            client.gather(client.map(spin, [0.2, 0.21]))
        move(client)
        # (a look that is still to come would add samples to the block's last second)
        wait_for_rest(client)
    start, stop = report.start, report.stop
    assert start is not None and stop is not None
    sections = read(tmp_path / "report.html")
    assert list(sections) == TITLES
    records = client.get_task_stream(start, stop)
    facts = dict(values(sections["Summary"]))
    assert facts["Duration"] == stop - start
    assert facts["Task runs"] == len(records) == 6
    ended = [facts[f"{how} task runs"] for how in ("Failed", "Cancelled", "Lost")]
    assert ended == [0, 0, 0]
    assert (facts["Workers"], facts["Threads"]) == (2, 2)
    assert facts["Memory limit"] == client.scheduler_info()["total_memory"]
    assert facts["dask version"] == dask.__version__
    for action, seconds in report_page.seconds_by_action(records).items():
        assert facts[action] == seconds
    # Of the picture, each box is a part of a record.
    stream = sections["Task Stream"]
    assert stream["records"]["key"] == [str(each["key"]) for each in records]
    lanes = [{"worker": f"worker-{number}", "thread": 0} for number in (0, 1)]
    assert stream["lanes"] == lanes
    assert stream["boxes"]["held"] == [
        int(part["held"]) for each in records for part in each["startstops"]
    ]
    boxes = zip(*(stream["boxes"][name] for name in ("record", "start", "duration")), strict=True)
    parts = [(n, part) for n, each in enumerate(records) for part in each["startstops"]]
    for (record, since, seconds), (number, part) in zip(boxes, parts, strict=True):
        assert record == number
        assert since == pytest.approx(part["start"] - start, abs=1e-6)
        assert seconds == pytest.approx(part["stop"] - part["start"], abs=1e-8)

    metrics = client.fine_metrics(start=start, stop=stop)
    of_runs = {key: value for key, value in metrics.items() if key[0] == "execute"}
    functions = dict(values(sections["Fine Performance Metrics by function"]))
    assert functions == pytest.approx(FineMetrics(of_runs, {}).by_function(), rel=1e-12)
    activities = {
        row[:2]: row[2] for row in values(sections["Fine Performance Metrics by activity"])
    }
    own = FineMetrics(of_runs, {})
    for unit in ("seconds", "bytes", "count"):
        for activity, value in own.by_activity(unit).items():
            # Of what was off a core the causes stand beside the rest.
            causes = ("core", "gil", "blocked") if activity == "thread-noncpu" else ()
            shown_value = sum(activities.get((each, unit), 0) for each in (activity, *causes))
            assert shown_value == pytest.approx(value, rel=1e-9)
    off_core = metrics.by_activity(context="noncpu")
    for cause in ("core", "gil", "blocked"):
        assert activities.get((cause, "seconds"), 0) == off_core.get(cause, 0)
    idle = {key[2]: value for key, value in metrics.items() if key[0] == "idle" and value}
    assert dict(values(sections["Idle time by cause"])) == pytest.approx(idle, rel=1e-12)
    infos = {each.tag: each for each in client.spans()}
    shown = {row[0]: row for row in values(sections["Spans"])}
    assert shown["reported"][1:4] == (2, 0, infos["reported"].duration)

    profile = Profile(sections["Workers’ profile"]["result"]).tree()
    assert profile == client.profile(start=start, stop=stop)
    found = client.bandwidth(start, stop)
    assert values(sections["Bandwidth by workers"]) == [
        tuple(each[name] for name in ("source", "destination", "bandwidth", "bytes", "count"))
        for each in found["workers"]
    ]
    assert len(found["workers"]) == 2
    assert dict(values(sections["Bandwidth by types"])) == found["types"]
    (run,) = values(sections["Memory runs"])
    curve = [nbytes for _, nbytes in sampler.samples["sampled"]]
    assert run[:3] == ("sampled", "process", len(curve))
    assert run[3:6] == (curve[0], curve[-1], max(curve))
    assert {row[0] for row in values(sections["Memory"])} >= {"worker-0", "worker-1"}
    # (as the API has it since: the row in which the block ends may have come in two)
    monitor = client.system_monitor(start, stop)
    system = sections["System"]
    names = [cell["value"] for cell in system["lines"]]
    assert names == list(monitor) and set(monitor) == {"scheduler", *client.nthreads()}
    charts = {chart["title"]: chart for chart in system["charts"]}
    for title, figure in (
        ("CPU", "cpu"),
        ("Resident memory", "memory"),
        ("Descriptors", "num_fds"),
    ):
        for line in charts[title]["lines"]:
            told = monitor[names[line["line"]]]
            shown = len(line["t"])
            assert shown >= 1
            assert line["value"] == told[figure][:shown]
            assert line["span"] == pytest.approx(told["seconds"][:shown], abs=1e-6)
            assert line["t"] == pytest.approx([t - start for t in told["time"]][:shown], abs=1e-5)
    # All processes are on one host: it is shown once.
    assert len(charts["Sent by the host"]["lines"]) == 1
    cpu = {row[0]: row[1] for row in values(system)}
    for name, told in monitor.items():
        assert cpu[name] is not None and max(told["cpu"]) + 1e-6 >= cpu[name] >= 0
    (chart,) = sections["Memory"]["charts"]
    for line, row in zip(chart["lines"], values(sections["Memory"]), strict=True):
        known = [value for value in line["value"] if value is not None]
        assert (min(known), max(known), known[-1]) == row[1:]
    (chart,) = sections["Memory runs"]["charts"]
    assert chart["lines"][0]["value"] == curve
    assert "Spanwise scheduler, build" in sections["Scheduler’s log"]["text"]


def test_only_the_block_counts(client: Client, tmp_path: Path) -> None:
    client.submit(spin, 0.05, key="before").result()
    with performance_report(tmp_path / "report.html"):
        client.submit(spin, 0.05, key="within").result()
    client.submit(spin, 0.05, key="after").result()
    assert read(tmp_path / "report.html")["Task Stream"]["records"]["key"] == ["within"]


def test_q12_an_empty_block_says_why_it_has_nothing(client: Client, tmp_path: Path) -> None:
    with performance_report(tmp_path / "report.html"):
        pass
    sections = read(tmp_path / "report.html")
    assert list(sections) == TITLES
    assert sections["Task Stream"]["missing"] == report_page.NO_TASKS
    for title in ("Bandwidth by workers", "Bandwidth by types", "Memory runs"):
        assert sections[title]["missing"]
        assert sections[title]["rows"] == []


def test_it_is_written_when_the_body_raises(client: Client, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), performance_report(tmp_path / "report.html"):
        client.submit(spin, 0.01, key="within-raised").result()
        raise ZeroDivisionError
    records = read(tmp_path / "report.html")["Task Stream"]["records"]
    assert records["key"] == ["within-raised"]


def test_a_file_that_cannot_be_written_is_told_beside_the_bodys_error(
    client: Client, tmp_path: Path
) -> None:
    # (one that is not there at the begin is told then)
    nowhere = tmp_path / "none" / "report.html"
    nowhere.parent.mkdir()
    with pytest.raises(FileNotFoundError) as told, performance_report(nowhere) as report:
        nowhere.parent.rmdir()
    assert told.value.filename == str(nowhere)
    assert report.page is not None
    assert "page.save" in told.value.__notes__[0]
    nowhere.parent.mkdir()
    with pytest.raises(ZeroDivisionError) as caught, performance_report(nowhere):
        nowhere.parent.rmdir()
        raise ZeroDivisionError
    assert "report.html is not written" in caught.value.__notes__[0]


def test_code_is_the_blocks_or_its_callers(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "report.html"

    def block(level: int) -> None:
        with performance_report(path, stacklevel=level):
            assert "the block's own line"

    def caller(level: int) -> None:
        assert "the caller's line"
        block(level)

    def code(level: int) -> str:
        caller(level)
        return str(read(path)["Calling Code"]["text"])

    assert all("the block's own line" in code(level) for level in (1, 0, -3))
    assert "the caller's line" in code(2)
    assert code(10_000) == "<Code not available>"


def test_q13_names_and_code_are_text(client: Client, tmp_path: Path) -> None:
    def evil() -> None:
        spin(0.05)

    evil.__name__ = EVIL
    with performance_report(tmp_path / "report.html"), span(EVIL):
        client.submit(evil, key=f"x{EVIL}").result()  # </script><b>of the code</b>
    html = (tmp_path / "report.html").read_text("utf-8")
    assert EVIL not in html
    assert "<b>of the code" not in html
    assert "<b>of the code" in sections_of(html)["Calling Code"]["text"]
    assert f"x{EVIL}" in sections_of(html)["Task Stream"]["records"]["key"]
    assert EVIL in [row[0] for row in values(sections_of(html)["Spans"])]


def test_of_an_asynchronous_client_and_compressed(tmp_path: Path) -> None:
    async def all_of_it() -> None:
        async with (
            Client(n_workers=1, threads_per_worker=1, asynchronous=True) as client,
            performance_report(str(tmp_path / "report.html.gz"), mode="cdn"),
        ):
            await client.submit(spin, 0.01, key="awaited")

    asyncio.run(all_of_it())
    sections = sections_of(gzip.decompress((tmp_path / "report.html.gz").read_bytes()).decode())
    assert sections["Task Stream"]["records"]["key"] == ["awaited"]
    assert "async def all_of_it" in sections["Calling Code"]["text"]


def test_a_page_that_was_there_stays_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page({"title": "x", "facts": [], "sections": []})
    file, link = tmp_path / "report.html", tmp_path / "link.html"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)

    def break_off(path: Path, content: bytes) -> int:
        with path.open("wb") as opened:
            opened.write(content[:10])
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "write_bytes", break_off)
        with pytest.raises(OSError, match="full"):
            page.save(link)
    assert file.read_text() == "before"
    assert {*tmp_path.iterdir()} == {file, link}
    page.save(str(link))
    assert file.read_text("utf-8") == page.to_html() and link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert {*tmp_path.iterdir()} == {file, link}
    with pytest.raises(IsADirectoryError):
        page.save(tmp_path)


def test_through_fsspec(client: Client) -> None:
    import fsspec

    with performance_report("memory://reports/report.html"):
        pass
    html = fsspec.filesystem("memory").cat("/reports/report.html").decode()
    assert list(sections_of(html)) == TITLES


def test_without_recording_each_section_says_so(tmp_path: Path) -> None:
    with (
        dask.config.set({"spanwise.recording": False}),
        Client(n_workers=1, threads_per_worker=1),
        performance_report(tmp_path / "report.html"),
    ):
        pass
    sections = read(tmp_path / "report.html")
    assert list(sections) == TITLES
    for title in TITLES[2:-2]:
        if title not in ("Workers’ own profile", "Scheduler’s profile"):
            assert "nothing was recorded" in sections[title]["missing"]


# -- of drawn records ------------------------------------------------------


def record(number: int, seconds: float, lane: int | None = 0) -> dict[str, Any]:
    part = {
        "action": "compute",
        "start": 100.0 + number,
        "stop": 100.0 + number + seconds,
        "function": f"f{number % 40}",
        "held": True,
    }
    return {
        "key": f"inc-{number * 2654435761 % 2**32:08x}{number * 40503 % 2**32:08x}{number:016x}",
        "name": part["function"],
        "worker_name": f"worker-{number % 4}",
        "lane": lane,
        "beside": None,
        "status": "OK",
        "startstops": [part],
    }


def test_of_too_many_tasks_the_longest_are_drawn() -> None:
    most = report_page.MOST_RECORDS
    records = [record(n, 1.0 if n % 2 else 0.5) for n in range(2 * most)]
    section = report_page.task_stream([*records, record(0, 0, None)], 100.0, 1e5, {"f1": (3, 1)})
    assert section["records"]["key"] == [each["key"] for each in records[1::2]]
    assert set(section["boxes"]["duration"]) == {1.0}
    assert section["left"] == {"of": 2 * most, "seconds": most * 0.5}
    assert "tasks that were lost without a run (1)" in section["note"]
    assert {"name": "f1", "slot": 3, "round": 1} in section["functions"]
    size = len(Page({"title": "x", "facts": [], "sections": [section]}).to_html())
    assert size < 3_000_000


def test_a_picture_of_as_many_parts_as_may_be_is_a_small_file() -> None:
    """Each task has moved, read, opened, computed and stored, at times that no task shares."""
    chance = random.Random(5)
    actions = ("transfer", "disk-read", "deserialize", "compute", "serialize")
    records = []
    for number in range(report_page.MOST_RECORDS):
        made = record(number, 0.0)
        start = 100.0 + 1000 * chance.random()
        parts = []
        for action in actions:
            stop = start + chance.random()
            parts.append(made["startstops"][0] | {"action": action, "start": start, "stop": stop})
            parts[-1]["held"] = chance.random() < 0.5
            start = stop
        records.append(made | {"startstops": parts})
    section = report_page.task_stream(records, 100.0, 1e5, {})
    assert len(section["boxes"]["held"]) == 5 * report_page.MOST_RECORDS
    size = len(Page({"title": "x", "facts": [], "sections": [section]}).to_html())
    assert size < 3_000_000


@pytest.mark.parametrize(
    "cell", [report_page.seconds, report_page.nbytes, report_page.count], ids=lambda of: of.__name__
)
def test_what_is_not_known_is_no_number(cell: Callable[[Any], dict[str, Any]]) -> None:
    for unknown in (None, float("nan"), float("inf")):
        assert cell(unknown)["value"] is None
    assert cell(2)["value"] == 2


def kinds(section: Section) -> list[tuple[str, ...]]:
    """What cells are of, by which the page has words and units for them."""
    return [tuple(cell.get("as", "") for cell in row) for row in section["rows"]]


def test_what_is_left_out_of_a_section_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_page, "_MOST_ROWS", 2)
    monkeypatch.setattr(report_page, "_MOST_CHARACTERS", 4)
    rows = [[report_page.word(letter)] for letter in "abc"]
    whole = report_page.table("t", "Name|#Value", rows[:2], "nothing", "A note.")
    assert (values(whole), whole["note"], whole["missing"]) == ([("a",), ("b",)], "A note.", "")
    assert whole["columns"] == [
        {"name": "Name", "numeric": False},
        {"name": "Value", "numeric": True},
    ]
    cut = report_page.table("t", "Name", rows, "nothing", "A note.")
    assert values(cut) == values(whole)
    assert cut["note"] == "A note. The first 2 of 3 rows."
    assert report_page.table("t", "Name", [], "nothing")["missing"] == "nothing"
    short, long = (report_page.text("t", "x" * size, "nothing") for size in (4, 5))
    assert (short["text"], short["note"], short["missing"]) == ("xxxx", "", "")
    assert (long["text"], long["note"]) == ("xxxx", "The first 4 characters of 5.")
    (none,) = report_page.unanswered(["t"], OSError("it is gone."))
    assert (none["text"], none["missing"]) == ("", "the cluster has not answered (it is gone)")


def test_of_a_picture_each_box_is_where_it_belongs() -> None:
    """Of two lanes and two functions, the second drawn before the first."""
    records = [
        {
            "key": f"k{number}",
            "name": parts[-1][3],
            "worker_name": worker,
            "lane": lane,
            "beside": ("seceded", 1) if worker == "b" else None,
            "status": status,
            "startstops": [
                {
                    "action": action,
                    "start": start,
                    "stop": start + seconds,
                    "function": function,
                    "held": action != "transfer",
                }
                for action, start, seconds, function in parts
            ],
        }
        for number, (worker, lane, status, parts) in enumerate(
            [
                ("b", 1, "OK", [("transfer", 101.0, 0.5, "g"), ("compute", 102.0, 3.0, "g")]),
                ("a", 7, "error", [("compute", 104.0, 0.25, "f"), ("strange", 105.0, 2.0, "g")]),
            ]
        )
    ]
    section = report_page.task_stream(records, 100.0, 9.0, {"f": (4, 2)})
    assert "left" not in section
    assert section["seconds"] == 9.0 and section["missing"] == section["note"] == ""
    assert section["lanes"] == [
        {"worker": "a", "thread": 7},
        {"worker": "b", "thread": 1, "beside": ("seceded", 1)},
    ]
    assert section["functions"] == [
        {"name": "g", "slot": -1, "round": 0},
        {"name": "f", "slot": 4, "round": 2},
    ]
    assert section["records"] == {
        "key": ["k0", "k1"],
        "lane": [1, 0],
        "function": [0, 0],
        "status": ["ok", "failed"],
    }
    compute, transfer = (section["actions"].index(each) for each in ("compute", "transfer"))
    assert section["boxes"] == {
        "record": [0, 0, 1, 1],
        "start": [1.0, 2.0, 4.0, 5.0],
        "duration": [0.5, 3.0, 0.25, 2.0],
        "function": [0, 0, 1, 0],
        "action": [transfer, compute, compute, -1],
        "held": [0, 1, 1, 1],
    }
    # Their seconds are in the summary.
    (summary,) = report_page.summary(9.0, records, [("Fact", report_page.word("x"))])
    assert values(summary) == [
        ("Duration", 9.0),
        ("Task runs", 2),
        ("compute", 3.25),
        ("strange", 2.0),
        ("transfer", 0.5),
        ("Fact", "x"),
    ]
    (unknown,) = report_page.summary(9.0, None, [])
    assert values(unknown) == [("Duration", 9.0)]


def test_a_picture_has_no_more_parts_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [record(number, seconds) for number, seconds in enumerate((3.0, 2.0, 5.0))]
    for each in records:
        each["startstops"] *= 2
    # The longest is drawn, however many parts it has; what is drawn is in its order.
    for most, drawn, left in ((1, (2,), 10.0), (4, (0, 2), 4.0), (6, (0, 1, 2), None)):
        monkeypatch.setattr(report_page, "_MOST_PARTS", most)
        section = report_page.task_stream(records, 100.0, 9.0, {})
        assert section["records"]["key"] == [records[number]["key"] for number in drawn]
        told = None if left is None else {"of": 3, "seconds": left}
        assert section.get("left") == told


def test_the_longest_are_those_that_took_most_of_their_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = [record(number, seconds) for number, seconds in enumerate((1.0, 2.0, 3.0))]
    fetched = {"action": "transfer", "stop": 190.0, "held": False}
    records[0]["startstops"].append(records[0]["startstops"][0] | fetched)
    monkeypatch.setattr(report_page, "MOST_RECORDS", 2)
    section = report_page.task_stream(records, 100.0, 9.0, {})
    assert section["records"]["key"] == [records[number]["key"] for number in (1, 2)]
    assert section["left"] == {"of": 3, "seconds": 1.0}


def test_of_what_is_known_whole_no_rest_is_told() -> None:
    parts = dict.fromkeys(("core", "gil", "blocked"), 0.1)
    whole = sum(parts.values())
    assert whole - 0.1 - 0.1 - 0.1 > 0.0, "as sums of fractions are"
    off_core = {("noncpu", "f", cause, "seconds"): value for cause, value in parts.items()}
    metrics = FineMetrics({("execute", "f", "thread-noncpu", "seconds"): whole, **off_core}, {})
    _, activities, *_ = report_page.fine_metrics(metrics)
    assert {row[0]: row[2] for row in values(activities)} == parts


def test_figures_are_parted_into_those_of_tasks_idle_time_and_the_rest() -> None:
    entries: dict[tuple[str, str, Any, str], float] = {
        ("execute", "f", "thread-cpu", "seconds"): 2.0,
        ("execute", "f", "disk-read", "bytes"): 2048.0,
        ("execute", "f", "thread-noncpu", "seconds"): 48.0,
        ("execute", "g", "thread-cpu", "seconds"): 1.0,
        ("execute", "g", ("own", 1), "seconds"): 4.0,
        ("execute", "g", "blocked", "seconds"): 0.125,
        ("execute", "g", "nothing", "seconds"): 0.0,
        ("execute", "g", "hits", "count"): 3.0,
        ("execute", "g", "full", "ratio"): 0.25,
        ("execute", "N/A", "idle or other spans", "seconds"): 64.0,
        ("idle", "", "paused", "seconds"): 8.0,
        ("idle", "", "scheduler", "seconds"): 16.0,
        ("idle", "", "stopped", "seconds"): 0.0,
        ("noncpu", "f", "gil", "seconds"): 32.0,
        ("gather-dep", "", "network", "seconds"): 128.0,
        ("get-data", "h", "network", "seconds"): 0.5,
        ("background", "h", "transfer", "seconds"): 0.25,
    }
    summary = {"notes": ["One.", "Two."], "byFunction": [{"function": "f", "slot": 5, "round": 1}]}
    metrics = FineMetrics(entries, summary)
    functions, activities, idle, background = report_page.fine_metrics(metrics)
    assert values(functions) == [("f", 50.0), ("g", 5.125)]
    assert functions["note"] == "One. Two."
    assert values(activities) == [
        ("gil", "seconds", 32.0),
        ("thread-noncpu", "seconds", 16.0),
        ("('own', 1)", "seconds", 4.0),
        ("thread-cpu", "seconds", 3.0),
        ("blocked", "seconds", 0.125),
        ("disk-read", "bytes", 2048.0),
        ("hits", "count", 3.0),
        ("full", "ratio", 0.25),
    ]
    units = [*["seconds"] * 5, "bytes", "count", "amount"]
    assert [row[2] for row in kinds(activities)] == units
    assert [row[0] for row in kinds(activities)] == ["activity"] * 5 + ["activity of amount"] * 3
    _, of_dask, *_ = report_page.fine_metrics(FineMetrics(entries, {"account": "told"}))
    assert [row[0] for row in kinds(of_dask)][:6] == ["activity told"] * 5 + ["activity of amount"]
    assert kinds(idle) == [("cause", "seconds")] * 2
    assert kinds(background) == [
        ("context", "", "moved", "", "seconds"),
        ("context of transfer", "", "moved", "", "seconds"),
    ]
    assert values(idle) == [("scheduler", 16.0), ("paused", 8.0)]
    assert values(background) == [
        ("get-data", "h", "network", "seconds", 0.5),
        ("background", "h", "transfer", "seconds", 0.25),
    ]
    assert report_page.slots_of(metrics) == {"f": (5, 1)}
    empty = report_page.fine_metrics(FineMetrics({}, {}))
    assert [each["title"] for each in empty] == list(report_page.FINE_TITLES)
    assert all(each["missing"] for each in empty)


def span_of(id: str, begin: float | None, end: float | None, **other: Any) -> SpanInfo:
    fields: dict[str, Any] = {"parent": None, "children": (), "running": 0, **other}
    for name in ("number", "tasks", "failed", "duration", "transfer", "own_tasks"):
        fields.setdefault(name, 0)
    for name in ("own_nanoseconds", "exact", "inferred", "opened"):
        fields.setdefault(name, 0)
    for name in ("cpu", "idle", "closed"):
        fields.setdefault(name, None)
    return SpanInfo(id=id, name=("above", id), origin="user", start=begin, stop=end, **fields)


def test_spans_are_those_that_were_active_below_their_parents() -> None:
    infos = [
        span_of("root", 5.0, 40.0, children=("early", "within"), tasks=7, failed=2),
        span_of("early", 5.0, 9.0, parent="root"),
        span_of(
            "within",
            12.0,
            13.0,
            parent="root",
            duration=3.0,
            cpu=2.0,
            transfer=1.0,
            idle=0.5,
            nbytes_total=4096,
        ),
        span_of("late", 20.0, 30.0),
        span_of("runs", 3.0, 4.0, running=1),
        span_of("unused", None, None),
        span_of("open", 11.0, None),
        span_of("until the begin", 3.0, 10.0),
    ]
    section = report_page.spans(infos, 10.0, 20.0)
    assert [row[0] for row in values(section)] == [
        "root",
        "within",
        "runs",
        "open",
        "until the begin",
    ]
    assert section["depths"] == [0, 1, 0, 0, 0]
    assert values(section)[0][1:3] == (7, 2)
    assert values(section)[1][3:] == (3.0, 2.0, 1.0, 0.5, 4096)


def test_bandwidths_and_memory_are_under_their_names() -> None:
    pair = {"source": "a", "destination": "b", "bandwidth": 2048.0, "bytes": 10, "count": 3}
    workers, types = report_page.bandwidth({"workers": [pair], "types": {"int": 1024.0}})
    assert values(workers) == [("a", "b", 2048.0, 10, 3)]
    assert kinds(workers)[0][2:] == ("bytes/s", "bytes", "count")
    assert values(types) == [("int", 1024.0)]
    run = {"label": "x", "measure": "process", "samples": 4, "first": 1, "last": 2, "peak": 3}
    run |= {"mean": 2.5, "t": [15, 16], "bytes": [2048, None]}
    answer = {
        "series": [
            {"name": "worker-0", "t": [9, 11, 12, 13, 14], "bytes": [None, 5, 9, 2, None]},
            {"name": "worker-1", "t": [10], "bytes": [None]},
        ],
        "runs": [
            {**run, "start": 15.0, "stopped": None},
            {**run, "start": 3.0, "stopped": 10.0, "label": "until the begin"},
            {**run, "start": 3.0, "stopped": 9.0, "label": "before"},
            {**run, "start": 20.0, "stopped": None, "label": "after"},
        ],
    }
    processes, runs = report_page.memory(answer, 10.0, 20.0)
    assert values(processes) == [("worker-0", 2, 9, 2)]
    assert values(runs) == [
        ("x", "process", 4, 1, 2, 3, 2.5),
        ("until the begin", "process", 4, 1, 2, 3, 2.5),
    ]
    (chart,) = processes["charts"]
    assert processes["lines"] == [report_page.word(f"worker-{n}", "worker") for n in (0, 1)]
    assert processes["seconds"] == 10.0
    assert chart["lines"][0] == {"line": 0, "t": [-1, 1, 2, 3, 4], "value": [None, 5, 9, 2, None]}
    # (a label is the user's, whatever it reads like)
    assert runs["lines"] == [report_page.word(each) for each in ("x", "until the begin")]
    (chart,) = runs["charts"]
    assert chart["as"] == "bytes"


def test_processes_and_hosts_are_under_their_names() -> None:
    def process(cpu: list[float | None], fds: int) -> dict[str, list[Any]]:
        rates = ("disk_io", "host_disk_io", "host_net_io")
        return {
            "time": [100.5, 102.5],
            "seconds": [0.5, 2.0],
            "cpu": cpu,
            "memory": [2048.0, 1024.0],
            "num_fds": [fds, None],
            **{f"{name}.{way}_bps": [8.0, 64.0] for name in rates for way in ("read", "write")},
            "host_disk_io.read_bps": [None, None],
        }

    found = {
        "scheduler": process([1.0, 1.0], 3),
        "tcp://a": process([100.0, None], 4),
        "tcp://b": process([100.0, 50.0], 5),
    }
    hosts = {"scheduler": "here", "tcp://a": "here", "tcp://b": "there"}
    (section,) = report_page.system(found, 100.0, 3.0, hosts)
    moved = 0.5 * 8 + 2 * 64
    assert values(section) == [
        ("scheduler", 1.0, 1.0, 2048.0, moved, moved, 3),
        ("tcp://a", 100.0, 100.0, 2048.0, moved, moved, 4),
        ("tcp://b", 60.0, 100.0, 2048.0, moved, moved, 5),
    ]
    charts = {chart["title"]: chart for chart in section["charts"]}
    # (of what no system tells there is no chart)
    assert "Read from the host’s disks" not in charts
    assert charts["CPU"]["lines"][1] == {
        "line": 1,
        "t": [0.5, 2.5],
        "value": [100.0, None],
        "span": [0.5, 2.0],
    }
    assert {line["line"] for line in charts["Sent by the host"]["lines"]} == {0, 2}
    assert charts["Resident memory"]["as"] == "bytes"
    assert charts["Written to disk"]["as"] == "bytes/s"
    (none,) = report_page.system({}, 100.0, 3.0, {})
    assert none["missing"] and none["charts"] == []


def test_logs_are_cut_for_each_that_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_page, "MOST_LINES", 2)
    lines = [("INFO", "newest"), ("ERROR", "before"), ("INFO", "oldest")]
    assert report_page.scheduler_log(lines)["text"] == "newest\nbefore"
    logs = {"tcp://a": lines, "tcp://b": lines[:1]}
    assert report_page.worker_logs(logs)["text"].split("\n") == [
        "tcp://a  INFO  newest",
        "tcp://a  ERROR  before",
        "tcp://b  INFO  newest",
    ]
    assert report_page.worker_logs({"tcp://a": []})["missing"]
