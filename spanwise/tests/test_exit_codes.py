"""What is said of a worker that a task has ended, by an exit code that Spanwise has not chosen."""

from __future__ import annotations

import os
from pathlib import Path

import dask
import pytest

from spanwise import Client, KilledWorker, span
from spanwise.client.launch import allowed_failures

LIMIT_SECONDS = 120.0


@pytest.mark.parametrize("code", [0, 4])
def test_a_code_that_a_task_has_chosen_is_told_as_it_is(code):
    """They were taken for Spanwise's own: "has closed", "used more memory than its limit"."""
    with Client(n_workers=1, threads_per_worker=1) as client:
        with span("deadly") as deadly_span:
            deadly = client.submit(os._exit, code)
            after = client.submit(print, deadly)
        with pytest.raises(KilledWorker, match=rf"ended with exit code {code}\."):
            deadly.result(LIMIT_SECONDS)
        with pytest.raises(KilledWorker):
            after.result(LIMIT_SECONDS)
        # Each of its runs was lost with a worker. One task failed; what needed it did not run.
        (found,) = [each for each in client.spans() if each.id == deadly_span]
        assert found.failed == 1


def _end(runs: str) -> None:
    with Path(runs).open("a") as file:
        file.write("run\n")
    os._exit(3)


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (0, r"^A worker died, or was stopped, while .* The worker \(worker 0\) ended with"),
        (1, r"^2 workers died, or were stopped, while .* The last one \(worker 1\) ended with"),
    ],
    ids=["none", "one"],
)
def test_so_many_workers_may_die_under_a_task(tmp_path: Path, allowed: int, said: str) -> None:
    """Of Dask's setting nothing was read: it was three, whatever somebody had set."""
    runs = tmp_path / "runs"
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": allowed}),
        Client(n_workers=1, threads_per_worker=1) as client,
    ):
        with pytest.raises(KilledWorker, match=said):
            client.submit(_end, str(runs)).result(LIMIT_SECONDS)
        assert runs.read_text().splitlines() == ["run"] * (allowed + 1)
        # The cluster goes on.
        assert client.submit(abs, -1).result(LIMIT_SECONDS) == 1


def test_how_many_may_die_is_read_from_our_setting_before_dask_s() -> None:
    theirs, ours = (f"{who}.scheduler.allowed-failures" for who in ("distributed", "spanwise"))
    unset = {theirs: None}  # (whoever imports distributed has its default)
    for settings, found in ((unset, 3), ({theirs: 7}, 7), ({theirs: 7, ours: 0}, 0)):
        with dask.config.set(settings):
            assert allowed_failures() == found
    for wrong in (-1, "3", 2.5, True, 10_001):
        with (
            dask.config.set({theirs: wrong}),
            pytest.raises((TypeError, ValueError), match=rf"^{theirs} is a number of workers"),
        ):
            allowed_failures()
