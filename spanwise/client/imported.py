"""Which modules this process has imported: workers import them while they wait for tasks."""

from __future__ import annotations

import sys
from itertools import chain

import dask

#: Enough for numpy, pandas, scipy and a model's library at once; a name is some 30 bytes.
MOST_MODULES = 1000

#: Nearly every task wants it, for the size of its result: workers import it at once, whatever
#: the setting says.
ALWAYS = ("dask.sizeof",)
#: Slow to import and nearly always wanted: workers do these at once, and not only while they wait.
FIRST = ("numpy", "pandas", "dask.array", "dask.bag", "dask.dataframe")

#: Packages of notebooks, debuggers and test runners, those that draw (bokeh alone has 700 modules,
#: which would leave no room for others), and those that workers have anyway.
_NOT_FOR_TASKS = frozenset(
    (
        *sys.stdlib_module_names,
        *("__main__", "__mp_main__", "spanwise", "cloudpickle", "msgpack", "psutil"),
        *("IPython", "ipykernel", "ipywidgets", "comm", "traitlets", "zmq", "tornado"),
        *("jedi", "parso", "prompt_toolkit", "pygments", "pexpect", "ptyprocess", "nbformat"),
        *("nbclient", "matplotlib_inline", "stack_data", "executing", "asttokens", "pure_eval"),
        *("bokeh", "matplotlib", "mpl_toolkits", "plotly"),
        *("debugpy", "pytest", "pluggy", "iniconfig", "coverage", "hypothesis"),
        *("setuptools", "pkg_resources", "pip", "sitecustomize", "usercustomize"),
    )
)


def is_wanted() -> bool:
    """Whether workers are to import anything before a task needs it."""
    return bool(dask.config.get("spanwise.worker.import-ahead", True))


def imported_modules() -> list[str]:
    """Names of modules in files that this process has imported, packages before what is in them."""
    if not is_wanted():
        return []
    first = [name for name in FIRST if name in sys.modules]
    packages: list[str] = []
    within: list[str] = []
    for name, module in list(sys.modules.items()):
        if "_pytest" in name or not _is_for_tasks(name):
            continue
        spec = getattr(module, "__spec__", None)
        # Aliases, and modules that a program made itself, cannot be imported by this name.
        if getattr(spec, "name", None) != name or not getattr(spec, "has_location", False):
            continue
        if getattr(spec, "_initializing", False):
            continue
        (within if "." in name else packages).append(name)
    return list(dict.fromkeys(chain(first, packages, within)))[:MOST_MODULES]


def _is_for_tasks(name: object) -> bool:
    """Leave out names with a leading underscore: their package imports them."""
    if not isinstance(name, str):
        return False
    top, *inner = name.split(".")
    if top in _NOT_FOR_TASKS or top.startswith(("_", "jupyter", "pydev")):
        return False
    return not any(part.startswith("_") for part in inner)
