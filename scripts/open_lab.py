"""Start JupyterLab on 127.0.0.1, print the address of a notebook in it, and wait.

The token is Jupyter's own; it is read from the file that the server writes for its
user alone, so it stands in no command line and in no environment.

What JupyterLab says goes into a file: it has addresses of its own, which open no panels.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import webbrowser
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO
from urllib.parse import quote, urlencode

from jupyter_core.paths import jupyter_runtime_dir

START_LIMIT_SECONDS = 120

#: Of the log, when JupyterLab has ended by itself.
LAST_LINES = 20


def start_server(root: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start ``jupyter lab`` in ``root``; Jupyter picks a free port."""
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=8888",
        "--ServerApp.port_retries=200",
        f"--ServerApp.root_dir={root}",
        # As its output goes into a file, Jupyter would start login shells, which forget the
        # environment that has the command `spanwise`.
        f"--ServerApp.terminado_settings=shell_command={shlex.quote(find_shell())}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    commands = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    with open_log(log) as lines:
        return subprocess.Popen(
            command,
            cwd=root,
            env=os.environ | {"PATH": os.pathsep.join(filter(None, commands))},
            stdout=lines,
            stderr=subprocess.STDOUT,
        )


def open_log(log: Path) -> BinaryIO:
    """Begin a new file that only its user can read: Jupyter writes its token there.

    A JupyterLab that still runs here goes on with the file that it had.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
    return os.fdopen(os.open(log, flags, 0o600), "wb", buffering=0)


def show_end_of(log: Path) -> None:
    """Print the last lines of the log."""
    lines = log.read_text("utf8", errors="replace").splitlines()
    print("\n".join(lines[-LAST_LINES:]), file=sys.stderr)


def find_shell() -> str:
    """Return the user's shell, as Jupyter would choose it."""
    return os.environ.get("SHELL") or shutil.which("sh") or "sh"


def wait_for_server(server: subprocess.Popen[bytes]) -> dict[str, str]:
    """Return ``{"url", "token", …}`` of the started server.

    Raises
    ------
    RuntimeError
        If the server ends, or says nothing for two minutes.
    """
    runtime_file = Path(jupyter_runtime_dir()) / f"jpserver-{server.pid}.json"
    limit = time.monotonic() + START_LIMIT_SECONDS
    while time.monotonic() < limit:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended with {server.returncode}; its last lines:")
        try:
            return dict(json.loads(runtime_file.read_text("utf8")))
        except (FileNotFoundError, json.JSONDecodeError):
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab was not ready after {START_LIMIT_SECONDS} s")


def main() -> int:
    """Run until JupyterLab ends; Ctrl-C ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True, help="below the root")
    parser.add_argument("--notebook", required=True)
    parser.add_argument("--open", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()

    print(f"   JupyterLab starts; what it and kernels say goes into {options.log}", flush=True)
    log = options.root / options.log
    server = start_server(options.root, log)
    is_ended_here = False

    def end(_signal: int, _frame: FrameType | None) -> None:
        nonlocal is_ended_here
        server.terminate()
        if is_ended_here:
            return
        is_ended_here = True
        # Kernels have to end first. (`print` may not be called while it is under way; the
        # terminal may be gone.)
        with suppress(OSError):
            os.write(sys.stdout.fileno(), b"\n   JupyterLab ends; this may take some seconds\n")

    signal.signal(signal.SIGTERM, end)
    # Ctrl-C reaches the whole terminal group: Jupyter would ask whether it was meant.
    signal.signal(signal.SIGINT, end)
    try:
        found = wait_for_server(server)
    except RuntimeError as error:
        server.terminate()
        print(error, file=sys.stderr)
        show_end_of(log)
        return 1
    query = urlencode({"spanwise": "default-layout", "token": found["token"]})
    address = f"{found['url']}lab/tree/{quote(options.notebook)}?{query}"
    print(f"\n   JupyterLab with Spanwise:\n   {address}\n", flush=True)
    has_display = sys.platform != "linux" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if options.open and has_display:
        webbrowser.open(address)
    status = server.wait()
    if status != 0 and not is_ended_here:
        print(f"JupyterLab ended with {status}; its last lines:", file=sys.stderr)
        show_end_of(log)
    return status


if __name__ == "__main__":
    sys.exit(main())
