"""What is said of a worker that a task has ended, by an exit code that Spanwise has not chosen."""

from __future__ import annotations

import os

import pytest

from spanwise import Client, KilledWorker

LIMIT_SECONDS = 120.0


@pytest.mark.parametrize("code", [0, 4])
def test_a_code_that_a_task_has_chosen_is_told_as_it_is(code):
    """They were taken for Spanwise's own: "has closed", "used more memory than its limit"."""
    with (
        Client(n_workers=1, threads_per_worker=1) as client,
        pytest.raises(KilledWorker, match=rf"ended with exit code {code}\."),
    ):
        client.submit(os._exit, code).result(LIMIT_SECONDS)
