"""Records of the same tasks on a cluster of `distributed` and on one of Spanwise."""

from __future__ import annotations

import operator
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import distributed
import numpy as np

import spanwise
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS, wait_until

#: What the tries come to that are not the last: `distributed` keeps no record of them.
ENDED_BEFORE = Counter({("tried", "error"): 2, ("in-vain", "error"): 2, ("killed", "lost"): 1})


def third_time_lucky(folder: str) -> int:
    tries = len(list(Path(folder).iterdir()))
    Path(folder, str(tries)).touch()
    if tries < 2:
        raise OSError("not yet")
    return tries


def kill_once(folder: str) -> str:
    """End this process, the first time after it has run for as long as workers tell of."""
    mark = Path(folder, "killed")
    if not mark.exists():
        mark.touch()
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    return "it lives"


def work(
    client: Any, module: Any, folder: Path, replace_killed: Callable[[], object] = int
) -> list[dict[str, Any]]:
    """Run tasks that end in every way; returns their records."""
    client.get_task_stream()  # (theirs are kept from the first question on)
    (folder / "tries").mkdir(parents=True)
    killed = client.submit(kill_once, str(folder), key="killed")
    assert killed.result(timeout=LIMIT_SECONDS) == "it lives"
    replace_killed()
    wait_until("both workers are there", lambda: len(client.nthreads()) == 2)
    one, other = sorted(client.nthreads())
    array = client.submit(np.ones, 300_001, key="array", workers=[one])
    futures = [
        array,
        client.submit(np.sum, array, key="sum", workers=[other]),
        *(client.submit(operator.neg, number, key=f"neg-{number}") for number in range(4)),
        client.submit(third_time_lucky, str(folder / "tries"), retries=5, key="tried"),
        client.submit(operator.truediv, 1, 0, retries=2, key="in-vain"),
        bad := client.submit(operator.truediv, 2, 0, key="bad"),
        client.submit(operator.neg, bad, key="below-bad"),
    ]
    module.wait(futures, timeout=LIMIT_SECONDS)
    records: list[dict[str, Any]] = client.get_task_stream()
    return records


#: Parts of a run that `distributed` does not tell of, or for long ones alone: whatever keeps
#: it for 20 ms from storing a result is a write to disk to it, and for 5 ms from finding an
#: input a read, though nothing is spilled here.
FINER = {"deserialize", "disk-read", "disk-write", "import", "serialize"}


def told(record: dict[str, Any]) -> tuple[Any, ...]:
    actions = frozenset(each["action"] for each in record["startstops"]) - FINER
    # (there is no result of a run that failed)
    nbytes = record["nbytes"] if record["status"] == "OK" else None
    return record["key"], record["status"], actions, nbytes


def test_they_are_the_same_but_for_tries_that_distributed_forgets(tmp_path: Path) -> None:
    # (no nanny puts another in the place of the worker that was killed)
    cluster = DaskProcesses(tmp_path, workers=2, threads=1)
    try:
        with distributed.Client(cluster.address) as theirs:  # type: ignore[no-untyped-call]
            records = work(theirs, distributed, tmp_path / "theirs", cluster.start_worker)
    finally:
        cluster.close()
    expected = Counter(map(told, records))
    with spanwise.Client(n_workers=2, threads_per_worker=1) as ours:
        records = work(ours, spanwise, tmp_path / "ours")
    tries: Counter[str] = Counter()
    last: dict[str, dict[str, Any]] = {}
    for each in sorted(records, key=lambda record: record["attempt"] or 0):
        # (what is not known to have begun is no try; below a failed one nothing ran)
        tries[each["key"]] += 1
        last[each["key"]] = each
    assert last.pop("below-bad")["status"] == "lost"
    assert Counter(map(told, last.values())) == expected
    before = [each for each in records if last.get(each["key"], each) is not each]
    assert Counter((each["key"], each["status"]) for each in before) == ENDED_BEFORE
    assert expected["bad", "error", frozenset({"compute"}), None] == 1
    assert expected["sum", "OK", frozenset({"compute", "transfer"}), 32] == 1
    assert tries.total() == expected.total() + 1 + ENDED_BEFORE.total()
