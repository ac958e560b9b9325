"""The environment of a kernel that does not run: its interpreter is asked."""

from __future__ import annotations

import asyncio
import json
import os
import re
import string
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spanwise.server.default_clusters import NoCluster

#: It imports dask, on a cold machine for many seconds.
ASK_SECONDS = 60.0
#: Interpreters that are asked at a time: each is a process.
_AT_A_TIME = 2
_MARK = "spanwise-settings:"
_PROGRAM = (
    # Beside a notebook may lie files that are called as modules are.
    "import sys; sys.path[:] = [each for each in sys.path if each]; import json; "
    "from spanwise.client.default_cluster import settings_to_join_with as s; "
    f"print({_MARK!r} + json.dumps(s()))"
)
#: These names in a kernelspec mean the interpreter of the Jupyter server.
_OWN = {"python", "python3", f"python3.{sys.version_info.minor}"}

#: Of an interpreter, in one word: `-Xfrozen_modules=off`. A script's name is none.
_OPTION = re.compile(r"-[^-].*")
#: The part of a complaint that is about Spanwise itself and not about what it imports.
_OF_SPANWISE = re.compile(r"(?:No module named|cannot import name .* from) '(spanwise[.\w]*)'")


class KernelEnvironments:
    """Asks the interpreters of kernelspecs; lives in the server's event loop.

    Parameters
    ----------
    folder
        Where notebooks lie; interpreters, and then workers, run there if nobody says where.
    """

    def __init__(self, folder: str, seconds: float = ASK_SECONDS) -> None:
        self._folder = folder
        self._seconds = seconds
        self._free = asyncio.Semaphore(_AT_A_TIME)

    async def settings(
        self,
        name: str,
        command: Sequence[str],
        variables: Mapping[str, str],
        resources: str = "",
        folder: str = "",
    ) -> dict[str, Any]:
        """What a notebook of this kernel would ask for.

        Parameters
        ----------
        name
            The kernel's, as people see it.
        command, variables
            ``argv`` and ``env`` of its spec, as written: places of both are filled as Jupyter
            does.
        resources
            The spec's folder.
        folder
            Of the notebook for which it is asked; workers run there.

        Raises
        ------
        NoCluster
            The interpreter cannot be asked; the sentence says what to do.
        """
        python, *options = _interpreter(name, command, resources)
        filled = {
            each: string.Template(value).safe_substitute(os.environ)
            for each, value in variables.items()
        }
        async with self._free:
            try:
                process = await asyncio.create_subprocess_exec(
                    python,
                    *options,
                    "-c",
                    _PROGRAM,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=folder or self._folder,
                    env={**os.environ, **filled},
                )
            except OSError as error:
                raise NoCluster(
                    f"The interpreter of the kernel {name!r}, {python}, cannot be run "
                    f"({error.strerror}): install it again, or remove the kernel with `jupyter "
                    "kernelspec remove`."
                ) from error
            try:
                async with asyncio.timeout(self._seconds):
                    told, complaint = await process.communicate()
            except TimeoutError:
                raise NoCluster(
                    f"The interpreter of the kernel {name!r}, {python}, did not say within "
                    f"{self._seconds:g} s which environment it has: try again, or run Client() in "
                    "a notebook of this kernel."
                ) from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return _read(
            name, python, told.decode(errors="replace"), complaint.decode(errors="replace")
        )


def _interpreter(name: str, command: Sequence[str], resources: str) -> list[str]:
    """The interpreter that a kernel runs in, and its options."""
    first, *rest = command or [""]
    options = rest[: rest.index("-m")] if "-m" in rest else []
    module = rest[len(options) : len(options) + 2]
    # A launcher may choose another interpreter: `python -m nb_conda_kernels.runner …`.
    is_kernel = module in (["-m", "ipykernel_launcher"], ["-m", "ipykernel"])
    first = first.replace("{prefix}", sys.prefix).replace("{resource_dir}", resources)
    is_python = first in _OWN or Path(first).name.startswith(("python", "pypy"))
    if not (is_kernel and is_python and all(_OPTION.fullmatch(each) for each in options)):
        raise NoCluster(
            f"The kernel {name!r} is not started by a Python interpreter but by "
            f"{' '.join([first, *module])!r}: run Client() in a notebook of this kernel."
        )
    return [sys.executable if first in _OWN else first, *options]


def _read(name: str, python: str, told: str, complaint: str) -> dict[str, Any]:
    """What it has said; whatever its start-up files print stands before it."""
    for line in reversed(told.splitlines()):
        if line.startswith(_MARK):
            settings = json.loads(line.removeprefix(_MARK))
            if isinstance(settings, dict):
                return settings
    lines = complaint.strip().splitlines()
    last = lines[-1] if lines else "it said nothing"
    missing = _OF_SPANWISE.search(last)
    if missing is not None and last.startswith("ModuleNotFoundError") and missing[1] == "spanwise":
        raise NoCluster(
            f"The environment of the kernel {name!r} has no Spanwise: run `{python} -m pip install "
            "spanwise`."
        )
    if missing is not None:
        raise NoCluster(
            f"The environment of the kernel {name!r} has another version of Spanwise than the "
            f"Jupyter server: run `{python} -m pip install --upgrade spanwise`."
        )
    raise NoCluster(
        f"The interpreter of the kernel {name!r}, {python}, could not say which environment it "
        f'has ({last[:300]}): run `{python} -c "import spanwise.client"` in a terminal.'
    )
