"""The profile of the scheduler's own process."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest

from spanwise import Client, performance_report
from spanwise.observed.profiles import SWITCHED_OFF, Profile, empty_tree
from spanwise.observed.scheduler_profile import SchedulerProfile
from spanwise.tests.test_profile import content_of, walk

INTERVAL = 0.01
#: CPU of the scheduler's thread: some hundred samples.
ENOUGH_SECONDS = 1.0
LIMIT_SECONDS = 120.0


def double(value: int) -> int:
    return 2 * value


def names_in(tree: dict[str, Any]) -> set[str]:
    return {node["description"]["name"] for node in walk(tree)}


def thread_times(pid: int) -> tuple[float, float]:
    """Seconds for which the process's main thread was on a core, and waited for one."""
    on_core, waiting, _ = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()
    return int(on_core) * 1e-9, int(waiting) * 1e-9


def keep_busy(client: Client) -> tuple[float, float]:
    """Send it graphs until it has used enough of a core; what it used, and waited for a core."""
    pid = scheduler_pid(client)
    core, waited = thread_times(pid)
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        client.gather(client.map(double, range(5_000), pure=False))
        used = thread_times(pid)[0] - core
        if used > ENOUGH_SECONDS:
            return used, thread_times(pid)[1] - waited
    raise AssertionError(f"the scheduler has used {used:.2f} s in {LIMIT_SECONDS} s")


def until_shown(client: Client, since: float | None) -> None:
    """Send it graphs until its profile shows what takes them in."""
    end = time.monotonic() + LIMIT_SECONDS
    while "translateSubmit" not in names_in(client.profile(scheduler=True, start=since)):
        assert time.monotonic() < end, "the profile never shows translateSubmit"
        client.gather(client.map(double, range(2_000), pure=False))


def scheduler_pid(client: Client) -> int:
    """The process whose children are the workers."""
    parents: set[int] = set(client.run(os.getppid).values())
    (pid,) = parents
    return pid


@pytest.fixture(scope="module")
def own() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1) as client:
        yield client


@pytest.mark.skipif(sys.platform != "linux", reason="times of threads")
def test_q05_q06_q07_a_busy_scheduler_shows_its_functions(own: Client, tmp_path: Path) -> None:
    asked = time.time()
    first = own.profile(scheduler=True)
    # It begins with the question, and says so.
    assert asked - 1 < first["since"] < time.time() + 1
    # each interval is there, just now's too. (V8 counts a thread that waits for a core,
    # unless the thread that looks waits as well: then once more. What the system does while
    # messages are read is rest to it.)
    end, before = time.monotonic() + LIMIT_SECONDS, first["count"]
    while True:
        used, waited = keep_busy(own)
        tree = own.profile(scheduler=True)
        counted, before = (tree["count"] - before) * INTERVAL, tree["count"]
        assert counted < 1.2 * (used + waited) + 0.5, (counted, used, waited)
        if counted > 0.4 * used:
            break
        assert time.monotonic() < end, (counted, used, waited)
    # (some hundred looks need not have met it)
    until_shown(own, None)
    tree = own.profile(scheduler=True)
    assert tree["since"] == first["since"]
    files = {node["description"]["filename"] for node in walk(tree)}
    assert any(file.endswith("scheduler.cjs") for file in files)
    assert "translateSubmit" in names_in(tree)
    # nothing of tasks, nor the other way round.
    assert "double" not in names_in(tree)
    assert "translateSubmit" not in names_in(own.profile())
    assert own.profile(scheduler=True, start=time.time() + 3600) == {
        **empty_tree(),
        "since": first["since"],
    }
    found, _ = own.profile(scheduler=True, filename=tmp_path / "x.html")
    content = content_of((tmp_path / "x.html").read_text("utf-8"))
    (section,) = content["sections"]
    assert section["result"]["samples"] == found["count"] >= tree["count"]
    assert "Samples since" in dict(content["facts"])


def test_a_scheduler_has_no_keys(own: Client) -> None:
    for given in ({"key": "double"}, {"span": "x"}, {"workers": []}):
        with pytest.raises(ValueError, match="are of tasks"):
            own.profile(scheduler=True, **given)


@pytest.mark.skipif(sys.platform != "linux", reason="times of threads")
def test_by_a_setting_it_begins_with_the_scheduler() -> None:
    with (
        dask.config.set({"spanwise.scheduler.profile": True}),
        Client(n_workers=1, threads_per_worker=1) as client,
    ):
        client.gather(client.map(double, range(10), pure=False))
        asked = time.time()
        # (without the setting the first question begins it)
        assert client.profile(scheduler=True)["since"] < asked
        until_shown(client, None)


def test_a_report_has_the_same_and_does_not_begin_it(tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        for _ in range(2):
            with performance_report(tmp_path / "before.html") as report:
                client.gather(client.map(double, range(500), pure=False))
            assert "is not looked at" in section_of(report)["missing"]
        since = client.profile(scheduler=True)["since"]
        # (no report, nor anything else, had it begun before)
        assert since > report.stop
        with performance_report(tmp_path / "report.html") as report:
            until_shown(client, report.start)
        section = section_of(report)
        shown = Profile(section["result"]).tree()
        found = client.profile(scheduler=True, start=report.start, stop=report.stop)
    assert "note" not in section
    assert "translateSubmit" in names_in(shown)
    # What it does in the rest of its last second belongs to that second too.
    assert 0 <= found["count"] - shown["count"] <= 2 / INTERVAL
    counts = counts_of(found)
    for path, count in counts_of(shown).items():
        assert count <= counts[path]


def counts_of(node: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    own = (*path, node["identifier"])
    found = {own: node["count"]}
    for child in node["children"].values():
        found.update(counts_of(child, own))
    return found


def section_of(report: performance_report) -> dict[str, Any]:
    assert report.page is not None
    sections = report.page.content["sections"]
    (section,) = (each for each in sections if each["title"] == "Scheduler’s profile")
    return dict(section)


def test_a_report_says_from_when_on_the_scheduler_is_looked_at(tmp_path: Path) -> None:
    with (
        Client(n_workers=1, threads_per_worker=1) as client,
        performance_report(tmp_path / "report.html") as report,
    ):
        since = client.profile(scheduler=True)["since"]
        client.gather(client.map(double, range(5_000)))
    section = section_of(report)
    begun = since - (report.start or 0.0)
    assert section["missing"] or f"{begun:.1f} s after" in section["note"]


def test_switched_off_it_says_so() -> None:
    with (
        dask.config.set({"spanwise.worker.profile.enabled": False}),
        Client(n_workers=1, threads_per_worker=1) as client,
    ):
        tree, page = client.profile(scheduler=True, plot=True)
        assert tree == {**empty_tree(), "since": None}
        assert page.content["sections"][0]["missing"] == SWITCHED_OFF


def test_seconds_that_a_range_touches_count() -> None:
    told = SchedulerProfile(
        json.dumps(
            {
                "interval": INTERVAL,
                "since": 9.5,
                "why": "",
                "frames": [["f", "/a.mjs", 1], ["g", "/a.mjs", 2]],
                "parents": [-1, 0, 1],
                "frameOf": [-1, 0, 1],
                "buckets": [[10, [1, 2, 2, 3]], [12, [2, 4]]],
            }
        ).encode()
    )
    whole = told.between(0, 20).tree()
    assert [(node["description"]["name"], node["count"]) for node in walk(whole)] == [
        ("", 9),
        ("f", 9),
        ("g", 7),
    ]
    for start, stop, count in ((10.9, 11, 5), (11, 11.9, 0), (11, 12, 4), (0, 10, 5)):
        assert told.between(start, stop).tree()["count"] == count
    assert "first question" in told.between(11, 11.9).missing
