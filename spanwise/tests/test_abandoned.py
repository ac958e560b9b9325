"""Files of dead schedulers are removed, or the user is told that they stay."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from spanwise.processes.abandoned import mark_as_own, remove_abandoned, remove_spilled
from spanwise.processes.process_state import started
from spanwise.tests.descriptors import without_descriptors
from spanwise.tests.warned import of_the_block, warnings_as_errors


def leave(folder: Path, listened: bool = True) -> Path:
    """A folder as that of a scheduler which was killed; returns a spilled result."""
    file = folder / "spill-0" / "1"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"result")
    if listened:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(folder / "scheduler.sock"))
            door.listen()
    return file


def test_without_descriptors_the_user_is_told_what_stays_and_the_next_client_removes_it(
    tmp_path: Path,
) -> None:
    file = leave(tmp_path / "spanwise-dead")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with without_descriptors():
            remove_abandoned(tmp_path)
            remove_spilled(tmp_path / "spanwise-dead", patience_seconds=0.1)
    assert file.exists()
    ours = [str(each.message) for each in of_the_block(told)]
    assert len(ours) == 2
    for sentence in ours:
        assert "Too many open files" in sentence
        assert f"{tmp_path}/spanwise-" in sentence
    with warnings_as_errors():
        remove_abandoned(tmp_path)
    assert not file.parent.exists()


def test_it_is_tried_again_when_descriptors_are_back(tmp_path: Path) -> None:
    file = leave(tmp_path / "spanwise-dead")
    removing = threading.Thread(target=remove_spilled, args=(tmp_path / "spanwise-dead",))
    with without_descriptors():
        removing.start()
        removing.join(0.3)
        assert removing.is_alive()
    removing.join(60)
    assert not file.parent.exists()


def test_a_folder_that_has_gone_or_is_none_is_nothing_to_tell_of(tmp_path: Path) -> None:
    (tmp_path / "spanwise-file").touch()
    with warnings_as_errors():
        remove_spilled(tmp_path / "spanwise-gone")
        remove_spilled(tmp_path / "spanwise-file")
        remove_abandoned(tmp_path)


@pytest.mark.parametrize("name", ["spill-0", "other"])
def test_only_what_was_spilled_is_removed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    remove_spilled(tmp_path)
    assert (tmp_path / name).exists() == (name == "other")


def test_the_folder_of_a_killed_worker_command_goes_and_no_other(tmp_path: Path) -> None:
    folders = {name: tmp_path / f"spanwise-{name}" for name in ("lives", "ended", "unread")}
    for folder in folders.values():
        (folder / "spill-0").mkdir(parents=True, mode=0o700)
    mark_as_own(folders["lives"])
    ended = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = {"pid": ended.pid, "started": started(ended.pid)}
    ended.communicate()
    (folders["ended"] / "owner.json").write_text(json.dumps(owner))
    (folders["unread"] / "owner.json").write_text("nothing")
    remove_abandoned(tmp_path)
    assert {name for name, folder in folders.items() if folder.exists()} == {"lives", "unread"}
