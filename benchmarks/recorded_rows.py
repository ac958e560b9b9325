"""Records a program's graph, for ``python -m benchmarks makespan -- --recorded ROWS``.

::

    python -m benchmarks.recorded_rows ROWS PROGRAM [ARGUMENTS]

It stands in for an observer (`SPANWISE_OBSERVER`), runs the program and writes what the record
log of its cluster says of nodes, edges and runs. All graphs of the program are one. With several
clusters the last one's log counts. Runs of which the log does not know how long they took and
how large their results are (lost ones) are left out: nothing is simulated by them.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spanwise.observed.find_observer import OBSERVER_VARIABLE
from spanwise.records.block import Block, decode_block
from spanwise.wire.door import listen
from spanwise.wire.errors import LinkClosed
from spanwise.wire.link import Link

#: Which columns of which tables `src/simulate/recorded-graph.ts` reads.
COLUMNS = {
    "nodes": ("node", "function", "firstEdge"),
    "edges": ("node",),
    "runs": ("node", "status", "duration", "nbytes"),
}
#: How long the last blocks may take to come once the program has ended.
END_SECONDS = 60.0


class Recorder:
    """Takes blocks of logs as an observer does."""

    def __init__(self, folder: Path) -> None:
        secret = secrets.token_bytes(32)
        folder.chmod(0o700)
        self._blocks: list[Block] = []
        #: Links that are read.
        self._open = 0
        self._changed = threading.Condition()
        self._door = listen(folder, "observer", secret, ["source"], self._serve)
        (folder / "secret").write_bytes(secret)
        (folder / "address").write_text(self._door.address)

    def _serve(self, link: Link) -> None:
        with self._changed:
            self._open += 1
        try:
            self._read(link)
        finally:
            with self._changed:
                self._open -= 1
                self._changed.notify_all()

    def _read(self, link: Link) -> None:
        blocks: list[Block] = []
        try:
            while True:
                message = link.read()
                if message.type == "open":
                    link.send("resume", {"haveSeq": 0})
                elif message.type == "block":
                    # Copies: a view would keep the whole message.
                    blocks += [decode_block(bytes(blob)) for blob in message.blobs]
                    # Kept first: a sender that has gone takes no acknowledgement.
                    self._blocks = blocks
                    link.send("ack", {"seq": blocks[-1].seq})
        except LinkClosed:
            link.close()

    def close(self, seconds: float = END_SECONDS) -> list[Block]:
        """Return the blocks, once all links have been read to their end.

        Raises
        ------
        TimeoutError
            Some have not ended in time: the log's end may be missing.
        """
        with self._changed:
            has_ended = self._changed.wait_for(lambda: self._open == 0, seconds)
        self._door.close()
        if not has_ended:
            raise TimeoutError(f"The cluster's log has not ended within {seconds:g} s.")
        return self._blocks


def rows_of(blocks: Iterable[Block]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the three tables, oldest first."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    for block in blocks:
        names = COLUMNS.get(block.table.name)
        if names is not None:
            columns = zip(*(block.column(name) for name in names), strict=True)
            rows[block.table.name] += [dict(zip(names, row, strict=True)) for row in columns]
    # JSON has no NaN.
    rows["runs"] = [row for row in rows["runs"] if all(map(math.isfinite, row.values()))]
    return rows


def main() -> int:
    """Run the program; the exit code is its own, or 1 if its log cannot be written."""
    if len(sys.argv) < 3:
        sys.exit("usage: python -m benchmarks.recorded_rows ROWS PROGRAM [ARGUMENTS]")
    out, *program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder))
        environment = {**os.environ, OBSERVER_VARIABLE: folder}
        code = subprocess.run([sys.executable, *program], env=environment, check=False).returncode
        try:
            rows = rows_of(recorder.close())
        except TimeoutError as error:
            sys.exit(f"{error} Nothing is written.")
    if not rows["runs"]:
        sys.exit("No task has run on a cluster that was recorded. Nothing is written.")
    Path(out).write_text(json.dumps(rows, allow_nan=False))
    sys.stderr.write(", ".join(f"{len(each):,} {name}" for name, each in rows.items()) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
