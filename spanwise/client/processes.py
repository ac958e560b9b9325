"""Starts the Node processes of a cluster and owns them.

The child's stdin is its lifeline: after a line of settings, end of file, also by this
process's death, means drain and exit. Its first line on stdout says where it listens.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
import time
import uuid
import weakref
from pathlib import Path
from typing import Any

from spanwise.client.abandoned import remove_abandoned
from spanwise.client.ending import Ending
from spanwise.client.errors import ClusterError
from spanwise.client.fork_hook import ForkHook
from spanwise.client.launch import (
    default_name,
    kernel_id,
    launch_spec,
    memory_per_worker,
    notebook_path,
    processes_and_threads,
    stall_seconds,
)
from spanwise.client.process_state import is_stopped
from spanwise.node import give_settings, node_program, start_node
from spanwise.wire.addresses import default_transport
from spanwise.wire.errors import LinkError
from spanwise.wire.link import dial
from spanwise.wire.private_folder import make_private_folder
from spanwise.wire.schema import PROTOCOL

READY_SECONDS = 30.0
OBSERVER_BUDGET_BYTES = 1 << 30
_LOG_TAIL = 12


class NodeProcess:
    """A scheduler or an observer that this process owns.

    Attributes
    ----------
    address
        Where it listens.
    secret
        32 bytes that open its door.
    folder
        Of mode 0700, removed with it.
    """

    def __init__(self, role: str, config: dict[str, Any], secret: bytes) -> None:
        self.role = role
        self.secret = secret
        program = node_program()
        self.folder = make_private_folder()
        self.log = self.folder / f"{role}.log"
        try:
            self.process = start_node(program, self.folder, role)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._ending = Ending(self.process, self.folder)
        # While it starts.
        remove_abandoned(self.folder.parent)
        # One that is forgotten ends too; the interpreter's end waits by itself.
        weakref.finalize(self, self._ending.begin).atexit = False
        _OWNED.add(self)
        try:
            self.address = self._wait_until_ready(config)
        except BaseException:
            self.kill()
            raise

    def _wait_until_ready(self, config: dict[str, Any]) -> str:
        lines: list[bytes] = []
        stdout = self.process.stdout
        assert stdout is not None

        def settle() -> None:
            give_settings(self.process, config)
            lines.append(stdout.readline())

        reader = threading.Thread(target=settle, name="spanwise-ready", daemon=True)
        reader.start()
        reader.join(READY_SECONDS)
        if not lines:
            raise ClusterError(
                f"The {self.role} did not start within {READY_SECONDS:g} s.{self.log_tail()}"
            )
        try:
            said = json.loads(lines[0])
        except ValueError:
            raise ClusterError(f"The {self.role} could not start.{self.log_tail()}") from None
        if "failed" in said:
            raise ClusterError(str(said["failed"]))
        return str(said["ready"]["address"])

    def log_tail(self) -> str:
        """The last lines of its log, to be appended to a sentence."""
        try:
            lines = self.log.read_text("utf-8", "replace").splitlines()[-_LOG_TAIL:]
        except OSError:
            return ""
        return ("\nIts log ends:\n  " + "\n  ".join(lines)) if lines else ""

    def kill_if_stopped(self) -> None:
        """End it at once if it was stopped: nobody need wait for what it does not hear."""
        if self.process.poll() is None and is_stopped(self.process.pid):
            self.kill()

    def close(self) -> None:
        """Drop the lifeline, wait until it has ended; kill it if it does not. Twice is safe."""
        self._ending.wait()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.close()


def _let_go(owned: NodeProcess) -> None:
    """In a fork: a child that outlives its parent would hold the lifeline."""
    if owned.process.stdin is not None:
        owned.process.stdin.close()


_OWNED = ForkHook(_let_go)


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


class ObserverAddress:
    """Where an observer listens, the secret that opens it, and the file holding that.

    `process` is set if this client started it.
    """

    def __init__(
        self, address: str, secret: bytes, secret_file: str, process: NodeProcess | None = None
    ) -> None:
        self.address = address
        self.secret = secret
        self.secret_file = secret_file
        self.process = process

    def current_address(self) -> str:
        """Where it listens now: a server's observer that was started again says so anew."""
        try:
            return (Path(self.secret_file).parent / "address").read_text("utf-8")
        except OSError:
            return self.address

    def close(self) -> None:
        if self.process is not None:
            self.process.close()


def find_observer() -> ObserverAddress:
    """Ring for the Jupyter server's observer, or start one for this script.

    Raises
    ------
    ClusterError
        The server refuses, for the reason given.
    """
    path = os.environ.get("SPANWISE_CONNECTION")
    if path and Path(path).exists():
        try:
            return _ring(json.loads(Path(path).read_text("utf-8")))
        except (OSError, ValueError, KeyError) as error:
            raise ClusterError(
                f"What the Jupyter server's Spanwise extension wrote to {path} cannot be used "
                f"({type(error).__name__}: {error}): restart the Jupyter server, then this kernel."
            ) from error
    return _start_observer()


def _ring(connection: dict[str, Any]) -> ObserverAddress:
    secret = _read_secret(connection["secretFile"])
    try:
        link = dial(connection["doorbell"], secret, "doorbell", timeout=READY_SECONDS)
        try:
            link.send("ring")
            answer = link.read()
        finally:
            link.close()
    except LinkError as error:
        raise ClusterError(
            f"The Jupyter server's Spanwise extension did not answer: {error}"
        ) from error
    fields = answer.fields
    return ObserverAddress(
        fields["address"], _read_secret(fields["secretFile"]), fields["secretFile"]
    )


def _start_observer() -> ObserverAddress:
    secret = secrets.token_bytes(32)
    process = NodeProcess(
        "observer",
        {
            "protocol": PROTOCOL,
            "secretHex": secret.hex(),
            "transport": default_transport(),
            "budgetBytes": OBSERVER_BUDGET_BYTES,
        },
        secret,
    )
    secret_file = process.folder / "secret"
    _write_private(secret_file, secret.hex())
    return ObserverAddress(process.address, secret, str(secret_file), process)


def _read_secret(path: str) -> bytes:
    """A secret file holds 32 bytes, or their 64 hexadecimal digits."""
    content = Path(path).read_bytes()
    return content if len(content) == 32 else bytes.fromhex(content.decode("ascii").strip())


def start_scheduler(
    n_workers: int | None,
    threads_per_worker: int | None,
    memory_limit: Any,
    name: str | None,
    observer: ObserverAddress | None,
    recording: bool = True,
    worker_ttl_seconds: float = 60.0,
) -> tuple[NodeProcess, int]:
    """Start a private cluster; returns its scheduler and the number of workers."""
    count, threads = processes_and_threads(n_workers, threads_per_worker)
    secret = secrets.token_bytes(32)
    kernel = kernel_id()
    notebook = None
    if kernel is not None:
        notebook = {"kernelId": kernel}
        path = notebook_path()
        if path:
            notebook["path"] = path
    config = {
        "protocol": PROTOCOL,
        "clusterId": uuid.uuid4().hex[:16],
        "name": name or default_name(),
        "secretHex": secret.hex(),
        "transport": default_transport(),
        "nWorkers": count,
        "threadsPerWorker": threads,
        "memoryLimit": memory_per_worker(memory_limit, count, threads),
        "launch": launch_spec(),
        "observer": None
        if observer is None
        else {"address": observer.address, "secretFile": observer.secret_file},
        "recording": recording,
        "workerTtlSeconds": worker_ttl_seconds,
        "stallSeconds": stall_seconds(),
        "notebook": notebook,
        "wallEpoch": time.time(),
    }
    return NodeProcess("scheduler", config, secret), count
