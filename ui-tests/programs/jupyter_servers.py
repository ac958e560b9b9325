"""The Jupyter servers of the browser tests, forked from one process that has imported JupyterLab.

To import it takes four seconds of a core, which each server would need for itself::

    SPANWISE_BROWSER_SERVERS='[{"name": …, "port": …, "path": …, "variables": {…}}, …]'
    python jupyter_servers.py CONFIG

With `"forks_kernels": true` a server's kernels are forks as well
(`spanwise/tests/forked_kernels.py`).

Prints that all servers answer as soon as they do. They end with this process, and this one with
that which started it, however that ends and whenever; each writes `<name>.log` in the folder in
which it is started.
"""

from __future__ import annotations

import gc
import http.client
import importlib
import json
import os
import runpy
import signal
import sys
import threading
from pathlib import Path
from time import monotonic, sleep
from typing import Any

# Less than Playwright has with this process (`gracefulShutdown`).
PATIENCE_SECONDS = 45
# Between two looks whether a parent lives.
LOOK_SECONDS = 1


def main(config: str, servers: list[dict[str, Any]]) -> None:
    """Serve until SIGTERM comes, or who started this has gone."""
    owner = os.getppid()
    # As `python -m jupyterlab` has it.
    sys.path[0] = str(Path.cwd())
    address_grammar = importlib.import_module("spanwise.tests.address_grammar")
    with address_grammar.without_address_grammar():
        for module in ("jupyterlab.labapp", "spanwise.server.extension"):
            importlib.import_module(module)
    gc.collect()
    gc.freeze()
    # One that comes meanwhile waits until all are known. (They are no part of the `try`: a child
    # that ends within it would end the others.)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    running = {fork(config, server): server for server in servers}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        while not all(answers(server) for server in servers):
            if os.getppid() != owner:
                return
            sleep(0.2)
            for pid, server in running.items():
                if os.waitpid(pid, os.WNOHANG) != (0, 0):
                    log = Path(f"{server['name']}.log").read_text()
                    raise SystemExit(f"The server {server['name']} has ended:\n{log}")
        sys.stdout.write("All servers answer.\n")
        sys.stdout.flush()
        while os.getppid() == owner:
            sleep(LOOK_SECONDS)
    finally:
        end(list(running))


def fork(config: str, server: dict[str, Any]) -> int:
    """Start a server, and give its process."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    threading.Thread(target=end_after, args=(parent,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    out = os.open(f"{server['name']}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ.update(server["variables"])
    if server.get("forks_kernels"):
        forked_kernels = importlib.import_module("spanwise.tests.forked_kernels")
        os.environ[forked_kernels.ADDRESS] = forked_kernels.kernels_address()
        forked_kernels.fork_kernels()
    sys.argv = ["jupyter-lab", "--config", config, "--allow-root"]
    runpy.run_module("jupyterlab", run_name="__main__", alter_sys=True)
    sys.exit()


def end_after(parent: int) -> None:
    """In a server: end it when its parent has gone, were it before this began."""
    while os.getppid() == parent:
        sleep(LOOK_SECONDS)
    patience = monotonic() + PATIENCE_SECONDS
    while True:
        # Again and again: Jupyter sees a signal that comes just before its loop sleeps at the next
        # event only.
        os.kill(os.getpid(), signal.SIGTERM if monotonic() < patience else signal.SIGKILL)
        sleep(LOOK_SECONDS)


def answers(server: dict[str, Any]) -> bool:
    """Whatever it says."""
    connection = http.client.HTTPConnection("127.0.0.1", server["port"], timeout=60)
    try:
        connection.request("GET", f"{server['path']}api")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def end(pids: list[int]) -> None:
    """Again and again, as :func:`end_after`."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    patience = monotonic() + PATIENCE_SECONDS
    while pids:
        how = signal.SIGTERM if monotonic() < patience else signal.SIGKILL
        for pid in list(pids):
            try:
                os.kill(pid, how)
                if os.waitpid(pid, os.WNOHANG) != (0, 0):
                    pids.remove(pid)
            except (ProcessLookupError, ChildProcessError):
                pids.remove(pid)
        sleep(0.5)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(os.environ.pop("SPANWISE_BROWSER_SERVERS")))
