"""What of a Dask scheduler's CPU goes to who watches it, by stacks that py-spy takes from outside.

    python -m benchmarks.dask_stacks --py-spy PROGRAM [--seconds 45] [--rounds 3]

The ratios of ``dask-bridge`` compare blocks of tasks one after another, on a machine whose speed
changes by more than what they are to show. Here one and the same run is divided, so its speed does
not matter. Counted are stacks of the event loop's thread while it does something:

* *the plugin*: its hooks and answers, however cold they are amid other work;
* *calls*: Dask's own reading and writing of calls (not of its streams of messages), of which there
  are some that nobody watches, too: these are taken off.

What is left out is that the rest may be slower, since its own data leave the processor's caches.

py-spy is a program of its own (``pip install py-spy``); as root it may look into other processes.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from distributed import Client

from benchmarks.dask_bridge import LEAVE, NONE, SIDES, cluster_and_viewers
from spanwise.tests.dask_processes import DaskProcesses

#: As `ship.py` names the plugin's text.
_PLUGIN = "(<spanwise bridge>"
_TASKS = 500
_STACKS_A_SECOND = 200


def increment(number: int) -> int:
    return number + 1


@dataclass
class Stacks:
    """How many there were while the loop did something, and of what kinds.

    Attributes
    ----------
    all, plugin, calls
        Of all kinds; with a function of the plugin; of Dask's own part of calls.
    """

    all: int = 0
    plugin: int = 0
    calls: int = 0

    def add(self, recorded: str) -> None:
        """Count what py-spy has written: a line each, ``function (file:line);… count``."""
        for line in recorded.splitlines():
            stack, _, count = line.rpartition(" ")
            is_waiting = "select (selectors.py" in stack.rpartition(";")[2]
            if "run_forever" not in stack or is_waiting:
                continue
            self.all += int(count)
            if _PLUGIN in stack:
                self.plugin += int(count)
            elif "handle_comm" in stack and "handle_stream" not in stack:
                self.calls += int(count)

    def over(self, bare: Stacks) -> float:
        """Their CPU time over that without what is there only since somebody watches."""
        calls = self.calls / self.all - bare.calls / bare.all
        return 1 / (1 - self.plugin / self.all - max(0.0, calls))


async def _run_block(client: Client) -> None:
    futures = client.map(increment, range(_TASKS), pure=False)
    await client.gather(futures)
    for future in futures:
        future.release()
    await asyncio.sleep(0.02)


async def _record(
    py_spy: str, folder: Path, seconds: int, cluster: DaskProcesses, client: Client
) -> str:
    """Stacks of the scheduler, while tasks run."""
    file = folder / "stacks"
    options = ("-r", str(_STACKS_A_SECOND), "-d", str(seconds), "-f", "raw", "-F", "-o", str(file))
    command = (py_spy, "record", "-p", str(cluster.scheduler.pid), *options)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    looking = await asyncio.create_subprocess_exec(*command, **quiet)
    said = asyncio.create_task(looking.communicate())
    while not said.done():
        await _run_block(client)
    _, why = said.result()
    if looking.returncode != 0:
        raise SystemExit(f"{py_spy} failed: {why.decode(errors='replace').strip()}")
    return file.read_text("utf-8")


async def measure(py_spy: str, seconds: int, rounds: int) -> dict[str, Stacks]:
    """Stacks by who watches, in turn in one cluster."""
    sides = {NONE: 0, **SIDES}
    found = {side: Stacks() for side in sides}
    with tempfile.TemporaryDirectory() as folder:
        async with cluster_and_viewers() as (cluster, client, viewers):
            for _ in range(rounds):
                for side, count in sides.items():
                    if count:
                        await viewers.ask(str(count))
                    await _run_block(client)
                    found[side].add(await _record(py_spy, Path(folder), seconds, cluster, client))
                    if count:
                        await viewers.ask(LEAVE)
    return found


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--py-spy", required=True, help="the program")
    parser.add_argument("--seconds", type=int, default=45)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = asyncio.run(measure(options.py_spy, options.seconds, options.rounds))
    for side, stacks in found.items():
        # (of a count of n the spread is √n: two of them to either side)
        spread = 2 * (stacks.plugin + stacks.calls + found[NONE].calls) ** 0.5 / stacks.all
        print(
            f"  {side:14} {stacks.all:6} stacks: plugin {stacks.plugin / stacks.all:6.2%},"
            f" calls {stacks.calls / stacks.all:6.2%};"
            f" over none {stacks.over(found[NONE]):.3f} x (±{spread:.3f})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
