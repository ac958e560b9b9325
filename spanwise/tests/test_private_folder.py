"""Folders for sockets when the usual one has a long path."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spanwise import Client
from spanwise.server.runtime_folder import sweep
from spanwise.wire.addresses import UNIX_PATH_BYTES
from spanwise.wire.private_folder import (
    RESERVED_BYTES,
    is_safe,
    make_private_folder,
    write_private,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no unix sockets")


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """TMPDIR, too long for sockets."""
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("SPANWISE_TRANSPORT", raising=False)
    return folder


@pytest.fixture
def short() -> Iterator[Path]:
    """A short folder of one's own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_the_usual_folder_if_it_is_short(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    folder = make_private_folder()
    assert folder.parent == short
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()


def test_a_shorter_one_that_is_safe(long: Path, short: Path) -> None:
    folder = make_private_folder(shorter=["/nowhere", str(short)])
    assert folder.parent == short
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and folder.stat().st_uid == os.getuid()
    assert len(os.fsencode(folder)) + RESERVED_BYTES <= UNIX_PATH_BYTES
    folder.rmdir()


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_none_that_others_may_change(long: Path, short: Path, mode: int) -> None:
    short.chmod(mode)
    folder = make_private_folder(shorter=[str(short), "relative", str(long)])
    short.chmod(0o700)
    assert folder.parent == long


def test_what_is_safe(short: Path) -> None:
    assert is_safe(str(short))
    short.chmod(0o1777)
    assert is_safe(str(short)), "each takes away only what is his"
    short.chmod(0o777)
    assert not is_safe(str(short))
    short.chmod(0o700)
    file = short / "file"
    file.touch()
    assert not is_safe(str(file)) and not is_safe("relative") and not is_safe(str(short / "none"))


def test_a_folder_is_as_safe_as_those_above_it(short: Path) -> None:
    inner = short / "mine" / "inner"
    inner.mkdir(parents=True, mode=0o700)
    link = short / "link"
    link.symlink_to(inner)
    assert is_safe(str(inner)) and is_safe(str(link))
    short.chmod(0o777)
    assert not is_safe(str(inner)), "somebody may put another folder in the place of mine"
    assert not is_safe(str(link))
    short.chmod(0o1777)
    assert is_safe(str(inner))
    short.chmod(0o700)


def test_tcp_needs_no_short_path(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_TRANSPORT", "tcp")
    assert make_private_folder().parent == long


def test_a_cluster_starts_with_a_long_tmpdir(long: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        assert client.submit(sum, [1, 2]).result(60) == 3
        assert client._scheduler is not None
        folder = client._scheduler.folder
        assert not folder.is_relative_to(long)
    assert not folder.exists()


def test_a_private_file_is_there_when_it_is_whole(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = short / "server.json"
    seen = []
    fdopen = os.fdopen

    def looked_at(*args: Any, **kwargs: Any) -> Any:
        file = fdopen(*args, **kwargs)
        write = file.write

        def written(text: str) -> int:
            seen.append(path.exists())
            count: int = write(text)
            file.flush()
            seen.append(path.exists())
            return count

        file.write = written
        return file

    monkeypatch.setattr(os, "fdopen", looked_at)
    write_private(path, "whole")
    assert seen == [False, False]
    assert path.read_text() == "whole"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in short.iterdir()] == [path.name]


def test_of_a_private_file_that_cannot_be_written_nothing_stays(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no room"):
        write_private(short / "server.json", "whole")
    assert not list(short.iterdir())


@pytest.mark.parametrize("has_links", [True, False])
def test_a_private_file_takes_the_place_of_none(
    short: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    """Nor is what a killed process has left of it in the way."""

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not has_links:
        monkeypatch.setattr(os, "link", no_links)
    path = short / "server.json"
    (short / "server.json.new").write_text("ha")
    write_private(path, "mine")
    assert path.read_text() == "mine" and stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        write_private(path, "another")
    assert path.read_text() == "mine"
    assert {each.name for each in short.iterdir()} == {"server.json", "server.json.new"}


def test_what_a_killed_server_has_left_unfinished_is_swept(short: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    names = {
        "old": f"spanwise-{dead.pid}-0a1b2c3d.json.4e5f6071.new",
        "just being written": f"spanwise-{dead.pid}-0a1b2c3d.json.4e5f6072.new",
        "of a server that lives": f"spanwise-{os.getpid()}-0a1b2c3d.json.4e5f6071.new",
        "somebody else's": f"spanwise-{dead.pid}-notes.new",
    }
    for what, name in names.items():
        (short / name).write_text('{"token": "secr')
        if what != "just being written":
            os.utime(short / name, (1.0, 1.0))
    sweep(short)
    assert {each.name for each in short.iterdir()} == {*names.values()} - {names["old"]}
