"""The Jupyter servers of the browser tests end with who started them, whenever that is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise.tests import address_grammar
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import wait_until

#: In place of JupyterLab: one that never answers, and misses the first signal.
_SERVER = """
import itertools, pathlib, signal, sys, time

signals = itertools.count(1)
signal.signal(signal.SIGTERM, lambda *_: next(signals) == 2 and sys.exit())
pathlib.Path("begun").touch()
while True:
    time.sleep(600)
"""
_MODULES = {
    "jupyterlab/__init__.py": "",
    "jupyterlab/__main__.py": _SERVER,
    "jupyterlab/labapp.py": "",
    "spanwise/__init__.py": "",
    "spanwise/server/__init__.py": "",
    "spanwise/server/extension.py": "",
    "spanwise/tests/__init__.py": "",
    "spanwise/tests/address_grammar.py": Path(address_grammar.__file__).read_text("utf-8"),
}

#: Ends when the server has begun.
_OWNER = """
import pathlib, subprocess, sys, time

subprocess.Popen([sys.executable, *sys.argv[1:]])
while not pathlib.Path("begun").exists():
    time.sleep(0.01)
"""
#: The program is killed before its server has done anything.
_KILLED_AT_ONCE = """
import os, runpy, signal, sys, time

fork = os.fork

def fork_and_kill():
    parent = os.getpid()
    pid = fork()
    if pid == 0:
        os.kill(parent, signal.SIGKILL)
        while os.getppid() == parent:
            time.sleep(0.01)
    return pid

os.fork = fork_and_kill
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def arguments(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    """Of Python, for the program with one server that it finds in the working folder."""
    for name, text in _MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    # (nobody listens at the port)
    server = {"name": "one", "port": 9, "path": "/", "variables": {}}
    monkeypatch.setenv("SPANWISE_BROWSER_SERVERS", json.dumps([server]))
    monkeypatch.chdir(tmp_path)
    known = set(marked_processes())
    yield [str(checkout / "ui-tests" / "programs" / "jupyter_servers.py"), "no-config"]
    wait_until("all to be gone", lambda: not set(marked_processes()) - known)


def test_when_the_owner_ends_before_they_answer(arguments: list[str]) -> None:
    subprocess.run([sys.executable, "-c", _OWNER, *arguments], check=True, timeout=100)


def test_when_the_program_is_killed(arguments: list[str]) -> None:
    with subprocess.Popen([sys.executable, *arguments]) as program:
        wait_until("the server has begun", Path("begun").exists)
        program.kill()


def test_when_the_program_is_killed_before_they_watch_it(arguments: list[str]) -> None:
    subprocess.run([sys.executable, "-c", _KILLED_AT_ONCE, *arguments], check=False, timeout=100)
