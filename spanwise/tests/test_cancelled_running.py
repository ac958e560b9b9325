"""Tasks that are cancelled while they run: they go on, and panels are told so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spanwise import Client, Future, span
from spanwise.tests.gated_tasks import held
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.test_report import values


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=2) as client:
        yield client


def raises(file: str) -> None:
    """It is as *held*, and then fails."""
    held(file)
    raise ValueError("nobody waits for this")


def running(client: Client) -> dict[str, dict[str, Any]]:
    """By key, what the Task Stream is told of what runs."""
    return {each["key"]: each for each in client._observed.query("task-stream")["running"]}


def statuses(client: Client) -> dict[str, str]:
    return {record["key"]: record["status"] for record in client.get_task_stream()}


def begun(client: Client, tmp_path: Path, *names: str) -> list[Future]:
    futures = [client.submit(held, str(tmp_path / name), key=name) for name in names]
    wait_until("all run", lambda: set(running(client)) == set(names))
    return futures


def test_it_is_told_apart_while_it_runs_and_when_it_has_ended(
    client: Client, tmp_path: Path
) -> None:
    wanted, unwanted = begun(client, tmp_path, "wanted", "unwanted")
    assert not any("cancelled" in each for each in running(client).values())

    unwanted.cancel()
    found = wait_until(
        "one is told to be cancelled",
        lambda: {key: each for key, each in running(client).items() if "cancelled" in each},
    )
    assert set(found) == {"unwanted"}
    now = client._observed.query("task-stream")["now"]
    assert found["unwanted"]["started"] < found["unwanted"]["cancelled"] <= now
    # It holds its thread, and the client knows it no more.
    assert set(running(client)) == {"wanted", "unwanted"}
    assert [list(keys) for keys in client.processing().values()] == [["wanted"]]
    spans = client._observed.query("spans", params={"all": True, "after": 0})["rows"]
    assert (2, 1) in {(row["running"], row.get("runningCancelled")) for row in spans}
    assert (2, 1) in {(each.running, each.running_cancelled) for each in client.spans()}

    (tmp_path / "unwanted").touch()
    wait_until("it has ended", lambda: set(running(client)) == {"wanted"})
    wait_until("its record is there", lambda: statuses(client) == {"unwanted": "cancelled"})
    (tmp_path / "wanted").touch()
    assert wanted.result(LIMIT_SECONDS) == str(tmp_path / "wanted")
    assert statuses(client) == {"unwanted": "cancelled", "wanted": "OK"}
    # What it was told while it ran the card says of the box that has ended.
    (row,) = client._observed.query("tasks", params={"search": "unwanted"})["rows"]
    assert row["cancelled"] == found["unwanted"]["cancelled"]
    assert row["start"] < row["cancelled"] < row["start"] + row["duration"]


def test_it_is_cancelled_too_if_it_raises_and_its_record_has_the_error(
    client: Client, tmp_path: Path
) -> None:
    with span("work") as id:
        unwanted = client.submit(raises, str(tmp_path / "unwanted"), key="unwanted")
    wait_until("it runs", lambda: set(running(client)) == {"unwanted"})
    unwanted.cancel()
    wait_until("it is told", lambda: "cancelled" in running(client).get("unwanted", {}))
    (info,) = (each for each in client.spans() if each.id == id)
    assert (info.running, info.running_cancelled) == (1, 1)
    assert client.spans().to_pandas()["running_cancelled"].max() == 1

    (tmp_path / "unwanted").touch()
    wait_until("its record is there", lambda: statuses(client) == {"unwanted": "cancelled"})
    (record,), page = client.get_task_stream(plot=True)
    facts = dict(values(page.content["sections"][-1]))
    assert [facts[f"{how} task runs"] for how in ("Failed", "Cancelled", "Lost")] == [0, 1, 0]
    assert record["exception_text"] == "ValueError: nobody waits for this"
    assert 'raise ValueError("nobody waits for this")' in record["traceback_text"]
    assert "cause" not in record
    # Nobody is told of a failure.
    (info,) = (each for each in client.spans() if each.id == id)
    assert (info.tasks, info.failed, info.running, info.running_cancelled) == (1, 0, 0, 0)
    assert info.all_durations == {}
    stream = client._observed.query("task-stream")
    assert stream["kinds"]["failed"] == 0
    assert stream["kinds"]["cancelled"] == 1


def test_it_is_cancelled_too_when_its_worker_is_restarted(client: Client, tmp_path: Path) -> None:
    (unwanted,) = begun(client, tmp_path, "unwanted")
    unwanted.cancel()
    wait_until("it is told", lambda: "cancelled" in running(client).get("unwanted", {}))
    # (as the card of its box says)
    client.restart_workers(["worker-0"])
    wait_until("it has ended", lambda: not running(client))
    wait_until("its record is there", lambda: statuses(client) == {"unwanted": "cancelled"})
    (row,) = client._observed.query("tasks", params={"search": "unwanted"})["rows"]
    assert row["start"] < row["cancelled"] < row["start"] + row["duration"]


def test_one_that_a_failed_task_needed_is_cancelled_although_the_scheduler_knows_it(
    client: Client, tmp_path: Path
) -> None:
    (needed,) = begun(client, tmp_path, "needed")

    def fails() -> None:
        raise ValueError("it fails")

    failed = client.submit(fails, key="failed")
    both = client.submit(lambda *inputs: inputs, needed, failed, key="both")
    with pytest.raises(ValueError, match="it fails"):
        both.result(LIMIT_SECONDS)
    # As an input of a task that has failed, it is known as long as that.
    needed.release()
    wait_until("it is told", lambda: "cancelled" in running(client).get("needed", {}))
    (tmp_path / "needed").touch()
    wait_until("its record is there", lambda: statuses(client).get("needed") == "cancelled")
