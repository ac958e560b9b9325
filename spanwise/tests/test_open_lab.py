"""`scripts/run` prints one address, which opens the panels; JupyterLab's words go into a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanwise.tests.processes import wait_until

#: Says what JupyterLab says when it starts, and where it is, as it does; then waits to be ended.
_JUPYTERLAB = """
import json, os, pathlib, signal, sys, time
parent = os.getppid()
print("[W] Could not determine npm prefix: no such program")
print("[C] Or copy this URL: http://127.0.0.1:8888/lab?token=secret", file=sys.stderr)
if "ends" in os.environ["HOW"]:
    sys.exit(3)
place = pathlib.Path(os.environ["JUPYTER_RUNTIME_DIR"], f"jpserver-{os.getpid()}.json")
part = place.with_suffix(".part")
part.write_text(json.dumps({"url": "http://127.0.0.1:8888/", "token": "secret"}))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
os.replace(part, place)
while os.getppid() == parent:
    time.sleep(0.2)
"""


class Started:
    """The script, and a program in the place of JupyterLab."""

    def __init__(self, checkout: Path, folder: Path, how: str) -> None:
        module = folder / "jupyterlab"
        module.mkdir()
        (module / "__init__.py").touch()
        (module / "__main__.py").write_text(_JUPYTERLAB)
        self.log = folder / ".build" / "lab.log"
        self._printed = folder / "printed"
        with self._printed.open("wb") as printed:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(checkout / "scripts" / "open_lab.py"),
                    "--no-open",
                    *("--root", str(folder)),
                    *("--log", ".build/lab.log"),
                    *("--notebook", "playground/a b.ipynb"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                env={**os.environ, "JUPYTER_RUNTIME_DIR": str(folder), "HOW": how},
            )

    def printed(self) -> str:
        return self._printed.read_text("utf8")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=200)


@pytest.fixture
def start(checkout: Path, tmp_path: Path) -> Iterator[Callable[[str], Started]]:
    pytest.importorskip("jupyter_core")
    made: list[Started] = []

    def start(how: str) -> Started:
        made.append(Started(checkout, tmp_path, how))
        return made[-1]

    yield start
    for each in made:
        if each.process.poll() is None:
            each.end()


def test_the_address_that_is_printed_opens_the_panels_and_is_the_only_one(
    start: Callable[[str], Started],
) -> None:
    begun = start("stays")
    wait_until("the address", lambda: "token=" in begun.printed())
    addresses = [line for line in begun.printed().splitlines() if "http" in line]
    assert addresses == [
        "   http://127.0.0.1:8888/lab/tree/playground/a%20b.ipynb?spanwise=default-layout&token=secret"
    ]
    assert "npm" not in begun.printed()
    assert ".build/lab.log" in begun.printed().splitlines()[0]
    assert "npm" in begun.log.read_text("utf8")
    # It has the token.
    assert begun.log.stat().st_mode & 0o777 == 0o600
    assert begun.end() == 0
    assert "ended" not in begun.printed()


def test_a_jupyterlab_that_ends_says_why(start: Callable[[str], Started]) -> None:
    begun = start("ends")
    assert begun.process.wait(timeout=200) == 1
    assert "JupyterLab ended with 3; its last lines:" in begun.printed()
    assert "Could not determine npm prefix" in begun.printed()
