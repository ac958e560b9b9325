"""Which version and which build this is."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGE = Path(__file__).parent


def read_version() -> str:
    """Return the version of the installed distribution.

    In a checkout that is not installed, it is the version in ``package.json``,
    the one place where it is written.
    """
    try:
        return version("spanwise")
    except PackageNotFoundError:
        package_json = _PACKAGE.parent / "package.json"
        return str(json.loads(package_json.read_text("utf8"))["version"])


def read_build() -> str:
    """Return the hash of the Node bundle, 12 hex digits, or ``"unbuilt"``.

    Two sides of a link show it when they refuse each other.
    """
    try:
        build = json.loads((_PACKAGE / "node" / "build.json").read_text("utf8"))
    except FileNotFoundError:
        return "unbuilt"
    return str(build["build"])
