"""What the system counts for processes: each figure against an account of its own."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from spanwise import Client
from spanwise.measure import system
from spanwise.measure.memory import give_back_free_memory
from spanwise.measure.system import LEAST_SECONDS, SystemMonitor
from spanwise.observed.system import FIGURES, system_of
from spanwise.records.enumerations import NONE_U32
from spanwise.tests.marks import now_of
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.test_client import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no workers")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
MIB = 2**20


def spin(seconds: float) -> float:
    """Compute for so many seconds on a core; the CPU time of the process meanwhile."""
    begin, used = time.thread_time(), time.process_time()
    while time.thread_time() - begin < seconds:
        pass
    return time.process_time() - used


def write_through(path: str, nbytes: int) -> None:
    """Write so many bytes to a disk."""
    with Path(path).open("wb") as file:
        file.write(os.urandom(nbytes))
        os.fsync(file.fileno())


# -- rows ------------------------------------------------------------------


def test_cpu_is_that_of_all_threads_of_the_process() -> None:
    own = psutil.Process()
    ticks, outer = sum(own.cpu_times()[:2]), time.process_time()
    monitor = SystemMonitor()
    inner = time.process_time()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(spin, [0.3, 0.3]))
    inner = time.process_time() - inner
    row = monitor.row()
    outer, ticks = time.process_time() - outer, sum(own.cpu_times()[:2]) - ticks
    cpu = row.cpu / 100 * row.seconds
    assert 0.6 <= inner - 1e-6 <= cpu <= outer + 1e-6
    # psutil has it in whole ticks of 10 ms, user and system each.
    assert abs(cpu - ticks) <= 0.04 + outer - inner


DESCRIPTORS = """
import sys
from pathlib import Path
from spanwise.measure.system import SystemMonitor

monitor = SystemMonitor()
before = monitor.row().fds
files = [(Path(sys.argv[1]) / str(n)).open("w") for n in range(20)]
assert monitor.row().fds == before + 20
for file in files:
    file.close()
# (the listing has one itself)
assert monitor.row().fds == before == len(list(Path("/proc/self/fd").iterdir())) - 1
"""


@needs_linux
def test_descriptors_are_those_that_are_open(tmp_path: Path) -> None:
    # (in a process without threads of other tests, which open and close some)
    program = [sys.executable, "-c", DESCRIPTORS, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr


def test_memory_is_what_is_resident() -> None:
    # What other tests have left might go between the readings.
    gc.collect()
    give_back_free_memory()
    before = SystemMonitor().row().memory
    held = bytearray(b"x") * (64 * MIB)
    after = SystemMonitor().row().memory
    assert len(held) <= after - before + 8 * MIB
    assert abs(after - psutil.Process().memory_info().rss) < 8 * MIB


@needs_linux
def test_bytes_of_a_known_write_are_in_one_row(tmp_path: Path) -> None:
    counts = psutil.Process().io_counters()
    monitor = SystemMonitor()
    write_through(str(tmp_path / "written"), 16 * MIB)
    row = monitor.row()
    told = psutil.Process().io_counters().write_bytes - counts.write_bytes
    # (others of this process may have written elsewhere)
    if told < 16 * MIB:
        pytest.skip("files here lie on no disk")
    written = row.disk_write * row.seconds
    assert written + 1 >= 16 * MIB
    assert written <= told + 1
    # It is over: the next row has none of it.
    row = monitor.row()
    assert row.disk_write * row.seconds < MIB


@needs_linux
@pytest.mark.parametrize(
    "figure", ["resident_bytes", "process_disk_bytes", "host_net_bytes", "open_descriptors"]
)
def test_where_there_is_no_proc_psutil_says_the_same(
    figure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = getattr(system, figure)

    def asked() -> tuple[Any, Any, Any]:
        found = []
        for is_linux in (True, False, True):
            monkeypatch.setattr(system, "_IS_LINUX", is_linux)
            found.append(ask())
        before, there, after = found
        return before, there, after

    before, there, after = asked()
    assert type(before) is type(there)
    if figure == "host_net_bytes":
        # (by interface; what is counted meanwhile lies between)
        assert set(before) & set(after) <= set(there)
        for name in set(before) & set(after):
            assert before[name] <= there[name] <= after[name]
    elif figure == "process_disk_bytes":
        assert before <= there <= after
    elif figure == "open_descriptors":
        # It lists them, by one of its own. (Threads of other tests open and close some.)
        wait_until("both to agree", lambda: (told := asked()) and told[0] == told[1] - 1 == told[2])
    else:
        assert abs(there - after) < 8 * MIB


def test_what_the_system_does_not_tell_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise psutil.AccessDenied

    monkeypatch.setattr(system, "_IS_LINUX", False)
    for name in ("Process", "net_io_counters", "disk_io_counters"):
        monkeypatch.setattr(psutil, name, refuse)
    monitor = SystemMonitor()
    row = monitor.row()
    assert row.fds == NONE_U32
    assert row.cpu >= 0
    unknown = (row.memory, *row[5:])
    assert all(value != value for value in unknown), unknown


def test_counts_that_begin_anew_give_no_negative_rate() -> None:
    before = {"eth0": (1000.0, 50.0), "gone": (7.0, 7.0)}
    after = {"eth0": (10.0, 150.0), "new": (1e9, 1e9)}
    assert system._rates(before, after, 2.0) == (0.0, 50.0)
    assert all(rate != rate for rate in system._rates({}, after, 2.0))


def test_rows_of_all_processes_lie_on_one_grid() -> None:
    monitor = SystemMonitor()
    assert monitor.is_due(time.perf_counter(), 0.5), "the first one is"
    last = monitor.row().t
    step = 0.5
    following = (last // step + 1) * step
    assert not monitor.is_due((last + following) / 2, step)
    late = max(following, last + LEAST_SECONDS) + 0.01
    assert monitor.is_due(late, step)
    assert not monitor.is_due(last + 0.001, step), "two rows in a moment"


# -- a cluster's -----------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


#: How old the newest row may be when all have told everything, and more.
SLACK_SECONDS = 4 * LEAST_SECONDS


def cpu_of(client: Client, address: str) -> float:
    return float(client.run(time.process_time, workers=[address])[address])


def test_cpu_of_a_busy_worker_is_what_its_clock_says(client: Client) -> None:
    here, there = client.nthreads()
    outer = cpu_of(client, here)
    begin = client.system_monitor()[here]["time"][-1]
    inner = cpu_of(client, here)
    used = client.submit(spin, 2.0, workers=[here], pure=False).result()
    inner = cpu_of(client, here) - inner
    told = client.system_monitor()
    outer = cpu_of(client, here) - outer
    assert {here, there, "scheduler"} <= set(told)
    rows = told[here]
    assert all(len(column) == len(rows["time"]) for column in rows.values())
    cpu = sum(
        cpu / 100 * seconds
        for t, cpu, seconds in zip(rows["time"], rows["cpu"], rows["seconds"], strict=True)
        if t > begin
    )
    assert used <= inner
    assert inner - SLACK_SECONDS <= cpu <= outer + SLACK_SECONDS
    # Each row begins where the one before it ends.
    for before, after, seconds in zip(
        rows["time"], rows["time"][1:], rows["seconds"][1:], strict=False
    ):
        assert after - before == pytest.approx(seconds, abs=1e-4)


def write_and_count(path: str) -> int:
    before = psutil.Process().io_counters().write_bytes
    write_through(path, 16 * MIB)
    return int(psutil.Process().io_counters().write_bytes - before)


@needs_linux
def test_bytes_of_a_known_write_are_in_the_monitor(client: Client, tmp_path: Path) -> None:
    here, _ = client.nthreads()
    begin = now_of(client)
    counted = client.submit(write_and_count, str(tmp_path / "w"), workers=[here]).result()
    if counted == 0:
        pytest.skip("files here lie on no disk")
    end = now_of(client)

    def written() -> float:
        rows = client.system_monitor(begin, end)[here]
        columns = zip(rows["disk_io.write_bps"], rows["seconds"], strict=True)
        return sum(rate * seconds for rate, seconds in columns)

    until(lambda: written() >= counted - 1)
    assert written() <= counted + MIB


def test_a_time_without_rows_has_none(client: Client) -> None:
    assert client.system_monitor(stop=client._session.wall_epoch - 100) == {}


def test_every_worker_tells_what_distributed_tells(client: Client) -> None:
    here, there = client.nthreads()
    kept = client.submit(bytes, 5 * MIB, workers=[here], pure=False)
    kept.result()
    fetched = client.submit(len, kept, workers=[there], pure=False)
    assert fetched.result() == 5 * MIB
    told: dict[str, Any] = {}

    def has_told() -> bool:
        told.update(client.scheduler_info()["workers"])
        first, second = told[here]["metrics"], told[there]["metrics"]
        return bool(
            first["task_counts"]["memory"] == 1
            and first["transfer"]["outgoing_count_total"] >= 1
            and second["transfer"]["incoming_count_total"] >= 1
            and second["transfer"]["incoming_count"] == 0
        )

    until(has_told)
    first, second = told[here]["metrics"], told[there]["metrics"]
    assert first["managed_bytes"] >= 5 * MIB
    assert first["spilled_bytes"] == {"memory": 0, "disk": 0}
    for address, metrics in ((here, first), (there, second)):
        pid = told[address]["pid"]
        assert abs(metrics["memory"] - psutil.Process(pid).memory_info().rss) < 32 * MIB
        assert metrics["num_fds"] > 5
        assert abs(metrics["time"] - now_of(client)) < 60
        assert metrics["host_net_io"]["read_bps"] >= 0
        assert metrics["bandwidth"]["total"] > 0
        if sys.platform == "linux":
            clock = metrics["clock"]
            assert (clock["offset"], clock["uncertainty"]) == (0.0, 0.0)
            # Who was greeted late asks once whether it is one clock, and one answer has no drift.
            assert clock["drift"] in (0.0, None)
        assert set(metrics) >= {
            "task_counts",
            "bandwidth",
            "digests_total_since_heartbeat",
            "managed_bytes",
            "spilled_bytes",
            "transfer",
            "event_loop_interval",
            "cpu",
            "memory",
            "time",
            "host_net_io",
            "host_disk_io",
            "num_fds",
        }


def test_metrics_name_what_distributed_names(client: Client) -> None:
    distributed = pytest.importorskip("distributed")
    from spanwise.tests.their_client import workers_told

    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as theirs,
    ):
        (row,) = workers_told(theirs).values()
        theirs_metrics = row["metrics"]
    metrics = client.scheduler_info(1)["workers"][next(iter(client.nthreads()))]["metrics"]
    # Optional there too; samples of the interpreter's lock are in the profile here.
    assert set(theirs_metrics) - set(metrics) <= {"gil_contention", "host_cpu"}
    for name in ("spilled_bytes", "transfer", "host_net_io"):
        assert set(theirs_metrics[name]) <= set(metrics[name]), name


def test_running_and_waiting_tasks_are_counted(client: Client, tmp_path: Path) -> None:
    here, _ = client.nthreads()
    gate = tmp_path / "gate"

    def until_opened(_: int = 0) -> None:
        end = time.monotonic() + LIMIT_SECONDS
        while not gate.exists() and time.monotonic() < end:
            time.sleep(0.01)

    futures = client.map(until_opened, range(3), workers=[here], pure=False)
    counts: dict[str, int] = {}

    def sees() -> bool:
        counts.update(client.scheduler_info()["workers"][here]["metrics"]["task_counts"])
        return counts["executing"] == 1

    until(sees)
    gate.touch()
    client.gather(futures)
    assert counts["executing"] == 1


def test_without_recording_workers_tell_all_the_same() -> None:
    import dask

    with (
        dask.config.set({"spanwise.recording": False}),
        Client(n_workers=1, threads_per_worker=1) as client,
    ):
        (address,) = client.nthreads()

        def metrics() -> Any:
            return client.scheduler_info()["workers"][address]["metrics"]

        until(lambda: metrics()["num_fds"] is not None)
        assert metrics()["memory"] > 8 * MIB


def test_what_is_no_answer_is_refused() -> None:
    line = {"worker": 0, "name": "worker-0", "address": "", "t": [1.0], "seconds": [0.5]}
    line |= {column: [1.0] for column in FIGURES.values()}
    assert system_of({"lines": [line]}, 100.0)["worker-0"]["time"] == [101.0]
    for broken in ({}, {"lines": [{}]}, {"lines": None}):
        with pytest.raises((LookupError, TypeError)):
            system_of(broken, 0.0)
