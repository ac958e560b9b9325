"""``Client.profile``: the tree on real clusters, what it is of, its pages and its file."""

from __future__ import annotations

import asyncio
import base64
import gzip
import importlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import spanwise
from spanwise import Client, span, wait
from spanwise.errors import ClusterError
from spanwise.observed import questions
from spanwise.observed.profiles import Profile, ProfilePages, empty_tree
from spanwise.observed.questions import Questions
from spanwise.tests.processes import wait_until

#: The thread time of a sample, unless a setting says otherwise.
INTERVAL = 0.01
#: The states of a second.
ACTIVITY = ("onCore", "waiting", "gil", "blocked")
EVIL = "</script><img src=x onerror=alert(1)>"

Node = dict[str, Any]


def innermost(until: float) -> None:
    while time.thread_time() < until:
        pass


def outer(seconds: float) -> None:
    """Compute so long, in a function that it calls."""
    innermost(time.thread_time() + seconds)


def another(seconds: float) -> None:
    innermost(time.thread_time() + seconds)


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node["children"].values():
        yield from walk(child)


def hold(nbytes: int) -> Any:
    return np.ones(nbytes // 8)


def first_of(array: Any) -> float:
    return float(array[0])


def test_what_a_worker_reads_back_for_tasks_has_the_time_that_fine_metrics_tell() -> None:
    """Results beyond the memory that they may take: each task of a later round reads its input."""
    alone = dask.config.set({"spanwise.worker.import-ahead": False})
    with alone, Client(n_workers=1, threads_per_worker=1, memory_limit="300MB") as client:
        held = [client.submit(hold, 16_000_000, pure=False) for _ in range(25)]
        wait(held)
        deadline = time.monotonic() + 60
        read = 0.0
        # (a share of so many samples is told to within a tenth or so)
        while read < 4.0 and time.monotonic() < deadline:
            wait(client.map(first_of, held, pure=False))
            seconds = {
                activity: value
                for (context, function, activity, unit), value in client.fine_metrics().items()
                if function == "first_of" and unit == "seconds" and context == "execute"
            }
            read = seconds["disk-read"] + seconds["deserialize"]
        tree = client.profile(key="first_of")
        sent = client.fine_metrics()["report", "", "serialize", "seconds"]
    counts = {
        name: sum(node["count"] for node in walk(tree) if _name(node) == name)
        for name in (
            "(disk-read)",
            "(deserialize)",
            "(disk-write)",
            "(serialize)",
            "(worker)",
            "first_of",
            "unlink",
        )
    }
    # Older results make room for those that are read.
    written = seconds["disk-write"] + seconds.get("serialize", 0.0)
    of_writing = counts["(disk-write)"] + counts["(serialize)"]
    whole = sum(seconds.values())
    of_runs = tree["count"] - counts["(worker)"]
    assert of_writing / of_runs == pytest.approx(written / whole, abs=0.2)
    shares = {name: count / (of_runs - of_writing) for name, count in counts.items()}
    share = read / (whole - written)
    # Files are removed once they are read, which is a part of reading: 0.96 to 0.99 in 15 runs,
    # with up to six busy loops beside them on two cores; were it computing, 0.74 to 0.76 in 8.
    assert share > 0.85
    assert shares["(disk-read)"] + shares["(deserialize)"] == pytest.approx(share, abs=0.2)
    # The tasks themselves take hardly any time, and get none for what looks were due in before
    # them.
    assert counts["(worker)"] * INTERVAL < sent + 4 * (0.1 * sent) ** 0.5 + 0.1 * whole
    assert shares["first_of"] < 1 - share + 0.1
    assert shares["unlink"] == 0


def sleep_stamped(seconds: float) -> float:
    begin = time.perf_counter()
    time.sleep(seconds)
    return time.perf_counter() - begin


def test_where_memory_is_short_each_function_has_its_own_time() -> None:
    """What one of them writes and reads back is not given to another; stamps in tasks say so."""
    threads = 2
    alone = dask.config.set({"spanwise.worker.import-ahead": False})
    with (
        alone,
        Client(n_workers=1, threads_per_worker=threads, memory_limit="300MB") as client,
    ):
        stamped = client.gather(client.map(sleep_stamped, [0.3] * 8, pure=False))
        held = [client.submit(hold, 16_000_000, pure=False) for _ in range(25)]
        for _ in range(2):
            reading = client.map(first_of, held, pure=False)
            stamped += client.gather(client.map(sleep_stamped, [0.3] * 6, pure=False))
            wait(reading)
        metrics = client.fine_metrics()
        client.profile()  # (who asks so is told of all until now)
        profile = client._observed.query("profile", params={"groupBy": "function"})
    spilled: dict[str, float] = {}
    pressed = 0.0
    for (context, function, activity, unit), value in metrics.items():
        if unit != "seconds" or context != "execute" or activity == "transfer":
            continue
        if function in ("hold", "first_of"):
            spilled[activity] = spilled.get(activity, 0.0) + value
            pressed += value
    assert spilled["disk-write"] > 0.0
    assert spilled["disk-read"] > 0.0
    nodes, rate = profile["nodes"], profile["rateHz"]
    assert rate == 1 / INTERVAL
    found = {
        name: n / rate
        for name, n, parent in zip(nodes["name"], nodes["n"], nodes["parent"], strict=True)
        if parent == 0
    }
    # (They are longer than looks are apart: chance has no part in their time.)
    imported = sum(
        value
        for (context, function, activity, unit), value in metrics.items()
        if function == "sleep_stamped" and unit == "seconds" and context == "execute"
        if not activity.startswith("thread")
    )
    assert found["sleep_stamped"] == pytest.approx(sum(stamped), rel=0.1, abs=imported + 0.1)
    # The others are so short that one look in ten may fall on them: four standard errors of it.
    chance = 4 * (0.1 * pressed) ** 0.5
    assert found["hold"] + found["first_of"] == pytest.approx(pressed, rel=0.1, abs=chance)
    # No second has more than there are threads.
    activity = profile["activity"]
    for counts in zip(*(activity[state] for state in ACTIVITY), strict=True):
        assert sum(counts) / rate <= threads + 0.05


SLOW_MODULE = """
import time
begin = time.perf_counter()
until = time.thread_time() + 0.4
while time.thread_time() < until:
    pass
import {name}_inside
seconds = time.perf_counter() - begin

def number(*_):
    return seconds

class Opened:
    def __getstate__(self):
        return 1

    def __setstate__(self, state):
        begin = time.perf_counter()
        import {name}_lately
        self.imported = seconds + time.perf_counter() - begin
        until = time.perf_counter() + 0.4
        while time.perf_counter() < until:
            pass
"""


@pytest.fixture
def slow_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Modules that take some 0.8 s to import, each with half of it in another one."""
    names = [f"slow_4713_{number}" for number in range(4)]
    for name in names:
        (tmp_path / f"{name}.py").write_text(SLOW_MODULE.format(name=name))
        for inner in ("inside", "lately"):
            (tmp_path / f"{name}_{inner}.py").write_text("import time\ntime.sleep(0.4)\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield [importlib.import_module(name) for name in names]
    for name in names:
        for each in (name, f"{name}_inside", f"{name}_lately"):
            sys.modules.pop(each, None)


def test_what_is_imported_and_opened_before_a_task_is_called_so(slow_modules: list[Any]) -> None:
    """Whatever is unpickled imports: functions, arguments, code that cloudpickle sends."""
    of_function, of_argument, of_code, awaited = slow_modules
    # (the task shall import them)
    alone = dask.config.set({"spanwise.worker.import-ahead": False})
    with alone, Client(n_workers=1, threads_per_worker=2) as client:
        took = [client.submit(of_function.number).result(timeout=60)]
        # ... which is opened in 0.4 s, after a module that its class imports only then.
        opened = client.submit(lambda opened: opened.imported, of_argument.Opened())
        took.append(opened.result(timeout=60))
        took.append(client.submit(lambda: of_code.seconds).result(timeout=60))
        # Of two threads one imports, and the other waits for it.
        one, _ = client.gather(client.map(awaited.number, range(2), pure=False))
        took += [one, one]
        sums = client.fine_metrics(unit="seconds").by_activity(context="execute")
        tree = client.profile()
    top = {_name(node): node for node in tree["children"].values()}
    found = {name: node["count"] * INTERVAL for name, node in top.items()}
    # By the modules' own clocks.
    imported = sum(took)
    assert sums["import"] == pytest.approx(imported, rel=0.1)
    assert found["(import)"] == pytest.approx(imported, rel=0.1)
    assert 0.4 <= sums["deserialize"] < 0.7
    assert found["(deserialize)"] == pytest.approx(sums["deserialize"], abs=0.2)
    # What others' code does in it is below it, and there are no others.
    assert set(map(_name, top["(deserialize)"]["children"].values())) <= {"__setstate__"}
    assert set(map(_name, top["(import)"]["children"].values())) == {"<module>"}
    others = set(found) - {"(import)", "(deserialize)"}
    assert sum(found[name] for name in others) < 0.1


def _name(node: Node) -> str:
    name: str = node["description"]["name"]
    return name


def named(tree: Node, name: str) -> Node:
    (found,) = [node for node in walk(tree) if node["description"]["name"] == name]
    return found


def is_resting(dask_worker: Any) -> bool:
    """Whether the worker's sampler has nothing to look at: all samples are counted by then."""
    return bool(dask_worker._worker.watch.parked)


def wait_for_rest(client: Client) -> None:
    wait_until("workers to rest", lambda: all(client.run(is_resting).values()))


@pytest.fixture
def ran(tasks_of_two: Client) -> Client:
    wait_for_rest(tasks_of_two)
    return tasks_of_two


@pytest.fixture(scope="module")
def tasks_of_two(cluster: Client) -> Client:
    """A client whose first worker ran `outer` in a span, and its second `another`."""
    one, two = cluster.nthreads()
    with span("profiled"):
        futures = [cluster.submit(outer, 0.3, key=f"outer-{n}", workers=[one]) for n in range(3)]
    futures += [cluster.submit(another, 0.3, key=f"another-{n}", workers=[two]) for n in range(2)]
    cluster.gather(futures)
    return cluster


def held(client: Client, name: str) -> float:
    """Seconds for which tasks held threads, reading their functions included."""
    records = [each for each in client.get_task_stream() if each["name"] == name]
    parts = [part for each in records for part in each["startstops"]]
    return sum(part["stop"] - part["start"] for part in parts)


def test_a_tree_of_functions_as_distributeds(ran: Client) -> None:
    tree = ran.profile()
    assert {**tree, "count": 0, "children": {}} == empty_tree()
    for node in walk(tree):
        assert set(node) == {"identifier", "description", "count", "children"}
        assert set(node["description"]) == {"filename", "name", "line_number", "line"}
        assert node["count"] >= sum(child["count"] for child in node["children"].values())
        assert all(key == child["identifier"] for key, child in node["children"].items())
    # All samples are of some function.
    assert tree["count"] == sum(child["count"] for child in tree["children"].values())
    called = named(tree, "outer")
    line = outer.__code__.co_firstlineno
    assert called["identifier"] == f"outer;{outer.__code__.co_filename};{line}"
    assert called["description"] == {
        "filename": outer.__code__.co_filename,
        "name": "outer",
        "line_number": line,
        "line": "def outer(seconds: float) -> None:\n",
    }


def test_q04_the_innermost_function_is_counted(ran: Client) -> None:
    called = named(ran.profile(key="outer"), "outer")
    (inside,) = called["children"].values()
    assert inside["description"]["name"] == "innermost"
    # It computes all the time.
    assert inside["count"] > 0.8 * called["count"] > 0


def test_q06_what_ran_just_now_is_there(ran: Client) -> None:
    before = ran.profile(key="soon")["count"]
    ran.submit(outer, 0.1, key="soon-1").result()
    assert before == 0 < ran.profile(key="soon")["count"]


def test_samples_are_the_time_of_threads(ran: Client) -> None:
    # However late looks come, each stands for all that were due by then, up to a second.
    seconds = held(ran, "outer")
    counted = ran.profile(key="outer")["count"] * INTERVAL
    assert 0.5 * seconds < counted < 1.1 * seconds + 0.1


def test_what_it_is_of(ran: Client) -> None:
    one, two = ran.nthreads()
    whole = ran.profile()
    of_one, of_two = ran.profile(key="outer"), ran.profile(key="another")
    assert of_one["count"] > 0 < of_two["count"]
    assert "another" not in [node["description"]["name"] for node in walk(of_one)]
    assert ran.profile(span="profiled")["count"] == of_one["count"]
    assert ran.profile(key="another", span="profiled") == empty_tree()
    assert ran.profile(key="nobody's") == empty_tree()
    # By worker, of one, of both, of nobody; those passed over are not there.
    by_worker = ran.profile(merge_workers=False)
    assert set(by_worker) == {one, two}
    assert by_worker[one]["count"] + by_worker[two]["count"] == whole["count"]
    for address, tree in by_worker.items():
        assert ran.profile(workers=address) == tree == ran.profile(workers=[address])
        assert ran.profile(workers=[address], merge_workers=False) == {address: tree}
    assert "another" not in [node["description"]["name"] for node in walk(by_worker[one])]
    assert ran.profile(workers=[]) == empty_tree()
    assert ran.profile(workers=["tcp://nobody:1"]) == empty_tree()
    assert ran.profile(workers=["tcp://nobody:1"], merge_workers=False) == {}
    # A worker without samples is there too.
    unseen = ran.profile(key="outer", merge_workers=False)
    assert unseen == {one: of_one, two: empty_tree()}


def test_of_a_time(ran: Client) -> None:
    whole = ran.profile()
    assert ran.profile(start=0, stop=time.time() + 3600) == whole
    assert ran.profile(start="1 h") == whole
    assert ran.profile(start=time.time() + 3600) == empty_tree()
    assert ran.profile(stop="1 h") == empty_tree()
    # Whole seconds count, all that the range touches.
    records = [each for each in ran.get_task_stream() if each["name"] == "outer"]
    first = min(part["start"] for each in records for part in each["startstops"])
    last = max(part["stop"] for each in records for part in each["startstops"])
    assert ran.profile(key="outer", start=first, stop=last) == ran.profile(key="outer")
    assert ran.profile(key="outer", start=last + 1) == empty_tree()


def test_q08_a_worker_that_is_gone_has_its_samples_under_its_address() -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        (before,) = client.nthreads()
        client.submit(outer, 0.2, key="outer-1").result()
        wait_for_rest(client)
        tree = client.profile(key="outer")
        assert tree["count"] > 0
        os.kill(client.run(os.getpid)[before], signal.SIGKILL)
        wait_until("another worker", lambda: {*client.nthreads()} - {before})
        wait_until("the end of the first", lambda: before not in client.nthreads())
        (now,) = client.nthreads()
        after = client.profile(key="outer", merge_workers=False)
        assert after == {before: tree, now: empty_tree()}


def content_of(html: str) -> Any:
    """What a page shows."""
    (packed,) = re.findall(r'<script type="text/plain" id="content">(.*?)</script>', html)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_a_notebook_shows_the_page_of_a_pair(
    ran: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for pair in (
        ran.profile(plot=True),
        ran.profile(filename="profile.html"),
        ran.get_task_stream(plot="save"),
    ):
        found, page = pair
        assert isinstance(pair, tuple) and pair == (found, page)
        assert pair._repr_html_() == page._repr_html_()


def test_a_file_holds_what_the_tree_has(
    ran: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tree, page = ran.profile(key="outer", filename="of-outer.html")
    assert tree == ran.profile(key="outer")
    html = Path("of-outer.html").read_text("utf-8")
    assert html == page.to_html()
    content = content_of(html)
    (section,) = content["sections"]
    assert section["missing"] == "" and section["kind"] == "profile"
    assert Profile(section["result"]).tree() == tree
    assert ["Key", "outer"] in content["facts"] and ["Of", ran.name] in content["facts"]
    # It may reach nobody.
    assert "default-src 'none'" in html
    assert "://" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert [each.name for each in tmp_path.iterdir()] == ["of-outer.html"]
    tree, page = ran.profile(plot=True)
    assert [each.name for each in tmp_path.iterdir()] == ["of-outer.html"]
    (framed,) = re.findall(r'srcdoc="(.*?)"', page._repr_html_(), re.DOTALL)
    assert unescape(framed) == page.to_html()
    assert ran.profile(plot="save")[0] == tree
    assert content_of(Path("dask-profile.html").read_text("utf-8"))["title"] == "Profile"


def test_a_file_without_samples_says_why(ran: Client, tmp_path: Path) -> None:
    tree, _ = ran.profile(key="nobody's", filename=tmp_path / "none.html")
    assert tree == empty_tree()
    (section,) = content_of((tmp_path / "none.html").read_text("utf-8"))["sections"]
    assert section["missing"].startswith("no task was seen running")


def test_names_are_text(ran: Client, tmp_path: Path) -> None:
    def evil() -> None:
        outer(0.1)

    evil.__code__ = evil.__code__.replace(co_name=EVIL, co_qualname=EVIL, co_filename=EVIL)
    with span(EVIL):
        ran.submit(evil, key=f"x{EVIL}-1").result()
    tree, _ = ran.profile(span=EVIL, filename=tmp_path / "evil.html")
    assert EVIL in [node["description"]["filename"] for node in walk(tree)]
    html = (tmp_path / "evil.html").read_text("utf-8")
    assert EVIL not in html
    assert ["Span", EVIL] in content_of(html)["facts"]


def test_files_that_never_end_are_not_read(ran: Client) -> None:
    def endless() -> None:
        outer(0.1)

    endless.__code__ = endless.__code__.replace(co_filename="/dev/zero")
    ran.submit(endless, key="endless-1").result()
    found = named(ran.profile(key="endless"), "endless")
    assert (found["description"]["filename"], found["description"]["line"]) == ("/dev/zero", "")


def test_of_an_asynchronous_client(tmp_path: Path) -> None:
    async def all_of_it() -> None:
        async with Client(n_workers=1, threads_per_worker=1, asynchronous=True) as client:
            await client.submit(outer, 0.1, key="outer-1")
            tree = await client.profile(key="outer")
            assert tree["count"] > 0
            assert await client.profile(key="outer", filename=tmp_path / "x.html")
            assert (tmp_path / "x.html").exists()

    asyncio.run(all_of_it())


def test_without_recording_there_is_nothing_to_ask() -> None:
    with (
        dask.config.set({"spanwise.recording": False}),
        Client(n_workers=1, threads_per_worker=1) as client,
        pytest.raises(ClusterError, match="nothing was recorded"),
    ):
        client.profile()


def test_of_an_observation(tmp_path: Path) -> None:
    with spanwise.observe("profiled") as seen:
        dask.delayed(outer)(0.2, dask_key_name="outer-1").compute(scheduler="threads")
        tree = seen.profile(key="outer")
        assert named(tree, "innermost")["count"] > 0
        # (the look after the end of a task may give it a sample more)
        later, _ = seen.profile(key="outer", filename=tmp_path / "x.html")
        assert later["count"] >= tree["count"]
        (section,) = content_of((tmp_path / "x.html").read_text("utf-8"))["sections"]
        assert Profile(section["result"]).tree() == later


# -- pages, without a cluster ----------------------------------------------


def page(names: list[tuple[int, str, int]], next_: int | None, first: int = 0) -> dict[str, Any]:
    """A page with these nodes: parent, name, samples."""
    zeros = [0] * len(names)
    return {
        "samples": 5,
        "rateHz": None,
        "nodes": {
            "parent": [parent for parent, _, _ in names],
            "name": [name for _, name, _ in names],
            "file": ["" if parent < 0 else "a.py" for parent, _, _ in names],
            "line": zeros,
            "n": [n for _, _, n in names],
            **dict.fromkeys(("onCore", "waiting", "gil", "blocked", "slot"), zeros),
        },
        "page": {"next": next_, "first": first, "end": 7, "sampleSeconds": 0.01},
    }


class Asked(Questions):
    """Answers with pages; keeps the params."""

    def __init__(self, pages: list[dict[str, Any]]) -> None:
        class Log:
            cluster_id, wall_epoch = "x", 0.0

            def flush(self) -> int:
                return 3

        super().__init__(Log(), lambda: None)
        self.params: list[dict[str, Any]] = []
        self.left = list(pages)

    def query(self, view: str, filter: Any, time: Any, params: Any, after: Any) -> Any:  # type: ignore[override]
        assert (view, time, after) == ("profile", "all", 3)
        self.params.append(params)
        return self.left.pop(0)


def test_pages_are_put_together() -> None:
    asked = Asked([page([(-1, "all", 5), (0, "f", 5)], 2), page([(1, "g", 2), (0, "h", 0)], None)])
    tree = asked.profile().tree()
    assert [(node["description"]["name"], node["count"]) for node in walk(tree)] == [
        ("", 5),
        ("f", 5),
        ("g", 2),
        ("h", 0),
    ]
    assert [each.get("after") for each in asked.params] == [0, 2]
    assert asked.params[1]["end"] == 7


def test_pages_of_different_trees_are_asked_for_again() -> None:
    old, new = page([(-1, "all", 5), (0, "f", 5)], 2), page([(1, "g", 2)], None, first=65536)
    whole = page([(-1, "all", 1)], None, first=65536)
    asked = Asked([old, new, whole])
    assert asked.profile().tree()["count"] == 1
    assert [each["after"] for each in asked.params] == [0, 2, 0]
    asked = Asked([old, new] * questions._MOST_READINGS)
    with pytest.raises(ClusterError, match="drops old samples"):
        asked.profile()


@pytest.mark.parametrize(
    "broken",
    [
        lambda answer: answer["page"].update(next=1),
        lambda answer: answer.update(page=None),
        lambda answer: answer["nodes"].pop("gil"),
        lambda answer: answer["nodes"]["name"].pop(),
        lambda answer: answer.pop("nodes"),
    ],
    ids=["circle", "no page", "no column", "short column", "no nodes"],
)
def test_a_page_that_cannot_be_read_is_the_observers_fault(
    broken: Callable[[dict[str, Any]], object],
) -> None:
    answer = page([(-1, "all", 5), (0, "f", 5)], 2)
    broken(answer)
    with pytest.raises(ClusterError, match="cannot be read"):
        Asked([answer] * 2).profile()


def test_functions_of_one_name_and_place_are_one() -> None:
    pages = ProfilePages()
    pages.add(page([(-1, "all", 5), (0, "A.f", 3), (1, "g", 1), (0, "B.f", 2), (3, "g", 1)], None))
    tree = pages.whole().tree()
    (merged,) = tree["children"].values()
    (inside,) = merged["children"].values()
    assert (merged["count"], inside["count"]) == (5, 2)
