"""Settings of the profile: read from Dask's, refused with a sentence, followed by workers."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import dask
import pytest

from spanwise import Client
from spanwise.client.profile_settings import profile_settings
from spanwise.observed.profiles import SWITCHED_OFF, empty_tree
from spanwise.tests.test_profile import held

DEFAULTS = {"scheduler": False, "enabled": True, "interval": 0.01, "cycle": 1.0}
THEIRS = "distributed.worker.profile."
OURS = "spanwise.worker.profile."
#: Whatever others have set.
NONE = {f"{THEIRS}{name}": None for name in DEFAULTS}


@pytest.fixture
def _without_distributed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `distributed` has been imported, Dask gives the names of old their new ones."""
    for name in ("profile-interval", "profile-cycle-interval"):
        monkeypatch.delitem(dask.config.deprecations, name, raising=False)


@pytest.mark.usefixtures("_without_distributed")
@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, {}),
        ({THEIRS + "interval": "50ms", OURS + "interval": "20 ms"}, {"interval": 0.02}),
        ({THEIRS + "interval": 5, THEIRS + "cycle": "2s"}, {"interval": 0.005, "cycle": 2.0}),
        ({THEIRS + "enabled": False}, {"enabled": False}),
        ({"spanwise.scheduler.profile": True}, {"scheduler": True}),
        ({THEIRS + "enabled": False, OURS + "enabled": True}, {}),
        (
            {"profile-interval": "30ms", "profile-cycle-interval": 500},
            {"interval": 0.03, "cycle": 0.5},
        ),
        ({"profile-interval": "30ms", THEIRS + "interval": "40ms"}, {"interval": 0.04}),
    ],
    ids=str,
)
def test_settings_are_dasks_unless_there_are_ours(
    given: dict[str, Any], found: dict[str, Any]
) -> None:
    with dask.config.set({**NONE, **given}):
        assert profile_settings() == pytest.approx({**DEFAULTS, **found})


@pytest.mark.usefixtures("_without_distributed")
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (THEIRS + "interval", "often", "a time such as"),
        (THEIRS + "interval", True, "a time such as"),
        (THEIRS + "interval", float("nan"), "a time such as"),
        (THEIRS + "interval", 0, "from 1 ms to 60 s"),
        (OURS + "interval", "1us", "from 1 ms to 60 s"),
        (THEIRS + "cycle", "1h", "from 1 ms to 60 s"),
        ("profile-cycle-interval", [1], "a time such as"),
        (THEIRS + "enabled", "no", "True or False"),
        ("spanwise.scheduler.profile", 1, "True or False"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_is_named(name: str, value: Any, why: str) -> None:
    with (
        dask.config.set({**NONE, name: value}),
        pytest.raises(ValueError, match=re.escape(name)) as raised,
    ):
        profile_settings()
    assert why in str(raised.value)


def spin(seconds: float) -> None:
    """Compute for so long."""
    begin = time.perf_counter()
    while time.perf_counter() < begin + seconds:
        pass


@pytest.mark.parametrize("interval", [0.002, 0.05, 0.2])
def test_a_sample_stands_for_the_interval(interval: float) -> None:
    with (
        dask.config.set({**NONE, OURS + "interval": interval * 1000}),
        Client(n_workers=1, threads_per_worker=1) as client,
    ):
        client.gather([client.submit(spin, 0.5, key=f"spin-{n}") for n in range(3)])
        took = held(client, "spin")
        tree = client.profile(key="spin")
        # Each look stands for the time since the one before, however late it comes, up to a second.
        assert 0.5 * took < tree["count"] * interval < 1.1 * took + 2 * interval
        answer = client._observed.profile(key="spin").answer
        assert answer["page"]["sampleSeconds"] == pytest.approx(interval)


def test_switched_off_nothing_is_sampled_and_a_file_says_so(tmp_path: Path) -> None:
    with (
        dask.config.set({**NONE, THEIRS + "enabled": False}),
        Client(n_workers=1, threads_per_worker=1) as client,
    ):
        client.submit(spin, 0.3, key="spin-1").result()
        assert client.profile() == empty_tree()
        assert client._observed.profile().missing == SWITCHED_OFF
        client.profile(filename=tmp_path / "none.html")
        # The rest is measured all the same.
        (record,) = client.get_task_stream()
        assert record["name"] == "spin"
        assert client.fine_metrics().by_activity()["thread-cpu"] > 0
