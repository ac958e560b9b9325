"""Functions that queries run on the workers; they import nothing that a worker would not."""

from __future__ import annotations

import linecache
import logging
import os
import platform
import struct
import sys
import threading
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from types import FrameType
from typing import Any

from spanwise.current_frames import current_frames

#: As `distributed` lists them; those that are not installed have None.
PACKAGES = (
    "spanwise",
    "dask",
    "distributed",
    "msgpack",
    "cloudpickle",
    "toolz",
    "numpy",
    "pandas",
)


def versions_here(packages: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """System and packages of this process, as `distributed` tells them."""
    system = platform.uname()
    return {
        "host": {
            "python": ".".join(map(str, sys.version_info)),
            "python-bits": struct.calcsize("P") * 8,
            "OS": system.system,
            "OS-release": system.release,
            "machine": system.machine,
            "processor": system.processor,
            "byteorder": sys.byteorder,
            "LC_ALL": os.environ.get("LC_ALL", "None"),
            "LANG": os.environ.get("LANG", "None"),
        },
        "packages": {
            "python": ".".join(map(str, sys.version_info)),
            **{name: _version(name) for name in (*PACKAGES, *packages)},
        },
    }


def logs_here(n: int | None) -> tuple[tuple[str, str], ...]:
    """What this worker keeps of its logs, the newest first; see `spanwise/worker/logs.py`."""
    for handler in logging.getLogger("spanwise.worker").handlers:
        kept = getattr(handler, "kept", None)
        if kept is not None:
            newest = tuple(reversed(kept.copy()))
            return newest if n is None else newest[: max(0, n)]
    return ()


def machinery_here(
    start: float, stop: float
) -> tuple[float, list[tuple[tuple[tuple[str, str, int], ...], int]]]:
    """The interval and the samples of this worker's own threads: `spanwise/worker/machinery.py`."""
    for thread in threading.enumerate():
        machinery = getattr(thread, "machinery", None)
        if machinery is not None:
            return machinery.interval, machinery.samples(start, stop)
    return 0.0, []


def _version(name: str) -> str | None:
    # A module that is imported tells what runs, also when another was installed since.
    said = getattr(sys.modules.get(name), "__version__", None)
    if isinstance(said, str):
        return said
    try:
        return version(name)
    except Exception:  # noqa: BLE001 (not installed, or its metadata is broken)
        return None


def stacks_here() -> dict[int, list[str]]:
    """What runs here: the scheduler's id of each task to its frames, the outermost first."""
    frames: Mapping[int, FrameType] = current_frames()
    found = {}
    for thread in threading.enumerate():
        # Only threads that run tasks have these.
        row, frame = getattr(thread, "row", None), frames.get(thread.ident or 0)
        if row is not None and frame is not None and not getattr(thread, "reporting", False):
            found[row[0]] = _lines(frame)
    return found


def _lines(frame: FrameType | None) -> list[str]:
    lines: list[str] = []
    while frame is not None:
        code = frame.f_code
        source = linecache.getline(code.co_filename, frame.f_lineno or 0, frame.f_globals).lstrip()
        place = f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_name}'
        lines.append(f"{place}\n\t{source}")
        frame = frame.f_back
    return lines[::-1]
