"""Settings of memory: read from Dask's, refused with a sentence, and what workers make of them."""

from __future__ import annotations

import logging
import os
import re
import signal
import stat
import warnings
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
from distributed.worker_memory import parse_memory_limit

import spanwise
from spanwise import Client
from spanwise.client.launch import memory_per_worker
from spanwise.client.memory_settings import memory_settings
from spanwise.processes.abandoned import remove_tree
from spanwise.tests.processes import wait_until
from spanwise.tests.test_spill import MIB, Kept

DEFAULTS = {
    "target": 0.6,
    "spill": 0.7,
    "pause": 0.8,
    "terminate": 0.95,
    "maxSpill": None,
    "share": MIB,
    "folder": None,
}
THEIRS = "distributed.worker.memory."
OURS = "spanwise.worker.memory."


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, {}),
        ({THEIRS + "target": 0.5, OURS + "target": 0.4}, {"target": 0.4}),
        ({THEIRS + "spill": False, THEIRS + "pause": None}, {"spill": None, "pause": None}),
        ({THEIRS + "terminate": 0}, {"terminate": None}),
        ({THEIRS + "terminate": "0.9"}, {"terminate": 0.9}),
        ({THEIRS + "max-spill": "2 MiB"}, {"maxSpill": 2 * MIB}),
        ({THEIRS + "max-spill": False}, {}),
        ({OURS + "share": False}, {"share": None}),
        ({OURS + "share": "64 KiB"}, {"share": 65536}),
    ],
    ids=str,
)
def test_settings_are_dasks_unless_there_are_ours(
    given: dict[str, Any], found: dict[str, Any]
) -> None:
    with dask.config.set({"temporary-directory": None, **given}):
        assert memory_settings() == {**DEFAULTS, **found}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (THEIRS + "target", 60, "a share of the memory limit"),
        (THEIRS + "pause", "much", "a share of the memory limit"),
        (THEIRS + "pause", True, "a share of the memory limit"),
        (THEIRS + "spill", float("nan"), "a share of the memory limit"),
        (THEIRS + "max-spill", "a lot", "a number of bytes"),
        (THEIRS + "max-spill", -1, "a number of bytes"),
        (OURS + "share", 1000, "65,536 bytes or more"),
        ("temporary-directory", "/dev/null/files", "nothing can be written there"),
        ("temporary-directory", 7, "nothing can be written there"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_is_named(name: str, value: Any, why: str) -> None:
    with (
        dask.config.set({name: value}),
        pytest.raises(ValueError, match=re.escape(name)) as raised,
    ):
        memory_settings()
    assert why in str(raised.value)


@pytest.mark.parametrize(
    "given",
    ["auto", None, 0, "0", 0.25, 1.0, "0.5", 1, 300_000_000, "1GiB", "200 MB", 1e9, 10**15, 0.0],
)
def test_a_memory_limit_is_as_distributed_takes_it(given: Any) -> None:
    if given != "auto" and psutil.virtual_memory().total != parse_memory_limit(
        10**15, 1, 2, logger=logging.getLogger("quiet")
    ):
        pytest.skip("this machine allows less than it has")
    theirs = parse_memory_limit(given, 1, 10**6, logger=logging.getLogger("quiet"))
    if given == "auto":
        assert 0 < memory_per_worker(given, 1, 1) <= psutil.virtual_memory().total
    else:
        assert memory_per_worker(given, 1, 1) == (theirs or 0)


@pytest.mark.parametrize("given", ["much", -1, float("nan"), float("inf"), True, [1]])
def test_a_memory_limit_that_cannot_be(given: Any) -> None:
    with pytest.raises(ValueError, match="memory_limit is, per worker"):
        memory_per_worker(given, 1, 1)


def big(task_id: int) -> bytes:
    return bytes([task_id]) * MIB


def test_a_quota_is_told_once_and_is_no_end(tmp_path: Path) -> None:
    kept = Kept(tmp_path, 10 * MIB)
    kept.worker.spill.files._quota = 2.5 * MIB
    for task_id in range(1, 13):
        kept.keep(task_id, big(task_id))
        kept.worker.spill._retry_at = 0.0
        kept.worker.spill.make_room(kept.worker)
        assert kept.bytes_on_disk() <= 2.5 * MIB
    told = [fields for kind, fields in kept.sent if kind == "event"]
    assert len(told) == 1 and "max-spill allows 2 MiB for each worker" in told[0]["text"]
    assert all(kept.value(task_id) == big(task_id) for task_id in range(1, 13))
    kept.worker.table.release(range(1, 3))
    kept.worker.table.dropped.clear()
    kept.worker.spill._retry_at = 0.0
    kept.worker.spill.make_room(kept.worker)
    kinds = [fields["kind"] for kind, fields in kept.sent if kind == "event"]
    assert kinds == ["spill-failed", "spill-resumed", "spill-failed"]


def test_files_lie_elsewhere_and_go_with_the_link(tmp_path: Path) -> None:
    place = tmp_path / "scratch"
    place.mkdir()
    kept = Kept(tmp_path, 10 * MIB)
    kept.worker.spill.files._elsewhere = place
    for task_id in range(1, 9):
        kept.keep(task_id, big(task_id))
    kept.worker.spill.make_room(kept.worker)
    (folder,) = place.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and list(folder.iterdir())
    assert all(kept.value(task_id) == big(task_id) for task_id in range(1, 9))
    assert Path(kept.worker.object.local_directory).resolve().parent == folder
    remove_tree(kept.worker.folder)
    assert not list(place.iterdir()) and not kept.worker.folder.is_symlink()


def test_only_folders_of_workers_are_followed(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    link = tmp_path / "spill-1"
    link.symlink_to(theirs)
    remove_tree(link)
    assert theirs.exists()


def test_workers_follow_the_settings(tmp_path: Path) -> None:
    settings = {
        THEIRS + "target": 0.2,
        THEIRS + "terminate": False,
        THEIRS + "max-spill": "20 MiB",
        OURS + "share": False,
        "temporary-directory": str(tmp_path / "new"),
    }
    with (
        dask.config.set(settings),
        Client(n_workers=1, threads_per_worker=1, memory_limit="400 MiB") as client,
    ):
        (found,) = client.run(
            lambda dask_worker: (
                tuple(dask_worker._worker.thresholds),
                dask_worker._worker.segments.share_bytes,
            )
        ).values()
        assert found == ((0.2, 0.7, 0.8, float("inf")), 0)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            kept = [client.submit(bytes, 10 * MIB, pure=False) for _ in range(12)]
            spanwise.wait(kept)
            wait_until(
                "the quota is told", lambda: any("max-spill" in str(each.message) for each in told)
            )
        (folder,) = (tmp_path / "new").iterdir()
        assert 0 < sum(file.stat().st_size for file in folder.iterdir()) <= 20 * MIB
        (pid,) = client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        wait_until("what it wrote is gone", lambda: not folder.exists())
        client.submit(bytes, 10 * MIB, pure=False).result()
    assert not list((tmp_path / "new").iterdir())
