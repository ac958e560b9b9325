"""Imports and relative paths as the client has them."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

#: Folders and archives that stand before the client's own path: what was uploaded.
_FIRST: list[str] = []


def search_first(entry: str) -> None:
    """Have modules looked for in a folder or archive before all others."""
    if entry not in _FIRST:
        _FIRST.insert(0, entry)
    sys.path[:] = [*_FIRST, *(each for each in sys.path if each not in _FIRST)]


def follow_launch(path: list[str], cwd: str) -> None:
    """Take over the client's `sys.path` and working directory.

    The worker's own entries stay at the end, so that it goes on finding what it is
    made of. A directory that does not exist any more is left out: the client may still
    be in one that has been removed.
    """
    try:
        # (a name that is too long, or a folder above that is closed, is an error and no False)
        if cwd and Path(cwd).is_dir():
            os.chdir(cwd)
    except OSError as error:
        # Written to the scheduler's log. Tasks that do not need the folder go on.
        sys.stderr.write(f"This worker cannot work in the client's folder: {error!s:.500}\n")
    wanted = [*_FIRST]
    for entry in path:
        # The empty entry is the directory of a notebook or of an interactive session.
        full = entry or cwd or str(Path.cwd())
        if full not in wanted:
            wanted.append(full)
    wanted += [entry for entry in sys.path if entry and entry not in wanted]
    sys.path[:] = wanted
    # Finders remember directory listings; helper.py may be newer than these.
    importlib.invalidate_caches()
