"""Which version and which build this is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parent


def read_version() -> str:
    """Return the version of this package.

    It was written beside the Node bundle when that was built: the distribution's metadata say
    the same, and their reader takes a fifth of the time in which a worker starts. In a checkout
    without a bundle it is the version in ``package.json``, the one place where it is written.
    """
    build = _build()
    if build is not None:
        return str(build["version"])
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("spanwise")
    except PackageNotFoundError:
        package_json = _PACKAGE.parent / "package.json"
        return str(json.loads(package_json.read_text("utf8"))["version"])


def read_build() -> str:
    """Return the hash of the Node bundle, 12 hex digits, or ``"unbuilt"``.

    Two sides of a link show it when they refuse each other.
    """
    build = _build()
    return "unbuilt" if build is None else str(build["build"])


def _build() -> Any:
    try:
        return json.loads((_PACKAGE / "node" / "build.json").read_text("utf8"))
    except FileNotFoundError:
        return None
