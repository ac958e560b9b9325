"""A file that no import finds, as a module: a script, an example, what a test has written."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def module_of_file(name: str, place: Path) -> ModuleType:
    """Run a file as a module of that name, which nobody else can import."""
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
