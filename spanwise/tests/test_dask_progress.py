"""Pages are told how far tasks of a Dask cluster are, as its scheduler has them."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from operator import is_, neg
from pathlib import Path
from typing import Any

import distributed

import spanwise
from spanwise.dask_bridge.attach import AttachedCluster
from spanwise.dask_bridge.told_progress import Progress, ToldProgress
from spanwise.records.enumerations import NONE_U32
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.gated_tasks import held
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.told_to_pages import page

COUNTS = ("done", "running", "waiting", "failed", "dropped")
#: Dask's states, as the panel counts them; what runs is processing.
FAR = {
    **dict.fromkeys(("memory", "released", "forgotten"), "done"),
    **dict.fromkeys(("waiting", "queued", "no-worker", "processing"), "waiting"),
    "erred": "failed",
}


def progress(attached: AttachedCluster, **filter: Any) -> dict[str, dict[str, int]]:
    """By function; what is 0 is left out."""
    answer = attached._asked().query("progress", filter)
    return {
        row["function"]: {count: row[count] for count in COUNTS if row[count]}
        for row in answer["functions"]
    }


def by_dask(client: distributed.Client) -> dict[str, dict[str, int]]:
    """The same of each task that the scheduler knows, by its state."""

    def counted(dask_scheduler: Any) -> list[tuple[str, str]]:
        tasks = dask_scheduler.tasks.values()
        return [(task.prefix.name, task.state) for task in tasks]

    found: dict[str, Counter[str]] = {}
    for name, state in client.run_on_scheduler(counted):
        found.setdefault(name, Counter())[FAR[state]] += 1
    return {name: dict(counts) for name, counts in found.items()}


def test_tasks_are_counted_by_prefix_and_span(tmp_path: Path) -> None:
    file = tmp_path / "go"
    processes = DaskProcesses(tmp_path, workers=1, threads=1)
    try:
        with (
            distributed.Client(processes.address, set_as_default=False) as client,
            spanwise.attach(client) as attached,
        ):
            client.wait_for_workers(1, timeout=LIMIT_SECONDS)
            observer = attached._viewer.observer
            assert observer is not None
            with closing(page(observer)):
                with distributed.span("load"):
                    loaded = client.map(neg, range(30))
                    client.gather(loaded)
                with distributed.span("work"):
                    failed = client.submit(divmod, 1, 0)
                    assert isinstance(failed.exception(), ZeroDivisionError)
                    going = client.submit(held, str(file))
                    sums = [client.submit(is_, each, going) for each in loaded[:20]]
                expected = {
                    "neg": {"done": 30},
                    "divmod": {"failed": 1},
                    "held": {"running": 1},
                    "is_": {"waiting": 20},
                }
                wait_until("all to be told", lambda: progress(attached) == expected)
                account = by_dask(client)
                assert account.pop("held") == {"waiting": 1}
                assert account == {name: expected[name] for name in account} and len(account) == 3
                work = {"spans": {"any": [{"tag": "work"}]}}
                assert progress(attached, **work) == {
                    name: counts for name, counts in expected.items() if name != "neg"
                }

                file.touch()
                client.gather(sums)
                del loaded, sums, going
                # (Dask forgets them, and their groups)
                wait_until("Dask to forget", lambda: "neg" not in by_dask(client))
                final = {
                    "neg": {"done": 30},
                    "divmod": {"failed": 1},
                    "held": {"done": 1},
                    "is_": {"done": 20},
                }
                wait_until("the end to be told", lambda: progress(attached) == final)
            assert failed.status == "error"
    finally:
        processes.close()


def test_what_failed_or_was_given_up_is_not_done_once_dask_has_forgotten_it(tmp_path: Path) -> None:
    file = tmp_path / "go"
    processes = DaskProcesses(tmp_path, workers=1, threads=1)
    try:
        with (
            distributed.Client(processes.address, set_as_default=False) as client,
            spanwise.attach(client) as attached,
        ):
            client.wait_for_workers(1, timeout=LIMIT_SECONDS)
            observer = attached._viewer.observer
            assert observer is not None
            with closing(page(observer)):
                failed = client.map(divmod, [1, 2], [0, 0])
                after = client.submit(neg, failed[0])
                again = client.submit(divmod, 3, 0)
                for future in (*failed, after, again):
                    assert isinstance(future.exception(), ZeroDivisionError)
                # What is tried again is counted once.
                again.retry()
                assert isinstance(again.exception(), ZeroDivisionError)
                going = client.submit(held, str(file))
                waits = [client.submit(is_, number, going) for number in range(20)]
                expected = {
                    "divmod": {"failed": 3},
                    "neg": {"failed": 1},
                    "held": {"running": 1},
                    "is_": {"waiting": 20},
                }
                wait_until("all to be told", lambda: progress(attached) == expected)
                client.cancel(waits)
                file.touch()
                going.result()
                del failed, after, again, future, going, waits
                wait_until("Dask to forget all", lambda: by_dask(client) == {})
                final = {
                    "divmod": {"failed": 3},
                    "neg": {"failed": 1},
                    "held": {"done": 1},
                    "is_": {"dropped": 20},
                }
                wait_until("the end to be told", lambda: progress(attached) == final)
    finally:
        processes.close()


def test_rows_are_written_of_what_has_changed_and_all_anew_when_somebody_comes() -> None:
    told = ToldProgress()
    assert told.unseen() == []
    first, second = Progress(7, 1, 3, 2, 1, 4, 0, 0), Progress(7, 2, 0, 0, 0, 5, 0, 6)
    assert told.changed([first, second]) == [(7, 1, 3, 2, 1, 4, 0, 0), (7, 2, 0, 0, 0, 5, 0, 6)]
    assert told.changed([first, second]) == []
    # What is not told any more is none; what has one name here is added up.
    assert told.changed([first, first]) == [(7, 1, 6, 4, 2, 8, 0, 0), (7, 2, 0, 0, 0, 0, 0, 0)]
    assert told.unseen() == [(NONE_U32, NONE_U32, 0, 0, 0, 0, 0, 0)]
    assert told.unseen() == []
    odd = Progress(8, 0, -1, 2**40, 0, 0, 0, 0)
    assert told.changed([odd]) == [(8, 0, 0, 2**32 - 1, 0, 0, 0, 0)]
