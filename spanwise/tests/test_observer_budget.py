"""What the observer may keep: the setting ``spanwise.observer.budget``."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest

import spanwise
from spanwise.observed import own_observer
from spanwise.observed.find_observer import OBSERVER_VARIABLE
from spanwise.observed.own_observer import OwnObserver
from spanwise.processes.observer_budget import SETTING, observer_budget
from spanwise.server import supervisor as server_supervisor
from spanwise.server.supervisor import ObserverUnavailable, Supervisor, observer_starter

WRONG = ["4 GiBs", "much", "", True, False, -1, 4, "0", float("nan"), float("inf"), [], {}]


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No server's observer, and none that is named, in place of one's own."""
    monkeypatch.delenv(OBSERVER_VARIABLE, raising=False)
    monkeypatch.setattr("spanwise.observed.find_observer.server_file", lambda: None)
    yield


@pytest.mark.parametrize(
    ("said", "nbytes"),
    [
        (None, 1 << 30),
        ("4 GiB", 4 << 30),
        ("1.5 GB", 1_500_000_000),
        ("512MiB", 1 << 29),
        (1 << 33, 1 << 33),
        (2e9, 2_000_000_000),
    ],
)
def test_it_has_the_form_of_dasks_settings(said: Any, nbytes: int) -> None:
    with dask.config.set({SETTING: said}):
        assert observer_budget() == nbytes


@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_size_is_refused_by_name(said: Any) -> None:
    with dask.config.set({SETTING: said}), pytest.raises(ValueError, match=re.escape(SETTING)):
        observer_budget()


@pytest.mark.parametrize("begin", [spanwise.observe, lambda: spanwise.Client(n_workers=1)])
def test_who_would_start_an_observer_is_told(begin: Any) -> None:
    with dask.config.set({SETTING: "much"}), pytest.raises(ValueError, match=re.escape(SETTING)):
        begin()


def test_each_observer_of_a_script_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []

    def start(secret: bytes, transport: str, budget: int, folder: Path | None = None) -> Any:
        given.append(budget)
        raise OSError("enough")

    monkeypatch.setattr(own_observer, "start_observer", start)
    with dask.config.set({SETTING: "3 GiB"}), pytest.raises(OSError, match="enough"):
        OwnObserver()
    assert given == [3 << 30]


def test_a_jupyter_servers_observer_gets_it_unless_the_server_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[int] = []
    monkeypatch.setattr(
        server_supervisor, "start_observer", lambda *options: given.append(options[2])
    )
    with dask.config.set({SETTING: "3 GiB"}):
        observer_starter(tmp_path, "unix", None)()
        observer_starter(tmp_path, "unix", 1 << 28)()
    observer_starter(tmp_path, "unix", None)()
    assert given == [3 << 30, 1 << 28, 1 << 30]


@pytest.mark.asyncio
async def test_pages_of_a_jupyter_server_are_told_what_is_wrong(tmp_path: Path) -> None:
    supervisor = Supervisor(observer_starter(tmp_path, "unix", None), logging.getLogger("test"))
    with (
        dask.config.set({SETTING: "much"}),
        pytest.raises(ObserverUnavailable, match=re.escape(SETTING)),
    ):
        await supervisor.ensure()
    await supervisor.stop()
