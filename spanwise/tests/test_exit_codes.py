"""What is said of a worker that a task has ended, by an exit code that Spanwise has not chosen."""

from __future__ import annotations

import os

import pytest

from spanwise import Client, KilledWorker, span

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
