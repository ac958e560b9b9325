"""Start JupyterLab on 127.0.0.1, print the address of a notebook in it, and wait.

The token is Jupyter's own; it is read from the file that the server writes for its
user alone, so it stands in no command line and in no environment.
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
from pathlib import Path
from types import FrameType
from urllib.parse import quote, urlencode

from jupyter_core.paths import jupyter_runtime_dir

START_LIMIT_SECONDS = 120


def start_server(root: Path) -> subprocess.Popen[bytes]:
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
        # Where this script's output goes into a file, Jupyter would start login shells, which
        # forget the environment that has the command `spanwise`.
        f"--ServerApp.terminado_settings=shell_command={shlex.quote(find_shell())}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    commands = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.Popen(command, cwd=root, env=os.environ | {"PATH": commands})


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
            raise RuntimeError(f"JupyterLab ended with {server.returncode}; see its lines above")
        try:
            return dict(json.loads(runtime_file.read_text("utf8")))
        except (FileNotFoundError, json.JSONDecodeError):
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab was not ready after {START_LIMIT_SECONDS} s")


def main() -> int:
    """Run until JupyterLab ends; Ctrl-C ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--notebook", required=True)
    parser.add_argument("--open", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()

    server = start_server(options.root)

    def end(_signal: int, _frame: FrameType | None) -> None:
        server.terminate()

    signal.signal(signal.SIGTERM, end)
    # Ctrl-C reaches the whole terminal group: Jupyter would ask whether it was meant.
    signal.signal(signal.SIGINT, end)
    try:
        found = wait_for_server(server)
    except RuntimeError as error:
        server.terminate()
        print(error, file=sys.stderr)
        return 1
    query = urlencode({"spanwise": "default-layout", "token": found["token"]})
    address = f"{found['url']}lab/tree/{quote(options.notebook)}?{query}"
    print(f"\n   JupyterLab with Spanwise:\n   {address}\n", flush=True)
    has_display = sys.platform != "linux" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if options.open and has_display:
        webbrowser.open(address)
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
