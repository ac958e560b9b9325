"""``performance_report``: the sections of its file, their figures, and when it is written."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

from spanwise import Client, MemorySampler, performance_report, span
from spanwise.observed import report_page
from spanwise.observed.page_file import Page
from spanwise.observed.profiles import Profile
from spanwise.observed.questions import FineMetrics
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
    "Bandwidth by workers",
    "Bandwidth by types",
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
    assert facts["Tasks"] == len(records) == 6
    assert (facts["Tasks error"], facts["Workers"], facts["Threads"]) == (0, 2, 2)
    assert facts["dask version"] == dask.__version__
    for action, seconds in report_page.seconds_by_action(records).items():
        assert facts[f"{action} time"] == seconds
    # Of the picture, each box is a part of a record.
    stream = sections["Task Stream"]
    assert stream["records"]["key"] == [str(each["key"]) for each in records]
    assert stream["lanes"] == ["worker-0 · thread 0", "worker-1 · thread 0"]
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
            assert activities.get((activity, unit), 0) == pytest.approx(value, rel=1e-12)
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
    assert "Spanwise scheduler, build" in sections["Scheduler’s log"]["text"]


def test_only_the_block_counts(client: Client, tmp_path: Path) -> None:
    client.submit(spin, 0.05, key="before").result()
    with performance_report(tmp_path / "report.html"):
        client.submit(spin, 0.05, key="within").result()
    client.submit(spin, 0.05, key="after").result()
    assert read(tmp_path / "report.html")["Task Stream"]["records"]["key"] == ["within"]


def test_an_empty_block_says_why_it_has_nothing(client: Client, tmp_path: Path) -> None:
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
    nowhere = tmp_path / "none" / "report.html"
    with pytest.raises(FileNotFoundError), performance_report(nowhere):
        pass
    with pytest.raises(ZeroDivisionError) as caught, performance_report(nowhere):
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


def test_names_are_text(client: Client, tmp_path: Path) -> None:
    def evil() -> None:
        spin(0.05)

    evil.__name__ = EVIL
    with performance_report(tmp_path / "report.html"), span(EVIL):
        client.submit(evil, key=f"x{EVIL}").result()
    html = (tmp_path / "report.html").read_text("utf-8")
    assert EVIL not in html
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
        if title != "Workers’ own profile":
            assert "nothing was recorded" in sections[title]["missing"]


# -- of drawn records ------------------------------------------------------


def record(number: int, seconds: float, lane: int | None = 0) -> dict[str, Any]:
    part = {
        "action": "compute",
        "start": 100.0 + number,
        "stop": 100.0 + number + seconds,
        "function": f"f{number % 40}",
    }
    return {
        "key": f"inc-{number * 2654435761 % 2**32:08x}{number * 40503 % 2**32:08x}{number:016x}",
        "worker_name": f"worker-{number % 4}",
        "lane": lane,
        "status": "OK",
        "startstops": [part],
    }


def test_of_too_many_tasks_the_longest_are_drawn() -> None:
    most = report_page.MOST_RECORDS
    records = [record(n, 1.0 if n % 2 else 0.5) for n in range(2 * most)]
    section = report_page.task_stream([*records, record(0, 0, None)], 100.0, 1e5, {"f1": 3})
    assert section["records"]["key"] == [each["key"] for each in records[1::2]]
    assert set(section["boxes"]["duration"]) == {1.0}
    assert f"{most:,} tasks that took longest, of {2 * most:,}" in section["note"]
    assert "1 tasks that were lost without a run" in section["note"]
    assert {"name": "f1", "slot": 3} in section["functions"]
    size = len(Page({"title": "x", "facts": [], "sections": [section]}).to_html())
    assert size < 3_000_000


@pytest.mark.parametrize(
    "cell", [report_page.seconds, report_page.nbytes, report_page.count], ids=lambda of: of.__name__
)
def test_what_is_not_known_is_no_number(cell: Callable[[Any], dict[str, Any]]) -> None:
    for unknown in (None, float("nan"), float("inf")):
        assert cell(unknown) == {"text": "–", "value": None}
    assert cell(2)["value"] == 2
