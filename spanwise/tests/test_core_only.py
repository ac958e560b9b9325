"""Dask's small core alone: no numpy, no pandas, no pyarrow, in the program and in the workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spanwise
from spanwise.tests import core_program

#: Python imports it at the start of each process that has its folder on the path.
SITE = f"""
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {core_program.ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Absent())
"""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Return the environment of processes in which these packages cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(SITE, "utf8")
    package = Path(spanwise.__file__).parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(package)])}


def test_the_packages_are_absent(variables: dict[str, str]) -> None:
    for name in core_program.ABSENT:
        done = subprocess.run(
            [sys.executable, "-c", f"import {name}"],
            env=variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert f"No module named {name!r}" in done.stderr


def test_graphs_run_and_are_recorded(variables: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, core_program.__file__],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    core_program.check(json.loads(done.stdout))
