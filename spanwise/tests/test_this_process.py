"""What a process is called, and whose notebook it says it is of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise.processes import this_process

CODE = "from spanwise.processes import this_process as it; print(it.default_name(), it.notebook())"


def told_by(*arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def test_a_script_that_a_cell_has_started_has_its_own_name(tmp_path: Path) -> None:
    script = tmp_path / "nightly.py"
    script.write_text(CODE.replace("it.notebook()", "it.notebook_path()"))
    assert told_by(str(script), JPY_SESSION_NAME="/home/ada/mine.ipynb") == "nightly None"


def test_a_kernel_has_the_name_of_its_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ada/mine.ipynb")
    monkeypatch.setattr(this_process, "kernel_id", lambda: "1-2")
    assert this_process.default_name() == "mine"
    assert this_process.notebook() == {"kernelId": "1-2", "path": "/home/ada/mine.ipynb"}


def test_a_kernel_of_another_kind_has_it_too() -> None:
    """Its language is Python, and it is not ipykernel's: it runs no file."""
    assert told_by("-c", CODE, JPY_SESSION_NAME="/home/ada/mine.ipynb") == "mine None"
