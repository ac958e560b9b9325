"""A Jupyter server whose kernels begin with their packages imported: forks of one process.

To import ipykernel and its debugger takes a kernel most of a second of a core, and tests restart
theirs often. But for that ``python -m spanwise.tests.forked_kernels`` is
``python -m jupyter_server``::

    server ── {"module": …}, its output ──▶ template: has imported them, forks ──▶ kernel
           ◀──────────────────── pid ─────────────────────────────────────────────

A kernel of another interpreter, or of another command, is started as everywhere. Those that are
forked are no children of the server, and do not see its death by themselves: they end with the
template, and that with the process of the tests, however it ends.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from spanwise.server.default_cluster import DefaultCluster
from spanwise.server.default_clusters import DefaultClusters
from spanwise.tests.forked_programs import BECOME, IMPORT, START_SECONDS, VARIABLES
from spanwise.tests.leftover import not_left_over

#: Of the server: where the template listens.
ADDRESS = "PYTEST_KERNELS_OF_SPANWISE"
_LAUNCHER = "ipykernel_launcher"
#: What every kernel imports, and Dask, which those of tests have for their clients.
_MODULES = (
    "ipykernel.kernelapp",
    "ipykernel.debugger",
    "IPython.core.completerlib",
    "sqlite3",
    "dask",
)
#: Standard input ends with who holds its other end. The kernel answers, when it has a group of
#: processes of its own: interrupts go to the group. (ipykernel has read its parent's variable when
#: it was imported.) Linux ends it with the template (prctl's PR_SET_PDEATHSIG), also where orphans
#: go to another process than 1, which is all that ipykernel looks for.
_SERVE = """
import ctypes, select, socket
door, template = socket.socket(fileno=DOOR), os.getpid()
while True:
    if 0 in select.select([0, door], [], [])[0]:
        break
    link = door.accept()[0]
    assert threading.active_count() == 1, threading.enumerate()
    if os.fork():
        link.close()
        continue
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != template:
        break
    piece, descriptors, _, _ = socket.recv_fds(link, 1 << 16, 2)
    asked = b""
    while piece:
        asked += piece
        piece = link.recv(1 << 16)
    for number, given in enumerate(descriptors, 1):
        os.dup2(given, number)
        os.close(given)
    os.setsid()
    link.sendall(str(os.getpid()).encode())
    link.close()
    door.close()
    asked = json.loads(asked)
    asked["arguments"].append(f"--IPKernelApp.parent_handle={template}")
    become(asked)
    break
"""
_template: subprocess.Popen[bytes] | None = None
_address: str | None = None


def kernels_address() -> str:
    """Where the one template of this process listens, which begins with the first call.

    Another takes its place, should it have ended.
    """
    global _template, _address
    if _address is None:
        folder = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _address = str(folder / "kernels")
    if _template is None or _template.poll() is not None:
        Path(_address).unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(_address)
            door.listen()
            program = f"DOOR = {door.fileno()}" + IMPORT + BECOME + _SERVE
            _template = subprocess.Popen(
                [sys.executable, "-c", program, *_MODULES],
                # (else the debugger says that it may miss breakpoints)
                env={**VARIABLES, "PYDEVD_DISABLE_FILE_VALIDATION": "1"},
                stdin=subprocess.PIPE,
                pass_fds=[door.fileno()],
            )
        not_left_over(_template.pid)
        atexit.register(_template.wait)
        atexit.register(_template.kill)
    return _address


class _Forked:
    """Stands for the `Popen` of a kernel that is no child of this process."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._process = psutil.Process(pid)

    def poll(self) -> int | None:
        return None if self._process.is_running() else 0

    def wait(self) -> int:
        self._process.wait()
        return 0

    def send_signal(self, number: int) -> None:
        with suppress(psutil.NoSuchProcess):
            self._process.send_signal(number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _forked(arguments: list[str], environment: dict[str, str], folder: str | None) -> _Forked:
    asked = {
        "module": _LAUNCHER,
        "arguments": [_LAUNCHER, *arguments],
        "folder": folder or str(Path.cwd()),
        # As Jupyter has it: the server's, which is no parent of a fork.
        "variables": {**environment, "JPY_PARENT_PID": str(os.getpid())},
    }
    with socket.socket(socket.AF_UNIX) as link:
        # (the first one waits for the template's imports, and its server for it)
        link.settimeout(START_SECONDS)
        content = json.dumps(asked).encode()
        try:
            link.connect(os.environ[ADDRESS])
            sent = socket.send_fds(link, [content], [1, 2])
            link.sendall(content[sent:])
            link.shutdown(socket.SHUT_WR)
            pid = link.recv(100)
            if not pid:
                raise ConnectionResetError("the fork has ended before it was a kernel")
        except OSError as error:
            raise RuntimeError(f"no kernel was forked: {error}") from error
    return _Forked(int(pid))


def fork_kernels() -> None:
    """Have the kernels of this process be forks: it is a Jupyter server, or becomes one."""
    from jupyter_client.provisioning import local_provisioner

    launch = local_provisioner.launch_kernel

    def launch_kernel(command: list[str], **given: Any) -> Any:
        python, *options = command
        if python != sys.executable or _LAUNCHER not in options:
            return launch(command, **given)
        arguments = options[options.index(_LAUNCHER) + 1 :]
        return _forked(arguments, given["env"], given["cwd"])

    local_provisioner.launch_kernel = launch_kernel  # type: ignore[assignment]
    if os.environ.get("DASK_SPANWISE__WORKER__IMPORT_AHEAD") == "False":
        _have_workers_import_nothing()


def _have_workers_import_nothing() -> None:
    """Not even Dask: a result that needs it brings it, and most tests have none.

    To import it takes each worker of the default clusters 0.15 s of a core, twice its start.
    """
    find = DefaultClusters.find

    async def find_quickly(
        self: DefaultClusters, settings: Mapping[str, Any]
    ) -> tuple[DefaultCluster, bool]:
        return await find(self, {**settings, "launch": {**settings["launch"], "modules": []}})

    DefaultClusters.find = find_quickly  # type: ignore[method-assign]


def _serve() -> None:
    """Be a Jupyter server whose kernels are forks."""
    fork_kernels()
    runpy.run_module("jupyter_server", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve()
