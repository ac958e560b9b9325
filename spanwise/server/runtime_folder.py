"""The server's private folder, and the connection file by which kernels find its doorbell."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from spanwise.processes.process_state import lives
from spanwise.wire.private_folder import make_private_folder, write_private

#: Names the connection file, for kernels and terminals that this server starts.
CONNECTION_VARIABLE = "SPANWISE_CONNECTION"
_FILE_PATTERN = "spanwise-*.json"
#: What a server that was killed while it wrote that file has left; it names the server's process.
_UNFINISHED_PATTERN = "spanwise-*.new"
_UNFINISHED_NAME = re.compile(r"spanwise-(\d+)-[0-9a-f]+\.json(?:\.[0-9a-f]+)?\.new")
#: No server takes so long to write it, whatever host of a shared home it runs on.
_UNFINISHED_SECONDS = 60.0


class RuntimeFolder:
    """A fresh folder of mode 0700 for sockets and secrets; removed with the server.

    Parameters
    ----------
    runtime_dir : path
        Jupyter's; the connection file is written there.

    Attributes
    ----------
    path : Path
        The folder.
    connection_file : Path
    """

    def __init__(self, runtime_dir: str | Path) -> None:
        self._runtime_dir = Path(runtime_dir)
        self._runtime_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        sweep(self._runtime_dir)
        self.path = make_private_folder("spanwise-server-")
        name = f"spanwise-{os.getpid()}-{secrets.token_hex(4)}.json"
        self.connection_file = self._runtime_dir / name
        self._previous = os.environ.get(CONNECTION_VARIABLE)

    def secret_file(self, name: str, secret: bytes) -> Path:
        """Write a secret; its path may be told to processes of this user."""
        path = self.path / name
        write_private(path, secret.hex())
        return path

    def publish(self, connection: dict[str, Any]) -> None:
        """Write the connection file, and name it to processes started from now on."""
        described = {**connection, "pid": os.getpid(), "folder": str(self.path)}
        write_private(self.connection_file, json.dumps(described, indent=1))
        os.environ[CONNECTION_VARIABLE] = str(self.connection_file)

    def remove(self) -> None:
        """Take back everything. Twice is safe."""
        if os.environ.get(CONNECTION_VARIABLE) == str(self.connection_file):
            if self._previous is None:
                del os.environ[CONNECTION_VARIABLE]
            else:
                os.environ[CONNECTION_VARIABLE] = self._previous
        self.connection_file.unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)


def sweep(runtime_dir: Path) -> None:
    """Remove the folders and files of servers that were killed."""
    for file in runtime_dir.glob(_FILE_PATTERN):
        try:
            described = json.loads(file.read_text("utf-8"))
            pid, folder = int(described["pid"]), Path(described["folder"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # somebody else's file
        if pid > 0 and lives(pid):
            continue
        file.unlink(missing_ok=True)
        # It is removed only if a Spanwise server made it.
        if folder.name.startswith("spanwise-server-") and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
    for file in runtime_dir.glob(_UNFINISHED_PATTERN):
        named = _UNFINISHED_NAME.fullmatch(file.name)
        if named is None or lives(int(named[1])):
            continue
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > _UNFINISHED_SECONDS:
                file.unlink()
