"""Pages are told how many tasks of a Dask cluster wait, for what, and what to do about it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import distributed
from distributed.core import Status

import spanwise
from spanwise.dask_bridge.attach import AttachedCluster
from spanwise.dask_bridge.waiting_tasks import (
    NOTICE_SECONDS,
    Wait,
    WaitingTasks,
    notice,
    remedy,
)
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.gated_tasks import held
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.told_to_pages import needs_in, notices_in, page, told_by, waiting_in

UNFINISHED = ("queued", "no-worker", "waiting", "processing")


def told(attached: AttachedCluster) -> dict[str, Any]:
    observer = attached._viewer.observer
    assert observer is not None
    return told_by(observer)


def wait_for(attached: AttachedCluster, running: int, **tasks: int) -> dict[str, Any]:
    """Wait until pages are told of so many tasks that run, and that wait for each reason."""
    expected = {reason.replace("_", "-"): count for reason, count in tasks.items()}
    found: list[dict[str, Any]] = []

    def is_told() -> bool:
        found[:] = [told(attached)]
        return (found[0]["running"], waiting_in(found[0])) == (running, expected)

    wait_until(f"{running} to run and {expected} to wait", is_told)
    return found[0]


def both_notices(attached: AttachedCluster) -> dict[str, str]:
    """Those of two reasons; empty until both are told."""
    found = notices_in(told(attached))
    return found if len(found) == 2 else {}


def states(client: distributed.Client) -> dict[str, int]:
    """How many tasks are unfinished, by Dask's own account of each."""

    def counted(dask_scheduler: Any) -> dict[str, int]:
        scheduler = dask_scheduler
        found = Counter(task.state for task in scheduler.tasks.values())
        assert found["queued"] == len(scheduler.queued)
        assert found["no-worker"] == len(scheduler.unrunnable)
        return {state: found[state] for state in UNFINISHED}

    return dict(client.run_on_scheduler(counted))


def connected(processes: DaskProcesses) -> distributed.Client:
    return distributed.Client(processes.address, set_as_default=False)


def test_tasks_are_counted_by_what_they_wait_for(tmp_path: Path) -> None:
    file = tmp_path / "go"
    processes = DaskProcesses(tmp_path, workers=1, threads=1, worker_options=("--resources", "A=1"))
    try:
        with connected(processes) as client, spanwise.attach(client) as attached:
            client.wait_for_workers(1, timeout=LIMIT_SECONDS)
            # It has the worker's only thread, and its A.
            going = client.submit(held, str(file), resources={"A": 1})
            wait_for(attached, 1)
            futures = [
                *client.map(abs, [-1, -2, -3, -4, -5, -6]),
                *(client.submit(each, going) for each in (str.upper, str.lower)),
                *client.map(float, [1, 2, 3, 4], resources={"A": 1}),
                *client.map(float, [5, 6, 7, 8, 9], resources={"GPU": 1}),
                client.submit(abs, -7, workers=["tcp://127.0.0.1:1"], key="named"),
            ]
            wait_for(attached, 1, thread=6, input=2, resource=4, no_resource=5, no_named=1)
            # By Dask's own account, too, none is left out and none is counted twice.
            account = states(client)
            assert account["no-worker"] == 5 + 1
            assert account["waiting"] == 2
            assert account["queued"] > 0
            assert account["queued"] + account["processing"] == 1 + 6 + 4
            (at_worker,) = client.processing().values()
            assert len(at_worker) == account["processing"]

            assert needs_in(told(attached)) == {"no-resource": "GPU=1"}
            said = wait_until("both notices", lambda: both_notices(attached))
            # (a release of 2024 keeps them in no order)
            assert said["no-resource"] in {
                f"5 tasks, {each.key} among them, wait in Dask's state no-worker: no worker has "
                "GPU=1, which resources= asks for. They run when such a worker joins (in a "
                f'terminal, `dask worker {processes.address} --resources "GPU=1"` starts one); '
                "otherwise cancel what waits and submit it again."
                for each in futures[12:17]
            }
            assert said["no-named"] == (
                "The task named waits in Dask's state no-worker: of the workers that workers= "
                "names (tcp://127.0.0.1:1) none is there. It runs when one of them joins; "
                "otherwise cancel what waits and submit it again, with allow_other_workers=True "
                "if any worker will do."
            )
            file.touch()
            client.gather([going, *futures[:12]])
            wait_for(attached, 0, no_resource=5, no_named=1)
            client.cancel(futures)
            wait_until("none waits", lambda: "waiting" not in told(attached))
            assert not any(states(client).values())
    finally:
        processes.close()


def test_tasks_without_any_worker_are_counted(tmp_path: Path) -> None:
    processes = DaskProcesses(tmp_path, workers=0)
    try:
        with connected(processes) as client, spanwise.attach(client) as attached:
            futures = client.map(abs, [-1, -2, -3])
            wait_for(attached, 0, no_worker=3)
            account = states(client)
            assert account["queued"] + account["no-worker"] == 3
            found = wait_until("a notice", lambda: notices_in(told(attached)))
            command = f"`dask worker {processes.address}`"
            assert command in found["no-worker"]
            processes.start_worker()
            assert client.gather(futures) == [1, 2, 3]
            wait_until("none waits", lambda: "waiting" not in told(attached))
    finally:
        processes.close()


def test_tasks_of_a_paused_worker_are_counted(tmp_path: Path) -> None:
    def pause(dask_worker: Any) -> None:
        dask_worker.status = Status.paused

    def go_on(dask_worker: Any) -> None:
        dask_worker.status = Status.running

    def are_all_paused(dask_scheduler: Any) -> bool:
        return all(each.status == Status.paused for each in dask_scheduler.workers.values())

    file = tmp_path / "go"
    processes = DaskProcesses(
        tmp_path,
        workers=1,
        threads=1,
        # (else the worker's own watch of its memory sets it running again)
        config={"DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "1h"},
    )
    try:
        with connected(processes) as client, spanwise.attach(client) as attached:
            client.wait_for_workers(1, timeout=LIMIT_SECONDS)
            going = client.submit(held, str(file))
            wait_for(attached, 1)
            early = client.submit(abs, -1)
            wait_for(attached, 1, thread=1)
            client.run(pause)
            # (the worker tells the scheduler in a message of its own)
            wait_until("the scheduler to know", lambda: client.run_on_scheduler(are_all_paused))
            late = client.submit(abs, -2)
            found = wait_for(attached, 1, paused=2)
            # Above the panels stands which worker has paused.
            assert notices_in(found) == {}
            account = states(client)
            assert (account["processing"], account["no-worker"]) == (2, 1)
            client.run(go_on)
            file.touch()
            assert client.gather([going, early, late]) == [str(file), 1, 2]
            wait_until("none waits", lambda: "waiting" not in told(attached))
    finally:
        processes.close()


def test_what_waits_is_asked_for_only_while_somebody_looks(tmp_path: Path) -> None:
    processes = DaskProcesses(tmp_path, workers=0)
    try:
        with connected(processes) as client, spanwise.attach(client) as attached:
            viewer = attached._viewer

            def is_asked() -> bool:
                viewer.flush()
                assert viewer.newest is not None
                return "waiting" in viewer.newest.states

            wait_until("nobody looks", lambda: not is_asked())
            future = client.submit(abs, -1)
            assert viewer.observer is not None
            looks = page(viewer.observer)
            try:
                wait_until("it is asked for", is_asked)
                wait_for(attached, 0, no_worker=1)
            finally:
                looks.close()
            wait_until("nobody looks", lambda: not is_asked())
            # Who comes again is told of what has changed meanwhile.
            del future
            wait_until("none waits", lambda: "waiting" not in told(attached))
    finally:
        processes.close()


def test_of_very_many_tasks_without_a_worker_some_are_looked_at(tmp_path: Path) -> None:
    processes = DaskProcesses(tmp_path, workers=1)
    try:
        with connected(processes) as client, spanwise.attach(client) as attached:
            futures = client.map(abs, range(1_200), resources={"GPU": 1})
            wait_for(attached, 0, no_resource=1_000, unplaced=200)
            client.cancel(futures)
            wait_until("none waits", lambda: "waiting" not in told(attached))
    finally:
        processes.close()


GPU = Wait("no-resource", 2, "gpu", "GPU=1, MEM=1e+10", "GPU=1, MEM=1e+10; TPU=1")
COMMAND = 'dask worker tcp://a:1 --resources "GPU=1 MEM=1e+10"'


def test_rows_are_written_of_what_has_changed_and_all_anew_when_somebody_comes() -> None:
    waits = WaitingTasks()
    none = [Wait("input", 0, None, ""), Wait("no-resource", 0, None, "")]
    assert waits.changed(0.0, none, "tcp://a:1") == []
    told = notice(GPU, "tcp://a:1")
    assert waits.changed(1.0, [none[0], GPU], "tcp://a:1") == [(6, 2, "", GPU.needs, "")]
    assert waits.changed(1.5, [none[0], GPU], "tcp://a:1") == []
    assert waits.changed(1.0 + NOTICE_SECONDS, [none[0], GPU], "tcp://a:1") == [
        (6, 2, told, GPU.needs, COMMAND)
    ]
    waits.unseen()
    assert waits.changed(9.0, [none[0], GPU], "tcp://a:1") == [
        (0, 0, "", "", ""),
        (6, 2, "", GPU.needs, ""),
    ]
    assert waits.changed(9.5, none, "tcp://a:1") == [(6, 0, "", "", "")]
    assert waits.changed(20.0, [Wait("newer", 5, None, "")], "tcp://a:1") == []
    assert waits.changed(21.0, [GPU] * 9 + none + [GPU], "tcp://a:1") == [(6, 2, "", GPU.needs, "")]


def test_a_notice_has_a_command_that_can_be_run_as_it_stands() -> None:
    assert f"`{COMMAND}`" in notice(GPU, "tcp://a:1")
    assert remedy(GPU, "tcp://a:1") == COMMAND
    assert remedy(GPU._replace(need=""), "tcp://a:1") == ""
    # Another one would need a certificate, or this process.
    for address in ("tls://a:1", "inproc://10.0.0.1/1/1"):
        for wait in (GPU, Wait("no-worker", 1, "x", "")):
            assert "`" not in notice(wait, address) and remedy(wait, address) == ""
    assert "`" not in notice(GPU._replace(need="A=1, B=1, C=1, …"), "tcp://a:1")
    # A name comes from whoever submits; what is to be pasted must not run anything of it.
    for name in ("$(touch x)", 'GPU" & touch x "', "`touch x`", "a;b", "a b", "a\nb", "é", "'"):
        odd = GPU._replace(need=f"A=1, {name}=1")
        assert "dask worker" not in notice(odd, "tcp://a:1") and not remedy(odd, "tcp://a:1")
        assert "dask worker" not in notice(GPU, f"tcp://{name}:1")
    long = notice(Wait("no-named", 1, "k" * 10_000, "n" * 10_000), "tcp://a:1")
    assert len(long) < 1_000
