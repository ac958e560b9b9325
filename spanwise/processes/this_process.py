"""Facts about this process: its kernel, notebook, name, and versions of packages."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Packages whose versions must agree between the client and the workers.
VERSIONED = ("spanwise", "dask", "cloudpickle", "msgpack", "numpy", "pandas", "pyarrow")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages above that are installed."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # an optional package, or a checkout
    return found


def kernel_id() -> str | None:
    """The id of the Jupyter kernel that this process is, or None."""
    # (the module has no such class while another thread imports it: then this is no kernel yet)
    kernel = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    if kernel is None or not kernel.initialized():
        return None
    name = Path(kernel.instance().connection_file).stem
    return name.removeprefix("kernel-")


def notebook_path() -> str | None:
    """The path of the notebook as the Jupyter server told its kernel, or None.

    A script that a cell has started inherits what its kernel was told.
    """
    return None if kernel_id() is None and _script() else os.environ.get("JPY_SESSION_NAME")


def notebook() -> dict[str, str] | None:
    """The kernel's id, and the path of its notebook if it is known; None: it is no kernel."""
    kernel = kernel_id()
    if kernel is None:
        return None
    path = notebook_path()
    return {"kernelId": kernel, **({"path": path} if path else {})}


def default_name() -> str:
    """The notebook's or script's name, as panels show it."""
    path = notebook_path()
    if path is None and kernel_id() is None:
        path = _script()
    return Path(path).stem if path else "python"


def _script() -> str | None:
    """The file that this process runs."""
    return getattr(sys.modules.get("__main__"), "__file__", None)
