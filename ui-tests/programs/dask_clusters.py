"""Dask clusters as a shell starts them, for browser tests: ``python dask_clusters.py FOLDER PORT``.

One is reached by TCP at PORT, one by TLS with an authority of its own; both compute `simulate`, on
and on. A third address answers as a scheduler of an old release of Dask. The addresses are printed
as a line of JSON; the certificates lie in FOLDER. A line of the standard input (``kill``,
``restart``, ``close``) does that to the scheduler of the first cluster, and is printed when it is
done; all ends with the standard input.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import distributed
from distributed.core import Server

from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_dask_tls import issue

#: One takes seconds of a core to start: two threads of one are as good as two.
_WORKERS, _THREADS = 1, 2
#: Tasks that wait at a time.
_AHEAD = 40
#: They look at their own event loop once a second, and not fifty times.
_CONFIG = {"DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s"}


def simulate(seed: int) -> bytes:
    """Takes a third of a second: each task takes the processors a few milliseconds besides."""
    time.sleep(0.3)
    return bytes(1_000 + seed)


class Computing:
    """A cluster of processes that computes, on and on.

    Parameters
    ----------
    folder
        For the files of the processes.
    port
        Of the scheduler; 0: any that is free, which another program may get when it ends.
    security
        Arguments of a `Security`; empty: it is reached by TCP.
    """

    def __init__(self, folder: Path, port: int, security: dict[str, Any]) -> None:
        folder.mkdir()
        self._security = distributed.Security(**security) if security else None
        options: tuple[str, ...] = ()
        if security:
            options = ("--tls-ca-file", security["tls_ca_file"])
            options += ("--tls-cert", security["tls_client_cert"])
            options += ("--tls-key", security["tls_client_key"])
        self.processes = DaskProcesses(
            folder,
            workers=_WORKERS,
            threads=_THREADS,
            port=port,
            scheduler_options=(*options, "--protocol", "tls" if security else "tcp"),
            worker_options=options,
            config=_CONFIG,
        )
        self._compute()

    def worker(self) -> str:
        """The address of one of the workers."""
        return str(next(iter(self._client.nthreads())))

    def _compute(self) -> None:
        self._ended = threading.Event()
        self._client = distributed.Client(
            self.processes.address, security=self._security, set_as_default=False
        )
        self._client.wait_for_workers(_WORKERS, timeout=LIMIT_SECONDS)
        self._thread = threading.Thread(target=self._submit, args=(self._client, self._ended))
        self._thread.start()

    @staticmethod
    def _submit(client: distributed.Client, ended: threading.Event) -> None:
        """Keep tasks of a span waiting until the end, or that of the scheduler."""
        with distributed.span("simulation"), suppress(Exception):
            while not ended.is_set():
                futures = client.map(simulate, range(_AHEAD), pure=False)
                half = futures[: _AHEAD // 2]
                while not ended.is_set() and not all(each.done() for each in half):
                    time.sleep(0.05)

    def kill(self) -> None:
        """As a machine that is lost: in the middle of its tasks."""
        self.processes.scheduler.kill()
        self._leave()

    def close(self) -> None:
        """As Ctrl C does it."""
        self.processes.scheduler.send_signal(signal.SIGINT)
        self._leave()

    def restart(self) -> None:
        """Another scheduler, at the same address."""
        self.processes.start_scheduler(int(self.processes.address.rpartition(":")[2]))
        for _ in range(_WORKERS):
            self.processes.start_worker()
        self._compute()

    def _leave(self) -> None:
        self.processes.scheduler.wait(LIMIT_SECONDS)
        self._ended.set()
        self._thread.join()
        self._client.close()

    def end(self) -> None:
        """End all processes."""
        self._ended.set()
        self._thread.join()
        with suppress(Exception):
            self._client.close()
        self.processes.close()


async def old_release() -> str:
    """Answer as a scheduler whose release is too old; returns the address."""
    server = Server(
        {
            "identity": lambda: {"type": "Scheduler"},
            "versions": lambda: {"packages": {"distributed": "2022.1.0"}},
        }
    )
    await server.listen("tcp://127.0.0.1:0")
    return str(server.address)


def say(line: str) -> None:
    """To who has started this program."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run until the standard input ends."""
    folder = Path(sys.argv[1])
    own = issue(folder, "own", "client")
    issue(folder, "other", "stranger")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    with ExitStack() as stack:
        plain = Computing(folder / "plain", int(sys.argv[2]), {})
        stack.callback(plain.end)
        secure = Computing(folder / "secure", 0, own)
        stack.callback(secure.end)
        old = asyncio.run_coroutine_threadsafe(old_release(), loop).result(LIMIT_SECONDS)
        addresses = {
            "plain": plain.processes.address,
            "secure": secure.processes.address,
            "old": old,
            "worker": secure.worker(),
        }
        say(json.dumps(addresses))
        orders = {"kill": plain.kill, "restart": plain.restart, "close": plain.close}
        for line in sys.stdin:
            orders[line.strip()]()
            say(line.strip())


if __name__ == "__main__":
    main()
