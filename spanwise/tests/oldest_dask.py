"""Tests of the bridge where Dask is of the oldest release that it is for: a plugin of pytest.

    python -m pytest --noconftest -p spanwise.tests.oldest_dask FILE...

`conftest.py` cannot be imported there, since Spanwise's own client needs a newer Dask. What cannot
be shown with the oldest is left out by name, and why stands beside it; the run says so.
"""

from __future__ import annotations

import pytest

pytest_plugins = ["spanwise.tests.every_test"]

_CLIENT = "Spanwise's own client and its blocks are made of graphs of a newer Dask"
LEFT_OUT = {
    "test_dask_attach.py::test_a_block_ends_while_the_scheduler_stands_still": _CLIENT,
    "test_dask_ends.py::test_a_client_of_spanwise_is_one_of_those_who_watch": _CLIENT,
    "test_dask_ends.py::test_a_notebook_does_not_offer_what_its_client_of_spanwise_watches": (
        _CLIENT
    ),
    "test_dask_fine_metrics.py::test_tasks_of_a_graph_that_was_fused_are_inferred": (
        "clients fuse there, and a scheduler is not shown which tasks are fused (docs/dask.md)"
    ),
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs more than there is."""
    left_out = [item for item in items if _name_of(item) in LEFT_OUT]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _name_of(item: pytest.Item) -> str:
    """Name a test with its file, and without its parameters."""
    return f"{item.path.name}::{item.name.partition('[')[0]}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what is left out of all files, and why."""
    for name, why in LEFT_OUT.items():
        terminalreporter.write_line(f"left out: {name}: {why}")
