"""Cells, notebooks and scripts are spans by themselves."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from spanwise.graph.cells import CellTags, title_of
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.processes import LIMIT_SECONDS

kernels = pytest.importorskip("spanwise.tests.notebook_kernel")
#: A server and each kernel may take START_SECONDS to begin.
pytestmark = pytest.mark.timeout(900)
NotebookKernel = kernels.NotebookKernel

#: A span as its row of what :data:`TOLD` prints.
Row = dict[str, Any]

TOLD = """
import json
def told(all):
    print(json.dumps([
        {
            "id": each.id, "name": each.name, "path": each.path, "tag": each.tag,
            "parent": each.parent, "origin": each.origin, "own": each.own_tasks,
            "tasks": each.tasks, "ns": each.own_nanoseconds,
            "duration": each.duration, "closed": each.closed is not None,
            "code": [[frame["code"], frame["filename"], frame.get("cell")]
                     for stack in each.code for frame in stack],
        }
        for each in all
    ]))
"""
SETUP = f"""
import threading
import dask, spanwise
from spanwise import Client, span
{TOLD}
client = Client(n_workers=1, threads_per_worker=2)
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookKernel]:
    folder = tmp_path_factory.mktemp("jupyter")
    token = f"--IdentityProvider.token={kernels.TOKEN}"
    data = str(folder / "data")
    server = JupyterServer(folder, token, forks_kernels=True, JUPYTER_DATA_DIR=data)
    kernel = NotebookKernel(server, "analysis.ipynb")
    # (Jupyter may start its kernels by another name one day)
    assert psutil.Process(kernel.known_pid).ppid() != server.process.pid, "it is a fork"
    yield kernel
    kernel.close()
    server.close()


@pytest.fixture
def kernel(notebook: NotebookKernel) -> Iterator[NotebookKernel]:
    """A fresh one, in which the cell `setup` has made a client."""
    notebook.restart()
    assert notebook(SETUP, "setup") == ""
    yield notebook
    notebook("client.close()")


def spans_in(kernel: NotebookKernel, asked: str = "client.spans()") -> list[Row]:
    rows: list[Row] = json.loads(kernel(f"told({asked})", "told"))
    return rows


def below(rows: list[Row], tag: str) -> list[Row]:
    """The runs of the cells of this tag."""
    return [row for row in rows if row["tag"] == tag and row["origin"] == "cell"]


def test_each_run_of_a_cell_is_a_span_below_its_notebook(kernel: NotebookKernel) -> None:
    assert kernel("# load\none = client.submit(abs, -1); one.result()", "a") == "1"
    second = (
        "%%time\n\n# fit\nwith span('train', 'deep'):\n    print(client.submit(abs, -2).result())"
    )
    kernel(second, "b")
    # Run again, and edited and run again.
    kernel("# load\nclient.submit(abs, -3).result()", "a")
    kernel("# load all\nclient.submit(abs, -4).result()", "a")
    # Another cell that begins as one before.
    kernel("# load\nclient.submit(abs, -5).result()", "c")
    kernel("# load\n1 / 0 if client.submit(abs, -6).result() else None", "c")

    rows = spans_in(kernel)
    root = rows[0]
    assert (root["path"], root["name"], root["origin"]) == (["analysis.ipynb"], [], "notebook")
    assert root["own"] == 0 and not root["closed"] and root["tasks"] == 6
    cells = [row for row in rows if row["origin"] == "cell"]
    assert [(row["path"], row["own"], row["name"]) for row in cells] == [
        (["analysis.ipynb", "# load"], 1, []),
        (["analysis.ipynb", "# fit"], 0, []),
        (["analysis.ipynb", "# load"], 1, []),
        (["analysis.ipynb", "# load all"], 1, []),
        (["analysis.ipynb", "# load (2)"], 1, []),
        (["analysis.ipynb", "# load (2)"], 1, []),
    ]
    assert all(row["parent"] == root["id"] and row["closed"] for row in cells)
    assert len({row["id"] for row in rows}) == len(rows)
    code, number, cell = cells[1]["code"][0]
    assert code == second and number.startswith("In [") and cell == "b"
    assert len({each["code"][0][1] for each in cells}) == 6, "each run has its number"
    train, deep = [row for row in rows if row["origin"] == "user"]
    assert (train["name"], deep["name"]) == (["train"], ["train", "deep"])
    assert deep["path"] == ["analysis.ipynb", "# fit", "train", "deep"]
    assert train["parent"] == cells[1]["id"] and deep["parent"] == train["id"]
    assert deep["own"] == 1
    # Sums: of a cell all that is below it, and everything adds up to what ran.
    assert cells[1]["tasks"] == 1


def test_runs_of_one_cell_are_apart_by_what_its_tasks_say(kernel: NotebookKernel) -> None:
    """Each pass has its number and its own seconds, by stamps that its tasks took."""
    run = """# train
import json, time
from spanwise.tests.stamped_tasks import stamped
begin = time.perf_counter()
stamps = client.gather(client.map(stamped, [time.sleep] * 4, [{0}] * 4, range(4), pure=False))
print(json.dumps([len(In) - 1, sum(s.duration for s in stamps), time.perf_counter() - begin]))
"""
    # Run, edited, and run again; in between another cell runs.
    said = [json.loads(kernel(run.format(0.02), "t"))]
    kernel("# another\nclient.submit(abs, -1).result()", "a")
    said.append(json.loads(kernel(run.format(0.2), "t")))
    rows = json.loads(
        kernel("print(json.dumps(client._observed.query('summary')['spans']))", "told")
    )
    passes = [row for row in rows if row["path"][-1] == "# train"]
    assert [(row["execution"], row["cell"], row["tasks"]) for row in passes] == [
        (number, "t", 4) for number, *_ in said
    ]
    asked = """
def seconds(span):
    of = client.fine_metrics(span=span).by_activity("seconds", "execute")
    return sum(of.values())
print(json.dumps([seconds(each) for each in [*%r, ("analysis.ipynb", "# train")]]))
"""
    *each, both = json.loads(kernel(asked % [row["id"] for row in passes], "told"))
    for row, (_, least, took), filtered in zip(passes, said, each, strict=True):
        # Two threads ran them, in the time that the cell took.
        assert least <= row["threadSeconds"] <= 2 * took
        assert filtered == pytest.approx(row["threadSeconds"])
        assert row["opened"] <= row["firstStart"] <= row["lastStop"] <= row["closed"]
    assert both == pytest.approx(sum(each))
    assert passes[0]["closed"] <= passes[1]["opened"]


def test_what_a_program_asks_by_is_what_it_wrote(kernel: NotebookKernel) -> None:
    kernel("# own\nwith span('a', 'b') as b: client.submit(abs, -1).result()", "x")
    kernel("# other\nprint(client.submit(abs, -2).result(), dask.get_annotations())", "y")
    asked = """
def count(**of):
    return round(sum(client.fine_metrics(**of).by_function().values()), 9)
seconds = [count(span=each) for each in (("a", "b"), "b", b, ("analysis.ipynb", "# own"))]
assert seconds[0] > 0 and len(set(seconds)) == 1, seconds
both = count(span=("analysis.ipynb",))
assert both > seconds[0] and abs(both - count()) < 1e-9, (both, count())
assert count(span=("# own",)) == 0
assert [each["span"] for each in client.get_task_stream()] == [("a", "b"), ("default",)]
def inside():
    import dask
    return dask.get_annotations()
with span("c"):
    here = dask.get_annotations()["span"]
    assert here["name"] == ("c",) and len(here["ids"]) == 1, here
assert dask.get_annotations() == {} and client.submit(inside).result() == {}
print("right")
"""
    assert kernel(asked, "z") == "right\n"


def test_work_stays_with_the_cell_that_wrote_it(kernel: NotebookKernel) -> None:
    write = """# write
import dask.array as da
from dask import delayed
future = client.submit(abs, -1)
array = (da.arange(10, chunks=5) + 1).sum()
value = delayed(abs)(-3)
"""
    kernel(write, "w")
    kernel("# read\nfuture.result()", "r")
    kernel("# compute\narray.compute() + value.compute()", "c")
    rows = spans_in(kernel)
    assert below(rows, "# read") == []
    (written,) = below(rows, "# write")
    assert written["own"] >= 1 + 2 + 1, "the future, the chunks, and the delayed call"
    # What is computed in a span is of it, where it was written in none.
    kernel("# in a span\nwith span('mine'): array.compute()", "s")
    rows = spans_in(kernel)
    (mine,) = [row for row in rows if row["tag"] == "mine"]
    assert mine["own"] >= 2 and mine["path"][1] == "# in a span"
    assert below(rows, "# write")[0]["own"] == written["own"]
    filtered = "print(sum(row['span'] == ('default',) for row in client.get_task_stream()))"
    count = (
        "client.fine_metrics(span=('default',), unit='count')['execute', 'abs', 'compute', 'count']"
    )
    assert int(kernel(filtered)) == sum(row["own"] for row in rows) - mine["own"]
    assert float(kernel(count)) == 2
    # Written again, it is of the cell's newest run.
    kernel(write, "w")
    kernel("# compute\narray.compute()", "c")
    first, again = below(spans_in(kernel), "# write")
    assert first["own"] == written["own"] and again["own"] >= 2


def test_threads_and_coroutines_stay_with_their_cell(kernel: NotebookKernel) -> None:
    start = """# start
import asyncio
from concurrent.futures import ThreadPoolExecutor
go = threading.Event()
def work():
    client.submit(abs, -1).result()
    go.wait()
    client.submit(abs, -2).result()
    with span("late"): client.submit(abs, -3).result()
thread = threading.Thread(target=work)
thread.start()
pool = ThreadPoolExecutor(1)
pool.submit(lambda: client.submit(abs, -4).result()).result()
gate = asyncio.Event()
async def later():
    await gate.wait()
    return client.submit(abs, -5).result()
task = asyncio.ensure_future(later())
await asyncio.sleep(0)
"""
    kernel(start, "s")
    end = """# end
go.set()
thread.join()
gate.set()
await task
pool.submit(lambda: client.submit(abs, -6).result()).result()
"""
    kernel(end, "e")
    kernel("# after\nclient.submit(abs, -7).result()", "a")
    rows = spans_in(kernel)
    own = {tag: [row["own"] for row in below(rows, tag)] for tag in ("# start", "# end", "# after")}
    # (of the pool, which serves whoever asks, only what was asked for in the cell)
    assert own == {"# start": [4], "# end": [1], "# after": [1]}
    (late,) = [row for row in rows if row["tag"] == "late"]
    assert late["path"][1] == "# start" and late["own"] == 1


def test_sums_are_exact_and_a_magic_s_cell_is_within_its_own(kernel: NotebookKernel) -> None:
    kernel("%%capture\n# quiet\nclient.submit(abs, -1).result()", "q")
    inner = "get_ipython().run_cell('client.submit(abs, -2).result()')"
    kernel(f"{inner}; client.submit(abs, -3).result()", "n")
    kernel("get_ipython().run_cell('1', store_history=True)", "h")
    kernel("# last\nclient.gather(client.map(abs, range(20)))", "l")
    kernel("1 +", "wrong")
    rows = spans_in(kernel)
    own = [(row["tag"][:8], row["own"]) for row in rows if row["origin"] == "cell"]
    assert own == [("# quiet", 1), ("get_ipyt", 2), ("# last", 20)]
    # Whole nanoseconds, however they are divided among cells.
    (root,) = [row for row in rows if row["origin"] == "notebook"]
    assert sum(row["ns"] for row in rows) == round(root["duration"] * 1e9) > 0


def test_switched_off_nothing_is_a_root(kernel: NotebookKernel) -> None:
    off = "dask.config.set({'spanwise.spans.cells': %s})"
    kernel(f"# off\n{off % False}; client.submit(abs, -1).result()", "o")
    kernel("# none\nwith span('plain'): client.submit(abs, -2).result()", "p")
    kernel("# none\nclient.submit(abs, -3).result()", "p")
    rows = spans_in(kernel)
    # What is set in a cell holds from the next one on.
    assert [row["own"] for row in below(rows, "# off")] == [1]
    assert below(rows, "# none") == []
    (plain,) = [row for row in rows if row["tag"] == "plain"]
    assert plain["path"] == plain["name"] == ["plain"] and plain["parent"] is None
    (default,) = [row for row in rows if row["origin"] == "default"]
    assert default["name"] == ["default"] and default["own"] == 1
    kernel(off % True, "o")
    kernel("# on\nclient.submit(abs, -4).result()", "n")
    assert [row["own"] for row in below(spans_in(kernel), "# on")] == [1]


def test_observed_runs_have_cells_too(kernel: NotebookKernel) -> None:
    begin = """# begin
from dask import delayed
seen = spanwise.observe()
value = delayed(abs)(-1)
value.compute(scheduler="threads")
"""
    kernel(begin, "b")
    kernel("# again\nwith span('inner'): delayed(abs)(-2).compute(scheduler='sync')", "a")
    rows = spans_in(kernel, "seen.spans()")
    kernel("seen.close()")
    found = [(row["path"], row["own"]) for row in rows if row["own"]]
    assert found == [
        (["analysis.ipynb", "# begin"], 1),
        (["analysis.ipynb", "# again", "inner"], 1),
    ]
    (begun,) = below(rows, "# begin")
    assert begun["code"][0][0] == begin


SCRIPT = f"""
{textwrap.dedent(TOLD)}
import dask
from spanwise import Client, span
if __name__ == "__main__":
    dask.config.set({{"spanwise.spans.cells": %s}})
    with Client(n_workers=1, threads_per_worker=1) as client:
        client.submit(abs, -1).result()
        with span("load"):
            client.submit(abs, -2).result()
        told(client.spans())
"""


@pytest.mark.parametrize("is_on", [True, False])
def test_a_script_is_the_root_of_its_spans(tmp_path: Path, is_on: bool) -> None:
    file = tmp_path / "job.py"
    file.write_text(SCRIPT % is_on)
    told = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        # (a whole program, which imports all that it needs)
        timeout=3 * LIMIT_SECONDS,
    )
    rows = json.loads(told.stdout)
    found = [(row["path"], row["name"], row["own"], row["origin"]) for row in rows]
    if is_on:
        assert found == [
            (["job.py"], [], 1, "notebook"),
            (["job.py", "load"], ["load"], 1, "user"),
        ]
        assert rows[1]["parent"] == rows[0]["id"]
    else:
        assert found == [
            (["default"], ["default"], 1, "default"),
            (["load"], ["load"], 1, "user"),
        ]


@pytest.mark.parametrize(
    ("code", "title"),
    [
        ("x = 1\ny = 2", "x = 1"),
        ("\n  \n# Load the data\n", "# Load the data"),
        ("%%time\n!ls\n\nfit()", "fit()"),
        ("%matplotlib inline", "%matplotlib inline"),
        ("", "cell"),
        ("a" * 61, "a" * 59 + "…"),
        ("a" * 60, "a" * 60),
        (
            "import dask\nfrom os import (\n    path,\n    sep)\n\ntotal.compute()",
            "total.compute()",
        ),
        ("from os import path, \\\n    sep\nfit()", "fit()"),
        ("import dask  # :)\nfrom os import (\n    path,\n)\nfit()", "fit()"),
        ("import dask\nfrom os import path", "import dask"),
        ("@delayed\ndef load(n):\n    return n", "def load(n):"),
        ("@delayed(\n    nout=2\n)\ndef load(n):\n    return n", "def load(n):"),
        ("@delayed", "@delayed"),
        ("import dask\n# Load\nload()", "# Load"),
        ("(\nfit()\n)", "("),
        ("important = 1", "important = 1"),
    ],
)
def test_a_cell_is_called_by_its_first_line_that_says_what_it_does(code: str, title: str) -> None:
    assert title_of(code) == title


def test_cells_that_begin_alike_are_bounded() -> None:
    tags = CellTags()
    first = [tags.of("# load", f"a{n}") for n in range(1_002)]
    assert first[0] == "# load" and first[999] == "# load (1000)"
    assert first[1_000:] == ["# load (more than 1,000)"] * 2
    # Those that have a number keep it.
    assert tags.of("# load", "a7") == "# load (8)"
    for n in range(50_000):
        tags.of(f"# step {n // 10}", f"b{n}")
    assert tags.kept <= 20_000
    # The newest are known still, and what was not run for long begins anew.
    assert tags.of("# step 4999", "b49999") == "# step 4999 (10)"
    assert tags.of("# load", "a7") == "# load"
