"""A cluster that is disturbed all the time: every result is right, or its error says why.

    python -m benchmarks soak [-- --seconds 600]

Two to four workers with 400 MB each, and two clients: the one whose cluster it is, and one that
joined. Every five seconds a worker is killed, stopped for up to six seconds (its limit is four,
so that some are taken out and some are not) or retired, or the cluster gets another size. A third
and two thirds of the way the disk is full for 20 s (less of a shorter run). Meanwhile each client,
in rounds:

* many small results that do not fit into memory, and a sum of them;
* large ones, read back by others;
* a tree of sums over arrays, by Dask;
* tasks that raise, of which the next ones fail;
* data scattered to the workers, which is lost with them.

It fails for a wrong result, memory of the scheduler or of this program that grows, an error that
does not say its cause, a wait that takes longer than `ROUND_SECONDS`, and for files, processes and
descriptors that are left.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from statistics import median
from typing import Any, Literal

import dask
import dask.array as da
import psutil

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise import Client, KilledWorker, StallError, wait
from spanwise.errors import ClusterError, RemoteTaskError
from spanwise.tests.leftover import mark_this_process, marked_processes, wait_until_gone

MEMORY = 400 * 10**6
FEWEST_WORKERS, MOST_WORKERS = 2, 4
EVERY_SECONDS = 5.0
STOPPED_SECONDS = 6.0
TTL_SECONDS = 4.0
FULL_SECONDS = 20.0
#: A round takes seconds; with a full disk and deaths amid it, a minute.
ROUND_SECONDS = 150.0
#: On a busy machine more may be lost every four seconds than is made: a round that takes longer
#: is left in peace from here on, so that what hangs can be told from what is only slow.
CALM_AFTER_SECONDS = 60.0
#: A shorter run has smaller rounds, in which there are fewer results.
WHOLE_ROUNDS_SECONDS = 60.0
#: Of the disk that fills up; in a short run, which puts less on it, a quarter.
DISK_BYTES = 12 * 10**8
LEAST_DISK_SHARE = 0.25
#: Wrong results, errors without their cause, what is left: none.
MOST_WRONG = 0
#: What may be there more at the end than at the beginning.
MOST_DESCRIPTORS = 5
#: Median memory of the last third of a run, against the second third: what is not flat grows more.
MOST_GROWTH_BYTES = 60 * 10**6
#: A shorter run is still filling its caches.
LEAST_SECONDS_OF_MEMORY = 60.0
#: An error says its cause if it is one of these, or was raised by the task itself.
CAUSES: tuple[type[BaseException], ...] = (KilledWorker, StallError)
#: What errors of lost data say.
LOST = ("LostData", "LostDependencies")


class Wrong(Exception):
    """An error of the soak run: something that must not be."""


class Deliberate(Exception):
    """Raised by a task that is meant to."""


def filled(i: int, nbytes: int) -> bytes:
    return (i % 65536).to_bytes(4, "little") * (nbytes // 4)


def checked(value: bytes, i: int, nbytes: int) -> int:
    """Return `i` if the value is what :func:`filled` made of it."""
    if value != filled(i, nbytes):
        raise Wrong(f"result {i} of {nbytes} bytes has changed")
    return i


def raising(i: int) -> int:
    time.sleep(0.01)
    raise Deliberate(f"meant {i}")


# ── the work ──────────────────────────────────────────────────────────────


def small_results(client: Client, chance: random.Random, share: float = 1.0) -> int:
    """8,000 x 60 kB: 480 MB, of two times 240 that may stay."""
    count = 100 * max(1, round(share * chance.choice([20, 50, 80])))
    key = chance.random()
    made = [
        client.submit(filled, i, 60_000, key=f"small-{key}-{i}", retries=1) for i in range(count)
    ]
    parts = [
        client.submit(sums_of, made[i : i + 100], i, 60_000, pure=False)
        for i in range(0, count, 100)
    ]
    total = client.submit(sum, parts, pure=False).result(ROUND_SECONDS)
    if total != count * (count - 1) // 2:
        raise Wrong(f"the sum of {count} small results is {total}")
    return count


def sums_of(values: list[bytes], first: int, nbytes: int) -> int:
    return sum(checked(value, first + i, nbytes) for i, value in enumerate(values))


def large_results(client: Client, chance: random.Random, share: float = 1.0) -> int:
    count, nbytes = max(4, round(40 * share)), 20_000_000
    made = client.map(filled, range(count), nbytes=nbytes, pure=False)
    parts = [client.submit(checked, m, i, nbytes) for i, m in enumerate(made)]
    wait(parts, timeout=ROUND_SECONDS)
    found = client.gather(parts)
    if found != list(range(count)):
        raise Wrong(f"large results gave {found}")
    return count


def added(a: Any, b: Any) -> Any:
    """Add two blocks of ones, and say which of them is wrong."""
    total = a + b
    for name, block, right in (("first", a, 1), ("second", b, 1), ("sum", total, 2)):
        if block.shape != (500, 500) or not (block == right).all():
            raise Wrong(
                f"the {name} block has {sorted(set(block.flat))[:5]}, shape {block.shape}, "
                f"own {block.flags.owndata}, in process {os.getpid()}"
            )
    return total


def all_twos(block: Any, side: int) -> Any:
    """Return a merged block, and say which of its pieces are wrong."""
    wrong = [i for i in range(0, len(block), 500) if not (block[i : i + 500] == 2).all()]
    if block.shape != (side, 250) or wrong:
        values = sorted(set(block.flat))[:5]
        raise Wrong(f"a merged block has {values}, shape {block.shape}, wrong from rows {wrong}")
    return block


def arrays(client: Client, chance: random.Random, share: float = 1.0) -> int:
    count = max(2, round(8 * share))
    side = 500 * count
    x = da.ones((side, side), chunks=(500, 500))
    twos = da.map_blocks(added, x, x.T, dtype=float)
    y = twos.rechunk((side, 250)).map_blocks(all_twos, side=side, dtype=float).sum(axis=0)
    total = float(client.compute(y.sum()).result(ROUND_SECONDS))
    if total != 2.0 * side * side:
        raise Wrong(f"the array's sum is {total}")
    return count * count


def failing(client: Client, chance: random.Random, share: float = 1.0) -> int:
    futures = client.map(raising, range(20), pure=False)
    after = client.submit(sum, futures, pure=False)
    wait([*futures, after], timeout=ROUND_SECONDS)
    for i, future in enumerate(futures):
        error = future.exception(ROUND_SECONDS)
        if not isinstance(error, (Deliberate, *CAUSES)):
            raise Wrong(f"task {i} raised {error!r}")
    if not isinstance(after.exception(ROUND_SECONDS), (Deliberate, *CAUSES)):
        raise Wrong(f"what needs it raised {after.exception()!r}")
    return 21


def scattered(client: Client, chance: random.Random, share: float = 1.0) -> int:
    data = client.scatter([filled(i, 100_000) for i in range(10)])
    parts = [client.submit(checked, d, i, 100_000) for i, d in enumerate(data)]
    wait(parts, timeout=ROUND_SECONDS)
    found = client.gather(parts)
    if found != list(range(10)):
        raise Wrong(f"scattered data gave {found}")
    return 10


Work = Callable[[Client, random.Random, float], int]
WORK: tuple[Work, ...] = (
    small_results,
    large_results,
    arrays,
    failing,
    scattered,
)
#: Both clients' large results together would fill the disk by themselves.
GUEST_WORK = tuple(each for each in WORK if each is not large_results)


def cause_of(error: BaseException) -> str:
    """Name the cause that an error says; empty if it says none."""
    if isinstance(error, (Wrong, TimeoutError)):
        return ""
    if isinstance(error, CAUSES) and len(str(error)) > 40:
        return type(error).__name__
    if isinstance(error, RemoteTaskError) and str(error).startswith(LOST):
        return str(error).split(":")[0]
    if isinstance(error, OSError) and "No space left" in str(error):
        return "OSError"
    if isinstance(error, ClusterError) and "worker" in str(error):
        return type(error).__name__
    return ""


# ── the disturbances ──────────────────────────────────────────────────────


class Disturber(threading.Thread):
    """Kills, stops or retires a worker every now and then, or changes how many there are."""

    def __init__(self, client: Client, rounds: list[Rounds], seed: int, every: float) -> None:
        super().__init__(name="disturber", daemon=True)
        self._client = client
        self._rounds = rounds
        self._chance = random.Random(seed)
        self._every = every
        self._over = threading.Event()
        self._did_each = threading.Event()
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self) -> None:
        all_kinds = [self.kill, self.stop, self.retire, self.scale]
        kinds: list[Callable[[dict[str, Any]], None]] = []
        while not self._over.wait(self._every):
            rows = [row for row in workers_of(self._client) if psutil.pid_exists(row["pid"])]
            began = min(each.round_began for each in self._rounds)
            if not rows or time.monotonic() - began > CALM_AFTER_SECONDS:
                continue
            row = self._chance.choice(rows)
            if not kinds:  # each as often as the others, in a short run, too
                kinds = all_kinds.copy()
                self._chance.shuffle(kinds)
            how = kinds.pop()
            try:
                how(row)
                self.done[how.__name__] += 1
                if len(self.done) == len(all_kinds):
                    self._did_each.set()
            except ProcessLookupError:
                continue
            except Exception as error:  # noqa: BLE001 (judged here)
                if not cause_of(error):
                    self.wrong.append(f"{how.__name__}: {type(error).__name__}: {error}"[:500])

    def kill(self, row: dict[str, Any]) -> None:
        os.kill(row["pid"], signal.SIGKILL)

    def stop(self, row: dict[str, Any]) -> None:
        os.kill(row["pid"], signal.SIGSTOP)
        seconds = STOPPED_SECONDS * self._chance.random()
        threading.Timer(seconds, self._go_on, (row["pid"],)).start()

    def retire(self, row: dict[str, Any]) -> None:
        self._client.retire_workers([row["id"]])
        # What was retired does not come back by itself.
        self._client.scale(max(FEWEST_WORKERS, len(workers_of(self._client))))

    def scale(self, row: dict[str, Any]) -> None:
        self._client.scale(self._chance.randint(FEWEST_WORKERS, MOST_WORKERS))

    @staticmethod
    def _go_on(pid: int) -> None:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass  # taken out meanwhile

    def end(self) -> None:
        """Soon; in a short run, too, each kind comes once."""
        self._did_each.wait(ROUND_SECONDS)
        self._over.set()
        self.join()


def workers_of(client: Client) -> list[dict[str, Any]]:
    return list(client._session.workers.values())


class Disk:
    """Where temporary files lie: a file system of its own, or none may grow in the workers."""

    def __init__(self, folder: Path, nbytes: int) -> None:
        self.folder = folder
        self._nbytes = nbytes
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={nbytes}", "tmpfs", str(folder)],
            capture_output=True,
        )
        self.is_mounted = made.returncode == 0

    def fill(self, pids: list[int]) -> None:
        if self.is_mounted:
            with (self.folder / "filler").open("ab") as file:
                self._fill_up(file.fileno())
        else:
            self._limit(pids, 65536)

    def _fill_up(self, file: int) -> None:
        """Take all that is free. (To write a gigabyte would keep a core for seconds.)"""
        size, piece = 0, self._nbytes
        while piece >= resource.getpagesize():
            try:
                os.posix_fallocate(file, size, piece)
                size += piece
            except OSError:
                piece //= 2

    def free(self, pids: list[int]) -> None:
        if self.is_mounted:
            (self.folder / "filler").unlink(missing_ok=True)
        else:
            self._limit(pids, resource.RLIM_INFINITY)

    @staticmethod
    def _limit(pids: list[int], nbytes: int) -> None:
        for pid in pids:
            try:
                _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (nbytes, hard))
            except ProcessLookupError:
                continue

    def end(self) -> None:
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


# ── the run ───────────────────────────────────────────────────────────────


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Rounds:
    """One client's work, a round after the other, and what came of it."""

    def __init__(
        self, client: Client, work: Sequence[Work], chance: random.Random, share: float
    ) -> None:
        self._client = client
        self._work = work
        self._chance = chance
        self._share = share
        #: When the round began that is under way.
        self.round_began = time.monotonic()
        self.done: Counter[str] = Counter()
        self.causes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.tasks = 0
        self.slowest_seconds = 0.0

    def run(self, until: float) -> None:
        """Until then; in a short run, too, each kind once."""
        number = 0
        while time.monotonic() < until or number < len(self._work):
            work = self._work[number % len(self._work)]
            number += 1
            self.round_began = time.monotonic()
            try:
                self.tasks += work(self._client, self._chance, self._share)
                self.done["right"] += 1
            except (Exception, CancelledError) as error:  # noqa: BLE001 (judged here)
                cause = cause_of(error)
                self.done["failed"] += 1
                self.causes[f"{work.__name__}: {cause}"] += 1
                if not cause:
                    self.wrong.append(f"{work.__name__}: {type(error).__name__}: {error}"[:500])
            taken = time.monotonic() - self.round_began
            self.slowest_seconds = max(self.slowest_seconds, taken)
        # No round is under way any more.
        self.round_began = float("inf")


class MemoryWatch(threading.Thread):
    """Memory of processes, each second."""

    def __init__(self, pids: dict[str, int]) -> None:
        super().__init__(name="memory", daemon=True)
        self._processes = {name: psutil.Process(pid) for name, pid in pids.items()}
        self._over = threading.Event()
        self.nbytes: dict[str, list[int]] = {name: [] for name in pids}

    def run(self) -> None:
        while not self._over.wait(1.0):
            for name, process in self._processes.items():
                self.nbytes[name].append(process.memory_info().rss)

    def end(self) -> None:
        self._over.set()
        self.join()

    def thirds(self) -> dict[str, list[float]]:
        """Process to the medians of each third of the run, in MB."""
        found = {}
        for name, nbytes in self.nbytes.items():
            third = max(1, len(nbytes) // 3)
            parts = [nbytes[i * third : (i + 1) * third] for i in range(3)]
            found[name] = [round(median(part) / 1e6, 1) for part in parts if part]
        return found

    def growth(self) -> list[str]:
        return [
            f"memory of the {name} grew: {medians} MB"
            for name, medians in self.thirds().items()
            if medians[-1] - medians[1] > MOST_GROWTH_BYTES / 1e6
        ]


def soak(seconds: float, seed: int, folder: Path) -> dict[str, Any]:
    """Run for so long; what came of it, with what is wrong under ``wrong``."""
    wrong: list[str] = []
    full_seconds = min(FULL_SECONDS, seconds / 6)
    share = min(1.0, seconds / WHOLE_ROUNDS_SECONDS)
    disk = Disk(folder, int(DISK_BYTES * max(LEAST_DISK_SHARE, share)))
    tempfile.tempdir = str(folder)
    known = set(marked_processes())
    try:
        with dask.config.set({"spanwise.scheduler.worker-ttl": TTL_SECONDS}):
            client = Client(n_workers=FEWEST_WORKERS, threads_per_worker=1, memory_limit=MEMORY)
        with client:
            assert client._scheduler is not None
            scheduler = client._scheduler.process.pid
            cluster_folder = client._scheduler.folder
            client.gather(client.map(filled, range(10), nbytes=8))
            pids = lambda: [row["pid"] for row in workers_of(client)]  # noqa: E731
            before = (descriptors(scheduler), descriptors(os.getpid()))
            with Client(client.address, set_as_default=False) as guest:
                rounds = [
                    Rounds(client, WORK, random.Random(seed), share),
                    Rounds(guest, GUEST_WORK, random.Random(seed + 1), share),
                ]
                disturber = Disturber(client, rounds, seed, min(EVERY_SECONDS, seconds / 6))
                memory = MemoryWatch({"scheduler": scheduler, "program": os.getpid()})
                begin = time.monotonic()
                guests = threading.Thread(target=rounds[1].run, args=(begin + seconds,))
                filling = threading.Thread(
                    target=fill_twice, args=(disk, pids, begin, seconds, full_seconds), daemon=True
                )
                for thread in (disturber, memory, filling, guests):
                    thread.start()
                rounds[0].run(begin + seconds)
                guests.join()
                disturber.end()
                memory.end()
                filling.join()
                disk.free(pids())
            client.scale(FEWEST_WORKERS)
            wrong += after_the_storm(client, cluster_folder, scheduler, before, share)
        wrong += [f"a process is left: {line}" for line in wait_until_gone(known, 30)]
        left = [str(path) for path in folder.rglob("*")]
        wrong += [f"a file is left: {path}" for path in left]
        wrong += disturber.wrong
        wrong += [line for each in rounds for line in each.wrong]
        if seconds >= LEAST_SECONDS_OF_MEMORY:
            wrong += memory.growth()
    finally:
        tempfile.tempdir = None
        disk.end()
    return {
        "seconds": seconds,
        "disk": "mounted" if disk.is_mounted else "limited",
        "tasks": sum(each.tasks for each in rounds),
        "tasks of the guest": rounds[1].tasks,
        "rounds": dict(sum((each.done for each in rounds), Counter())),
        "causes": dict(sum((each.causes for each in rounds), Counter())),
        "disturbances": dict(disturber.done),
        "slowest_round_seconds": max(each.slowest_seconds for each in rounds),
        "memory_MB": memory.thirds(),
        "wrong": wrong,
    }


def fill_twice(
    disk: Disk, pids: Callable[[], list[int]], begin: float, seconds: float, full: float
) -> None:
    for third in (1, 2):
        time.sleep(max(0.0, begin + third * seconds / 3 - full / 2 - time.monotonic()))
        disk.fill(pids())
        time.sleep(full)
        disk.free(pids())


def after_the_storm(
    client: Client, folder: Path, scheduler: int, before: tuple[int, int], share: float
) -> list[str]:
    """Compute something undisturbed, and see that nothing is left."""
    gc.collect()  # the tracebacks of failed rounds hold futures
    end = time.monotonic() + 60
    wrong = ["not begun"]
    while wrong and time.monotonic() < end:
        time.sleep(0.5)
        wrong = []
        rows = workers_of(client)
        running = [row for row in rows if row["state"] == "running"]
        if len(running) != FEWEST_WORKERS:
            wrong.append(f"the workers are {rows}")
        living = {f"worker-{row['id']}.sock" for row in rows}
        for path in folder.glob("worker-*.sock"):
            if path.name not in living:
                wrong.append(f"{path.name} is left")
        wrong += [f"{path} is left" for path in folder.glob("spill-*/*")]
        now = (descriptors(scheduler), descriptors(os.getpid()))
        for name, then, count in zip(("scheduler", "client"), before, now, strict=True):
            if count > then + MOST_DESCRIPTORS:
                wrong.append(f"the {name} has {count} descriptors, {then} at the beginning")
    if not wrong:
        try:
            small_results(client, random.Random(0), share)
        except Exception as error:  # noqa: BLE001 (told)
            wrong.append(f"afterwards: {type(error).__name__}: {error}")
    return wrong


def main() -> int:
    """Soak, print what came of it, hand over: nothing may be wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    records.add_option(parser)
    options = parser.parse_args()
    mark_this_process()
    warnings.simplefilter("ignore", RuntimeWarning)
    with tempfile.TemporaryDirectory(prefix="soak") as folder:
        found = soak(options.seconds, options.seed, Path(folder))
    for name, value in found.items():
        if name != "wrong":
            print(f"{name:24} {value}")
    for line in found["wrong"]:
        print(f"wrong: {line}", file=sys.stderr)
    settings = {"seconds": options.seconds, "seed": options.seed, "disk": found["disk"]}
    records.hand_over(options, settings, figures_of(found), found)
    return 0


def figures_of(found: dict[str, Any]) -> list[Figure]:
    """How much work went through, and the counts that must be 0."""
    row = f"{found['seconds']:g} s of disturbances"

    def count(column: str, better: Literal["lower", "higher"], value: float) -> Figure:
        return Figure(row, column, "", better, (value,))

    disturbed = found["disturbances"]
    return [
        Figure(row, "wrong", "", "lower", (len(found["wrong"]),), limit=MOST_WRONG),
        count("tasks", "higher", found["tasks"]),
        count("rounds, all right", "higher", found["rounds"].get("right", 0)),
        count("rounds with an error that says its cause", "lower", sum(found["causes"].values())),
        count("workers killed", "higher", disturbed.get("kill", 0)),
        count("workers stopped", "higher", disturbed.get("stop", 0)),
        count("workers retired", "higher", disturbed.get("retire", 0)),
        count("changes of size", "higher", disturbed.get("scale", 0)),
        count("slowest round, s", "lower", found["slowest_round_seconds"]),
    ]


if __name__ == "__main__":
    sys.exit(main())
