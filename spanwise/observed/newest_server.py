"""The Jupyter server that a program of an ordinary terminal sends to, if its user wants that.

A kernel, or a terminal of JupyterLab, is given the path of its server's connection file. Another
program finds none: with ``SPANWISE_CONNECTION=newest`` it takes that of the server of the same user
which was started last. What such a file names is rung at with the secret that lies there, so that
nothing counts that another user could have written or read.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import NamedTuple

from spanwise.errors import ClusterError
from spanwise.observed.doorbell import CONNECTION_VARIABLE, connection_file
from spanwise.processes.process_state import lives

#: In place of a path, in the variable that names a connection file.
NEWEST = "newest"
_FILE_NAME = re.compile(r"spanwise-\d+-[0-9a-f]+\.json")
#: A connection file has some hundred.
_MOST_BYTES = 1 << 16


class _Server(NamedTuple):
    file: Path
    #: When the file was written.
    written: float
    folder: Path
    secret_file: Path


def server_file() -> Path | None:
    """The connection file of the Jupyter server that this program sends to; None: to none.

    Raises
    ------
    ClusterError
        It is to send to the newest, and there is none that can be trusted.
    """
    wants_newest = os.environ.get(CONNECTION_VARIABLE) == NEWEST
    return newest_connection_file() if wants_newest else connection_file()


def newest_connection_file() -> Path:
    """The connection file of the server that was started last.

    Raises
    ------
    ClusterError
        No server runs, or others could use its files.
    """
    runtime = jupyter_runtime_folder()
    try:
        files = [*runtime.iterdir()]
    except OSError:
        files = []  # no server of this user has written there
    found = [_described(each) for each in files if _FILE_NAME.fullmatch(each.name)]
    running = [each for each in found if each is not None]
    if not running:
        raise ClusterError(
            f"SPANWISE_CONNECTION={NEWEST} finds no JupyterLab with Spanwise that runs (looked in "
            f"{runtime}; JUPYTER_RUNTIME_DIR names another folder). Start JupyterLab first, or "
            "unset SPANWISE_CONNECTION: then what is measured stays with this program."
        )
    newest = max(running, key=lambda each: each.written)
    _check(newest)
    return newest.file


def jupyter_runtime_folder() -> Path:
    """Where Jupyter keeps what running servers say of themselves, by the rules of jupyter_core.

    It is for programs of environments that may have no Jupyter.
    """
    named = os.environ.get("JUPYTER_RUNTIME_DIR")
    return Path(named) if named else _data_folder() / "runtime"


def _data_folder() -> Path:
    variables = os.environ
    named = variables.get("JUPYTER_DATA_DIR")
    if named:
        return Path(named)
    platforms = variables.get("JUPYTER_PLATFORM_DIRS", "").lower()
    is_platforms = platforms in {"1", "true", "yes", "on", "y", "t"}
    if sys.platform == "darwin":
        library = Path.home() / "Library"
        return library / ("Application Support/Jupyter" if is_platforms else "Jupyter")
    if os.name == "nt":
        roaming = variables.get("LOCALAPPDATA" if is_platforms else "APPDATA")
        config = variables.get("JUPYTER_CONFIG_DIR")
        home = Path(config) if config else Path.home() / ".jupyter"
        return Path(roaming) / "jupyter" if roaming else home / "data"
    shared = variables.get("XDG_DATA_HOME")
    return (Path(shared) if shared else Path.home() / ".local" / "share") / "jupyter"


def _described(file: Path) -> _Server | None:
    """What a connection file says; None: it has gone, is none, or its server has ended."""
    try:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        said = json.loads(file.read_text("utf-8"))
        pid, folder, secret_file = int(said["pid"]), Path(said["folder"]), Path(said["secretFile"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return _Server(file, status.st_mtime, folder, secret_file) if lives(pid) else None


def _check(server: _Server) -> None:
    """Raise unless the files are this user's alone."""
    if not hasattr(os, "getuid"):
        return
    if server.secret_file.parent != server.folder:
        raise ClusterError(
            f"{server.file} names a secret outside of its server's own folder. Restart JupyterLab."
        )
    _check_path(server.file.parent, 0o022)
    for path in (server.file, server.folder, server.secret_file):
        _check_path(path, 0o077)


def _check_path(path: Path, forbidden: int) -> None:
    try:
        status = path.lstat()
    except OSError as error:
        raise ClusterError(
            f"A file of the Jupyter server is missing ({error}). Restart JupyterLab."
        ) from None
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.getuid():
        raise ClusterError(
            f"{path} does not belong to the user who runs this program, so nothing is sent to that "
            "server. Start JupyterLab as this user."
        )
    if status.st_mode & forbidden:
        mode = stat.S_IMODE(status.st_mode)
        raise ClusterError(
            f"{path} is open to other users (mode {mode:o}), so nothing is sent to that server. "
            f'Run "chmod go= {path}" and restart JupyterLab.'
        )
