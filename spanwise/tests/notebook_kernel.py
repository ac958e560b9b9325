"""A real kernel of a real Jupyter server, as a notebook in JupyterLab has one."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

from spanwise.tests.forked_programs import START_SECONDS
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.processes import wait_until

TOKEN = "of-tests"
#: Generous: a cell may import for seconds, on a busy machine for many.
LIMIT_SECONDS = 60.0
#: Of who asks for a kernel: longer than the server waits for a fork (`forked_kernels.py`), so that
#: it can say that there was none.
_ASK_SECONDS = START_SECONDS + LIMIT_SECONDS


class NotebookKernel:
    """The kernel of a notebook, which runs what it is told.

    Parameters
    ----------
    server
        Started with ``--IdentityProvider.token=of-tests``.
    path
        The notebook's, below the server's folder; it need not exist.
    spec
        The kernelspec.
    """

    def __init__(self, server: JupyterServer, path: str, spec: str = "python3") -> None:
        self._server = server
        session = {"path": path, "name": path, "type": "notebook", "kernel": {"name": spec}}
        wait_until("the server answers", self._answers)
        self._session = self._ask("POST", "sessions", session, _ASK_SECONDS)
        self.id = self._session["kernel"]["id"]
        self._connect()

    def _ask(
        self, method: str, path: str, body: Any = None, limit_seconds: float = LIMIT_SECONDS
    ) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._server.port}/api/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {TOKEN}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=limit_seconds) as response:
                answer = response.read()
        except urllib.error.HTTPError as error:
            with error:
                error.add_note(error.read().decode())  # (the server says why there)
            raise
        return json.loads(answer) if answer else None

    def _answers(self) -> bool:
        try:
            self._ask("GET", "status")
        except OSError:
            return False
        return True

    def _connect(self) -> None:
        file = self._server.runtime / f"kernel-{self.id}.json"
        self._client = BlockingKernelClient(connection_file=str(file))
        self._client.load_connection_file()
        self._client.start_channels()
        # (one that is no fork imports only now)
        limit = time.monotonic() + START_SECONDS
        while True:
            try:
                self._client.wait_for_ready(timeout=max(1.0, limit - time.monotonic()))
            except RuntimeError:
                # (it takes a kernel for dead that does not beat yet)
                if time.monotonic() > limit:
                    raise
            else:
                self._pid = self.pid
                return

    def begin(self, code: str, cell: str | None = None) -> str:
        """Have a cell run; :meth:`outcome` gives what came of it.

        Parameters
        ----------
        cell
            The cell's id, as JupyterLab sends it along.
        """
        if cell is None:
            return str(self._client.execute(code))
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        message = self._client.session.msg("execute_request", content, metadata={"cellId": cell})
        self._client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def outcome(self, cell: str) -> str:
        """What a cell printed, its last value, and its error."""
        said: list[str] = []
        limit = time.monotonic() + LIMIT_SECONDS
        while True:
            message = self._client.get_iopub_msg(timeout=max(0.1, limit - time.monotonic()))
            if message["parent_header"].get("msg_id") != cell:
                continue
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    said.append(content["text"])
                case "execute_result":
                    said.append(content["data"]["text/plain"])
                case "error":
                    said.append(f"{content['ename']}: {content['evalue']}")
                case "status" if content["execution_state"] == "idle":
                    return "".join(said)

    def __call__(self, code: str, cell: str | None = None) -> str:
        """Run a cell; returns its outcome."""
        return self.outcome(self.begin(code, cell))

    @property
    def pid(self) -> int:
        """Of its process."""
        return int(self("import os; os.getpid()"))

    @property
    def known_pid(self) -> int:
        """The same when it was connected to."""
        return self._pid

    def interrupt(self) -> None:
        """As the button of the notebook does."""
        self._ask("POST", f"kernels/{self.id}/interrupt", {})

    def restart(self) -> None:
        """As the button of the notebook does."""
        self._client.stop_channels()
        self._ask("POST", f"kernels/{self.id}/restart", {}, _ASK_SECONDS)
        self._connect()

    def shut_down(self) -> None:
        """As the server does with a kernel that it culls, at a moment of the test's choice."""
        self._client.stop_channels()
        self._ask("DELETE", f"kernels/{self.id}")

    def reconnect(self) -> None:
        """When the server has started another kernel in the place of a killed one."""
        before = self._pid
        self._client.stop_channels()
        while True:
            self._connect()
            if self._pid != before:
                return
            self._client.stop_channels()

    def close(self) -> None:
        """End it, and the connection to it."""
        self._client.stop_channels()
        try:
            self._ask("DELETE", f"sessions/{self._session['id']}")
        except OSError:
            return  # the server, or the kernel, has ended
