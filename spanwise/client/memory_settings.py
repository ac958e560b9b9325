"""What workers do as their memory fills: Dask's settings, read where a cluster is started.

``spanwise.worker.memory.…`` goes before ``distributed.worker.memory.…``::

    target spill pause terminate   shares of the memory limit, False: never
    max-spill                      bytes on a worker's disk, False: no limit
    share                          results from so many bytes on are in shared memory, False: none

``temporary-directory`` says where spilled results lie.
"""

from __future__ import annotations

import tempfile
from math import isfinite
from pathlib import Path
from typing import Any

import dask
from dask.utils import parse_bytes

from spanwise.client.settings import first_setting

#: As `spanwise.measure.memory` has them.
_SHARES = {"target": 0.60, "spill": 0.70, "pause": 0.80, "terminate": 0.95}
#: No smaller results are worth a descriptor.
_LEAST_SHARED_BYTES = 64 * 1024
_SHARED_BYTES = 2**20


def memory_settings() -> dict[str, Any]:
    """Return the field `memory` of the settings; null in it: never, or no limit.

    Raises
    ------
    ValueError
        A setting cannot be understood, or there is no such folder and none can be made.
    """
    shares = {name: _share(name, default) for name, default in _SHARES.items()}
    shared = _bytes("share", _SHARED_BYTES)
    if shared is not None and shared < _LEAST_SHARED_BYTES:
        raise ValueError(
            f"spanwise.worker.memory.share is False, or {_LEAST_SHARED_BYTES:,} bytes or more: "
            f"smaller results go faster through a socket (it is {shared:,})"
        )
    return {
        **shares,
        "maxSpill": _bytes("max-spill", False),
        "share": shared,
        "folder": _spill_folder(),
    }


def _setting(name: str, default: Any) -> tuple[str, Any]:
    names = [f"{package}.worker.memory.{name}" for package in ("spanwise", "distributed")]
    return first_setting(names, default)


def _share(name: str, default: float) -> float | None:
    full, value = _setting(name, default)
    if value is None or value is False:
        return None
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = float("nan")
    if value is True or not 0 <= share <= 1:
        raise ValueError(
            f"{full} is a share of the memory limit, such as {default}, or False for never: "
            f"not {value!r}"
        )
    return share or None


def _bytes(name: str, default: Any) -> int | None:
    full, value = _setting(name, default)
    if value is None or value is False:
        return None
    try:
        nbytes = parse_bytes(value)
    except (TypeError, ValueError):
        nbytes = -1
    if value is True or not isfinite(nbytes) or nbytes <= 0:
        raise ValueError(f'{full} is a number of bytes, such as "10 GiB", or False: not {value!r}')
    return int(nbytes)


def _spill_folder() -> str | None:
    """Where spilled results lie; None: in the cluster's folder."""
    found = dask.config.get("temporary-directory", None)
    if not found:
        return None
    try:
        folder = Path(found).expanduser().absolute()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(
            f"temporary-directory is {found!r}, where workers would write results that do not fit "
            f"into memory, and nothing can be written there ({error}). Set another, or None"
        ) from error
