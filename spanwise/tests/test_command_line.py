"""``spanwise scheduler``, ``worker`` and ``observer``, as shells start them: real processes."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from spanwise import Client, get_worker
from spanwise.client import launch
from spanwise.command import worker
from spanwise.command.main import main
from spanwise.command.options import REFUSED
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.processes.process_state import lives
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.shell import Command

PAGE = CHECKOUT / "docs" / "command-line.md"
Start = Callable[..., Command]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Command] = []

    def made(*arguments: Any, **given: Any) -> Command:
        started.append(Command(*arguments, **given))
        return started[-1]

    yield made
    for each in reversed(started):
        each.close()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A scheduler with one worker of its own: its file and its address."""
    file = tmp_path_factory.mktemp("shared") / "cluster.json"
    made = Command(
        "scheduler", "--scheduler-file", file, "--nworkers", 1, "--nthreads", 1, "--port", 0
    )
    address = re.findall(r" at (\S+) ", made.line("Cluster scheduler at"))[0]
    yield file, address
    code, said = made.end(signal.SIGTERM)
    assert code == 0 and "has ended: SIGTERM" in said and not file.exists()


def by_name(client: Client) -> dict[Any, int]:
    info = client.scheduler_info(n_workers=-1)
    return {each["name"]: each["pid"] for each in info["workers"].values()}


# -- the page ----------------------------------------------------------------


def sections() -> dict[str, list[tuple[str, str]]]:
    """By title, the blocks of each section that has code: their language and content."""
    if not PAGE.exists():
        return {}
    found = {}
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]:
        blocks = re.findall(r"^```(bash|python)\n(.*?)^```", part, re.DOTALL | re.MULTILINE)
        if blocks:
            found[part.partition("\n")[0]] = blocks
    return found


_PYTHON = """
import sys
from spanwise.tests.test_moving import run
assert run(sys.argv[1], {"__name__": "__main__"}) > 0
"""


@pytest.mark.parametrize("title", sections())
def test_a_section_of_the_page_does_what_it_says(title: str, start: Start, tmp_path: Path) -> None:
    for language, content in sections()[title]:
        if language == "python":
            subprocess.run(
                [sys.executable, "-c", _PYTHON, content], cwd=tmp_path, check=True, timeout=120
            )
            continue
        for line in content.splitlines():
            program, *arguments = shlex.split(line.removesuffix("&"))
            assert program == "spanwise"
            command = start(*arguments, folder=tmp_path)
            if line.endswith("&"):
                command.line("Ctrl-C")
            else:
                code, said = command.end()
                assert code == 0, said


def test_the_page_lists_every_option(capsys: pytest.CaptureFixture[str], checkout: Path) -> None:
    page = (checkout / "docs" / "command-line.md").read_text("utf-8")
    for command in ("scheduler", "worker", "observer", "doctor"):
        assert f"`spanwise {command}`" in page
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        for option in re.findall(r"--[a-z-]+", capsys.readouterr().out):
            assert option in page or option in ("--help", "--nanny"), option


# -- scheduler and workers ---------------------------------------------------


def test_workers_from_outside_are_replaced_restarted_and_retired(
    scheduler: tuple[Path, str], start: Start, tmp_path: Path
) -> None:
    file, address = scheduler
    workers = start(
        *("worker", address, "--nworkers", 2, "--nthreads", 1, "--name", "outside"),
        *("--local-directory", tmp_path / "spill"),
    )
    assert "2 workers of 1 thread for the cluster" in workers.line("Ctrl-C")
    with Client(scheduler_file=str(file)) as client:
        client.wait_for_workers(3, LIMIT_SECONDS)
        first = by_name(client)
        assert {*first} == {0, "outside-0", "outside-1"}
        assert (
            client.submit(os.getpid, workers="outside-1").result(LIMIT_SECONDS)
            == (first["outside-1"])
        )
        os.kill(first["outside-0"], signal.SIGKILL)
        workers.line("outside-0 was ended by SIGKILL")
        wait_until(
            "another has its name",
            lambda: by_name(client).get("outside-0", first["outside-0"]) != first["outside-0"],
        )
        where = {n: client.submit(lambda: get_worker().name, workers=n, pure=False) for n in first}
        assert client.gather(where) == {name: name for name in first}
        client.restart_workers(["outside-1"])
        wait_until(
            "another has its name",
            lambda: by_name(client).get("outside-1", first["outside-1"]) != first["outside-1"],
        )
        refused = start("worker", address, "--name", "outside-1")
        assert refused.end() == (
            1,
            'spanwise worker: There is a worker of the name "outside-1" already: give another '
            "name, or none.",
        )
        held = client.submit(bytes, 100_000, workers="outside-0")
        assert held.result(LIMIT_SECONDS) == bytes(100_000)
        gone = client.retire_workers(["outside-0", "outside-1"])
        assert sorted(each["name"] for each in gone.values()) == ["outside-0", "outside-1"]
        assert workers.end() == (0, "\n".join(workers.said))
        assert workers.said[-1] == "All its workers were retired."
        assert held.result(LIMIT_SECONDS) == bytes(100_000) and {*by_name(client)} == {0}
        # Neither the scheduler's command nor a worker's is a client whose work would be lost.
        more = start("worker", address, "--nthreads", 1)
        more.line("Ctrl-C")
        client.wait_for_workers(2, LIMIT_SECONDS)
        client.restart(timeout=LIMIT_SECONDS)
        assert client.submit(lambda: get_worker().name, workers=0).result(LIMIT_SECONDS) == 0
        assert psutil.Process(by_name(client)[0]).ppid() != more.process.pid, "each in its place"
    assert not [*(tmp_path / "spill").iterdir()], "nothing is left of them"


def test_a_command_that_is_ended_amid_handing_over_says_that_alone(
    scheduler: tuple[Path, str], start: Start
) -> None:
    _, address = scheduler
    with Client(address) as client:
        wait_until("the scheduler's own is alone", lambda: {*by_name(client)} == {0})
        taker = psutil.Process(by_name(client)[0])
        workers = start("worker", address, "--name", "giver", "--nthreads", "1")
        workers.line("Ctrl-C")
        wait_until("it has come", lambda: {*by_name(client)} == {0, "giver"})
        (data,) = client.scatter([[1, 2]], workers=["giver"])
        taker.suspend()
        try:
            workers.process.send_signal(signal.SIGTERM)
            workers.line("Handing over")
            code, said = workers.end(signal.SIGTERM)
        finally:
            taker.resume()
        assert code == 0 and workers.said[-1] == "Ended by SIGTERM.", said
        assert "client" not in said and "hand over" not in said, said
        del data


def test_who_has_handed_over_ends_with_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its processes may end before the answer comes, which says what was not handed over."""
    answer = SimpleQueue[str]()
    monkeypatch.setattr(worker, "command", lambda *_, **__: ([], answer.get()))
    session: Any = SimpleNamespace(
        workers={0: {}, 7: {}}, dead=None, ask=Mock(), send=Mock(), wait_until_ended=Event().wait
    )
    spec: Any = SimpleNamespace(folder=Path())
    out, events = StringIO(), SimpleQueue[tuple[Any, ...]]()
    workers = worker._Workers(session, spec, events, out, True)
    workers._by_number[7] = Mock(short_lives=0)
    session.ask.return_value.fields = {"workers": []}
    assert workers._happened("signal", "SIGTERM") is None
    assert workers._happened("exit", 7, 0) is None
    answer.put("One stays.")
    assert workers._happened(*events.get(timeout=LIMIT_SECONDS)) == ("Ended by SIGTERM.", 0)
    assert out.getvalue().splitlines()[1:] == ["One stays."]


@pytest.mark.parametrize(
    "needs", [{"resources": {"GPU": 1, "MEM": 4e9}}, {"workers": "box", "resources": {"GPU": 1}}]
)
def test_the_command_that_a_warning_names_runs_what_waits(needs: dict[str, Any]) -> None:
    at = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with (
        Client(n_workers=1, threads_per_worker=1) as client,
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        future = client.submit(abs, -1, **needs)

        def commands() -> list[str]:
            return re.findall(r"`(spanwise worker .+?)`", " ".join(str(w.message) for w in told))

        wait_until("the warning", lambda: bool(commands()))
        with pytest.raises(TimeoutError) as late:
            future.result(0.1)
        assert f"`{commands()[0]}`" in str(late.value)
        pasted = subprocess.Popen(
            ["sh", "-c", f"exec {commands()[0]}"], env={**os.environ, "PATH": at}
        )
        try:
            assert future.result(LIMIT_SECONDS) == 1
        finally:
            pasted.terminate()
            pasted.wait(LIMIT_SECONDS)


def test_who_takes_the_place_of_a_worker_that_died(
    scheduler: tuple[Path, str], start: Start
) -> None:
    """Whoever comes, if the dead one's own command starts no other."""
    _, address = scheduler
    with Client(address) as client:
        wait_until("the scheduler's own is alone", lambda: {*by_name(client)} == {0})
        workers = start("worker", address, "--nworkers", 2, "--nthreads", 1, "--no-nanny")
        workers.line("Ctrl-C")
        client.wait_for_workers(3, LIMIT_SECONDS)
        dead, living = by_name(client).keys() - {0}
        held = client.submit(lambda: get_worker().name, workers=living)
        os.kill(by_name(client)[dead], signal.SIGKILL)
        wait_until("it has gone", lambda: {*by_name(client)} == {0, living})
        start("worker", address, "--nthreads", 1).line("Ctrl-C")
        wait_until("another has its name", lambda: {*by_name(client)} == {0, dead, living})
        bound = client.submit(lambda: get_worker().name, workers=dead)
        assert client.gather([held, bound]) == [living, dead]


def test_an_ended_command_hands_over_and_a_killed_one_does_not(
    scheduler: tuple[Path, str], start: Start
) -> None:
    _, address = scheduler
    with Client(address) as client:
        workers = start("worker", address, "--name", "a", "--nthreads", "1")
        workers.line("Ctrl-C")
        # (one that another test has killed may still be there)
        wait_until("it has come", lambda: {*by_name(client)} == {0, "a"})
        (data,) = client.scatter([[1, 2]], workers=["a"])
        code, said = workers.end(signal.SIGINT)
        assert code == 0 and said.endswith("Ended by SIGINT."), said
        assert data.result(LIMIT_SECONDS) == [1, 2], "it was handed over"

        workers = start("worker", address, "--name", "b", "--nthreads", "1")
        workers.line("Ctrl-C")
        wait_until("it has come", lambda: {*by_name(client)} == {0, "b"})
        pid = by_name(client)["b"]
        made = client.submit(bytes, 10_000, workers="b", allow_other_workers=True)
        assert made.result(LIMIT_SECONDS) == bytes(10_000)
        workers.process.kill()
        wait_until("its worker ends", lambda: not lives(pid))
        wait_until("the cluster knows", lambda: {*by_name(client)} == {0})
        assert client.submit(len, made).result(LIMIT_SECONDS) == 10_000, "it is computed again"


@pytest.mark.parametrize("killed", ["command", "scheduler"])
def test_a_killed_scheduler_ends_workers_and_programs(
    killed: str, start: Start, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.json"
    scheduler = start("scheduler", "--scheduler-file", file)
    scheduler.line("Ctrl-C")
    described = json.loads(file.read_text())
    workers = start("worker", "--scheduler-file", file, "--nthreads", 1)
    with Client(scheduler_file=str(file)) as client:
        client.wait_for_workers(1, LIMIT_SECONDS)
        (pid,) = by_name(client).values()
        waits = client.submit(signal.pause)
        os.kill(scheduler.process.pid if killed == "command" else described["pid"], signal.SIGKILL)
        with pytest.raises(SchedulerLost, match="has ended"):
            waits.result(LIMIT_SECONDS)
    code, said = workers.end()
    # The scheduler whose command was killed ends in order.
    assert code == (1 if killed == "scheduler" else 0), said
    assert "The scheduler of cluster 'scheduler' has ended (" in said
    assert not lives(pid)
    if killed == "scheduler":
        code, said = scheduler.end()
        assert code == 1 and "The cluster scheduler has ended: " in said
        assert not file.exists()
    else:
        with pytest.raises(ClusterError, match=r"There is no cluster at|has ended"):
            Client(scheduler_file=str(file), timeout=0)


def test_what_cannot_be_joined_or_started(
    scheduler: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, address = map(str, scheduler)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"type": "Scheduler", "address": "tcp://10.0.0.1:8786"}))
    port = address.rpartition(":")[2]
    with pytest.MonkeyPatch.context() as patch:
        true = launch.versions
        patch.setattr(launch, "versions", lambda: {**true(), "dask": "1.0"})
        assert main(["worker", file]) == 1
    assert "run in another environment than this client" in capsys.readouterr().err
    for given, sentence in {
        ("worker", "unix:/nowhere/scheduler.sock"): "There is no cluster at",
        ("worker", "tcp:127.0.0.1:9"): "No cluster of this user has the address",
        ("worker", "tcp://10.0.0.1:8786"): "is not the address of a Spanwise cluster",
        ("worker", str(other)): "describes a scheduler of distributed",
        ("worker", file, "--local-directory", "/proc/no"): "workers cannot write there",
        ("worker", address, "--scheduler-file", file): "Both an address and --scheduler-file are",
        ("worker",): "Which cluster? spanwise worker ADDRESS",
        ("worker", file, "--nworkers", "0"): "starts nothing",
        ("worker", file, "--name", "worker-3"): "is what the scheduler calls workers itself",
        ("worker", file, "--name", "localhost"): "means all workers of this machine",
        ("scheduler", "--host", "0.0.0.0"): "listens to programs of this machine alone",
        ("scheduler", "--port", port): f"Port {port} is taken by another program",
    }.items():
        assert main(given) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"spanwise {given[0]}: ") and sentence in said, said


def test_workers_and_programs_wait_for_their_cluster(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.json"
    absent = f"{file} has not come within 0.1 s"
    with pytest.raises(ClusterError, match=f"^{re.escape(absent)}.*spanwise scheduler --scheduler"):
        Client(scheduler_file=str(file), timeout="100ms")
    assert main(["worker", "--scheduler-file", str(file), "--death-timeout", "100ms"]) == 1
    assert absent in capsys.readouterr().err
    # One that was killed is waited for too.
    secret = tmp_path / "secret"
    secret.write_text("07" * 32)
    old = {"name": "old", "address": f"unix:{tmp_path}/scheduler.sock", "observer": None}
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(LIMIT_SECONDS)
    file.write_text(json.dumps({**old, "secretFile": str(secret), "pid": ended.pid}))
    with pytest.raises(ClusterError, match=r"'old' .*has ended: its scheduler"):
        Client(scheduler_file=file, timeout="100ms")
    workers = start("worker", "--scheduler-file", file, "--nthreads", 1)
    with ThreadPoolExecutor(1) as threads:
        made = threads.submit(
            Client, scheduler_file=file, set_as_default=False, timeout=LIMIT_SECONDS
        )
        start("scheduler", "--scheduler-file", file).line("Ctrl-C")
        with made.result(LIMIT_SECONDS) as client:
            client.wait_for_workers(1, LIMIT_SECONDS)
    workers.line("Ctrl-C")
    code, said = workers.end(signal.SIGTERM)
    assert code == 0 and said.endswith("Ended by SIGTERM."), "nobody could take anything"


# -- arguments ---------------------------------------------------------------


@pytest.mark.parametrize("option", REFUSED)
def test_a_refused_option_says_what_to_do(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["worker", "unix:x", option, "x"])
    assert ended.value.code == 2
    assert f"{option} has no meaning here: {REFUSED[option]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--nworkers", "1025"], "from 0 to 1,024, or auto, not 1025"),
        (["--nworkers", "many"], "a whole number, not 'many'"),
        (["--nthreads", "0"], "a whole number from 1, not 0"),
        (["--memory-limit", "much"], "bytes such as 4GiB"),
        (["--death-timeout", "later"], "seconds, or text such as 90s"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_arguments_that_make_no_sense(
    given: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["worker", "unix:x", *given])
    assert ended.value.code == 2 and sentence in capsys.readouterr().err


def test_a_dask_cluster_is_watched_until_the_command_ends(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    observer = start("observer")
    folder = observer.line("export SPANWISE_OBSERVER=").partition("=")[2]
    cluster = DaskProcesses(tmp_path, workers=0)
    try:
        with monkeypatch.context() as shell:
            shell.setenv("SPANWISE_OBSERVER", folder)
            watching = start("attach", cluster.address, "--name", "dusk")
            assert watching.line("Watching ") == f"Watching {cluster.address} as dusk."
            assert "under Cluster, then press Default layout" in watching.line("In the sidebar")
            unnamed = start("attach", cluster.address)
            assert unnamed.line("Watching ") == f"Watching {cluster.address}."
            assert unnamed.end(signal.SIGTERM)[0] == 0
            code, said = start("attach", "tcp://127.0.0.1:1").end()
            assert code == 1 and "Nobody listens at tcp://127.0.0.1:1" in said
        assert watching.end(signal.SIGTERM)[0] == 0
        code, said = start("attach", cluster.address).end()
        assert code == 1 and "run this in a terminal of JupyterLab" in said
    finally:
        cluster.close()


def test_programs_share_an_observer(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = start("observer")
    folder = observer.line("export SPANWISE_OBSERVER=").partition("=")[2]
    monkeypatch.setenv("SPANWISE_OBSERVER", folder)
    with Client(n_workers=1, threads_per_worker=1) as client:
        assert client.submit(abs, -1).result(LIMIT_SECONDS) == 1
        assert len(client.fine_metrics()) > 0
    with Client(n_workers=0) as client:
        assert client._observer is not None and not client._observer.is_own
    assert observer.end(signal.SIGTERM)[0] == 0
    with pytest.warns(RuntimeWarning, match="where no observer runs any more"):
        Client(n_workers=0).close()
