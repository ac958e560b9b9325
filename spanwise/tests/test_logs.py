"""What tasks print, warn and log, and what workers and scheduler keep: a real cluster."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from pathlib import Path

import dask.distributed
import distributed
import pytest

import spanwise
from spanwise import Client
from spanwise.tests.processes import LIMIT_SECONDS, wait_until


class Own(UserWarning):
    """Of this module."""


def say_as_theirs(number: int) -> int:
    dask.distributed.print("theirs", number)
    distributed.warn("theirs", Own)
    return number


def say(number: int) -> int:
    spanwise.print("number", number, {"a": 1}, sep="|", end="!\n")
    spanwise.print("wrong", file=sys.stderr)
    return number


def warn_of(text: str) -> None:
    spanwise.warn(text, Own)


def log(text: str, name: str = "distributed.worker") -> None:
    logger = logging.getLogger(name)
    logger.info("%s of a task", text)
    logger.debug("not kept")


def test_tasks_print_and_warn_at_the_clients(
    cluster: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = {"out": "", "err": ""}

    def has(stream: str, text: str) -> bool:
        read = capfd.readouterr()
        seen["out"] += read.out
        seen["err"] += read.err
        return text in seen[stream]

    assert cluster.submit(say, 7, pure=False).result(LIMIT_SECONDS) == 7
    wait_until("it is printed", lambda: has("out", "number|7|{'a': 1}!\n"))
    wait_until("it is printed as an error", lambda: has("err", "wrong\n"))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        cluster.submit(warn_of, "beware", pure=False).result(LIMIT_SECONDS)
        wait_until("it is warned of", lambda: any(each.category is Own for each in warned))
    # Whoever forgot to change the import; dask.distributed was imported before there was a client.
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert cluster.submit(say_as_theirs, 5, pure=False).result(LIMIT_SECONDS) == 5
        assert cluster.run(say_as_theirs, 6) == dict.fromkeys(cluster.nthreads(), 6)
        wait_until("it is warned of", lambda: len([w for w in warned if w.category is Own]) >= 2)
    wait_until("it is printed", lambda: has("out", "theirs 5\n"))
    wait_until("it is printed", lambda: has("out", "theirs 6\n"))
    dask.distributed.print("at home")
    assert has("out", "at home\n")
    spanwise.print("here", 1)
    assert has("out", "here 1\n")
    with pytest.warns(Own, match="here"):
        warn_of("here")
    with pytest.raises(TypeError, match=r"takes sys\.stdout or sys\.stderr"):
        cluster.submit(_print_to_a_file).result(LIMIT_SECONDS)
    cluster.log_event("print", "by hand")
    wait_until("it is printed", lambda: has("out", "by hand\n"))
    second = Client(cluster.address, set_as_default=False)
    try:
        second.unsubscribe_topic("print")
        second.submit(say, 8, pure=False).result(LIMIT_SECONDS)
        wait_until("the other prints it", lambda: has("out", "number|8|"))
    finally:
        second.close()
    assert seen["out"].count("number|8|") == 1


def _print_to_a_file() -> None:
    with Path("/dev/null").open("w") as file:
        spanwise.print("x", file=file)


def test_what_workers_and_the_scheduler_have_logged(cluster: Client) -> None:
    cluster.run(log, "first")
    cluster.run(log, "second", name="spanwise.worker")
    logs = cluster.get_worker_logs()
    assert {*logs} == {*cluster.scheduler_info()["workers"]}
    for records in logs.values():
        assert [level for level, _ in records[:2]] == ["INFO", "INFO"]
        assert records[0][1].endswith("spanwise.worker - INFO - second of a task")
        assert records[1][1].endswith("distributed.worker - INFO - first of a task")
        assert not any("not kept" in text for _, text in records)
    (newest,) = cluster.get_worker_logs(n=1, workers=[0]).values()
    assert len(newest) == 1 and "second" in newest[0][1]
    with pytest.raises(NotImplementedError, match="no nanny"):
        cluster.get_worker_logs(nanny=True)
    with pytest.raises(ValueError, match="There is no worker"):
        cluster.get_worker_logs(workers=["none"])
    # (of one worker: two may write their texts before the ends of their lines)
    cluster.run(print, "to the scheduler's log", flush=True, workers=[0])
    wait_until(
        "it has it",
        lambda: ("INFO", "to the scheduler's log") in cluster.get_scheduler_logs(n=50),
    )
    assert any("Spanwise scheduler, build" in text for _, text in cluster.get_scheduler_logs())
    assert cluster.get_scheduler_logs(n=0) == ()


def test_a_logger_is_forwarded(cluster: Client, caplog: pytest.LogCaptureFixture) -> None:
    cluster.forward_logging("of.tests", logging.WARNING)
    cluster.forward_logging("of.tests", logging.WARNING)
    logger = logging.getLogger("of.tests")
    cluster.submit(logger.warning, "%s and %d", "text", 3, pure=False).result(LIMIT_SECONDS)
    cluster.submit(logger.info, "less", pure=False).result(LIMIT_SECONDS)
    wait_until("it comes", lambda: "text and 3" in caplog.text)
    assert [each.getMessage() for each in caplog.records if each.name == "of.tests"] == [
        "text and 3"
    ]
    cluster.unforward_logging("of.tests")
    cluster.submit(logger.warning, "later", pure=False).result(LIMIT_SECONDS)
    with pytest.raises(ValueError, match="No event handler"):
        cluster.unforward_logging("of.tests")
    assert "later" not in caplog.text and "less" not in caplog.text


def test_the_state_is_dumped(cluster: Client, tmp_path: Path) -> None:
    held = cluster.submit(bytes, 10_000, key="held")
    held.result(LIMIT_SECONDS)
    path = cluster.dump_cluster_state(str(tmp_path / "dump"), exclude=["events"])
    found = json.loads(Path(path).read_text("utf-8"))
    assert path.endswith("dump.json") and "events" not in found
    # What is gone through once is taken, as by distributed; one name is one part.
    for given in (iter(["events", "logs"]), {"events": 1, "logs": 2}):
        again = cluster.dump_cluster_state(str(tmp_path / "again"), exclude=given)
        assert {*json.loads(Path(again).read_text("utf-8"))} == {*found} - {"logs"}
    again = cluster.dump_cluster_state(str(tmp_path / "again"), exclude="events")
    assert {*json.loads(Path(again).read_text("utf-8"))} == {*found}
    assert [each["key"] for each in found["tasks"]["memory"]].count("held") == 1
    assert len(found["workers"]) == 2 and found["logs"]["scheduler"]
    for given in ({"format": "yaml"}, {"exclude": ["nothing"]}):
        with pytest.raises(ValueError, match=r"all there is|takes some of"):
            cluster.dump_cluster_state(str(tmp_path / "no"), **given)  # type: ignore[arg-type]
