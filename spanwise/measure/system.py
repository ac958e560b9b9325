"""What the system counts for this process and its host: CPU, descriptors, disk, network.

A row stands for the time since the row before it::

    rows             │ 0.5 s │ 0.5 s │ 0.5 s │         2 s          │
    tasks run   ─────▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓─────────────────────────────────

A row takes some 0.1 ms, so nothing is kept open between two of them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from spanwise.records.enumerations import NONE_U32

#: Between rows while tasks run, and of a worker without any.
SYSTEM_SECONDS = 0.5
RESTING_SYSTEM_SECONDS = 2.0
#: Less than this since the last row says too little of how fast anything went.
LEAST_SECONDS = 0.05

#: A clock may stand still between two readings.
_SHORTEST_SECONDS = 1e-6
_SECTOR_BYTES = 512
_READ_BYTES = 65_536
_NOT_TOLD = (float("nan"), float("nan"))

#: Bytes read or received, and written or sent.
Bytes = tuple[float, float]


class SystemRow(NamedTuple):
    """A row of the table `system`, as workers send it; NaN and `NONE_U32`: not told."""

    t: float
    seconds: float
    cpu: float
    memory: float
    fds: int
    net_read: float
    net_write: float
    disk_read: float
    disk_write: float
    host_disk_read: float
    host_disk_write: float


class SystemMonitor:
    """Makes rows; each is of the time since the one before, or since this was made."""

    def __init__(self) -> None:
        self._before = _counted()
        self._has_none = True

    def is_due(self, now: float, seconds: float) -> bool:
        """Whether rows that are so far apart would have one now; the first is due at once.

        They lie on the clock that all processes of a machine share, so that what all of them say
        wakes the scheduler once.
        """
        last = self._before.t
        return self._has_none or (now // seconds > last // seconds and self.is_worth(now))

    def is_worth(self, now: float) -> bool:
        """Whether the last row is old enough for another one to say something."""
        return now - self._before.t >= LEAST_SECONDS

    def row(self) -> SystemRow:
        """Look, and return what has changed since the last time."""
        before, after = self._before, _counted()
        self._before, self._has_none = after, False
        seconds = max(after.t - before.t, _SHORTEST_SECONDS)
        return SystemRow(
            after.t,
            seconds,
            100 * (after.cpu - before.cpu) / seconds,
            resident_bytes(),
            open_descriptors(),
            *_rates(before.net, after.net, seconds),
            *_rates({"": before.disk}, {"": after.disk}, seconds),
            *_rates(before.host_disk, after.host_disk, seconds),
        )


class _Counts(NamedTuple):
    """What is counted from a beginning on."""

    t: float
    cpu: float
    disk: Bytes
    net: Mapping[str, Bytes]
    host_disk: Mapping[str, Bytes]


def _counted() -> _Counts:
    return _Counts(
        time.perf_counter(),
        time.process_time(),
        process_disk_bytes(),
        host_net_bytes(),
        host_disk_bytes(),
    )


def _rates(before: Mapping[str, Bytes], after: Mapping[str, Bytes], seconds: float) -> Bytes:
    """Bytes a second of all devices that were there both times; a count that fell began anew."""
    both = [(before[name], counts) for name, counts in after.items() if name in before]
    if not both:
        return _NOT_TOLD
    read, written = (sum(max(now[i] - then[i], 0.0) for then, now in both) for i in (0, 1))
    if any(each != each for then, now in both for each in (*then, *now)):
        return _NOT_TOLD
    return read / seconds, written / seconds


# -- Linux tells in files, others through psutil ---------------------------

_IS_LINUX = sys.platform == "linux"


def resident_bytes() -> float:
    """Bytes of this process that are in memory, shared ones included; NaN: not told."""
    if not _IS_LINUX:
        return float(_asked(lambda psutil: psutil.Process().memory_info().rss, float("nan")))
    try:
        fields = _text("/proc/self/statm").split()
        return float(int(fields[1]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, LookupError, ValueError):
        return float("nan")


def open_descriptors() -> int:
    """How many descriptors this process has open; `NONE_U32`: not told."""
    if not _IS_LINUX:
        return int(_asked(lambda psutil: psutil.Process().num_fds(), NONE_U32))
    try:
        # Since Linux 6.2 it is the folder's size; before that it has to be listed.
        told = Path("/proc/self/fd").stat().st_size
        return (
            told or len(list(Path("/proc/self/fd").iterdir())) - 1
        )  # (the listing has one itself)
    except OSError:
        return NONE_U32


def process_disk_bytes() -> Bytes:
    """Bytes that this process had read from disks, and written to files that lie on them."""
    if not _IS_LINUX:
        return _pair(_asked(lambda psutil: psutil.Process().io_counters()[2:4], _NOT_TOLD))
    found = {}
    for line in _lines("/proc/self/io"):
        name, _, value = line.partition(":")
        found[name] = value
    try:
        return float(found["read_bytes"]), float(found["write_bytes"])
    except (LookupError, ValueError):
        return _NOT_TOLD


def host_net_bytes() -> Mapping[str, Bytes]:
    """By interface of the host (or of the container), the loopback's too: received and sent."""
    if not _IS_LINUX:
        told = _asked(lambda psutil: psutil.net_io_counters(pernic=True), {})
        return {
            name: (float(each.bytes_recv), float(each.bytes_sent)) for name, each in told.items()
        }
    return _table(_lines("/proc/net/dev"), _of_interface)


def host_disk_bytes() -> Mapping[str, Bytes]:
    """By disk of the host: bytes read and written; none where it shows no disks."""
    if not _IS_LINUX:
        told = _asked(lambda psutil: psutil.disk_io_counters(perdisk=True), {}) or {}
        return {
            name: (float(each.read_bytes), float(each.write_bytes)) for name, each in told.items()
        }
    return _table(_lines("/proc/diskstats"), _of_disk)


def _asked(ask: Callable[[Any], Any], otherwise: Any) -> Any:
    """What psutil says; `otherwise` where it has no such figure, or may not have it."""
    import psutil

    try:
        return ask(psutil)
    except (psutil.Error, OSError, AttributeError, NotImplementedError):
        return otherwise


def _pair(told: Any) -> Bytes:
    read, written = told
    return float(read), float(written)


def _lines(path: str) -> list[str]:
    try:
        return _text(path).splitlines()
    except OSError:
        return []


def _text(path: str) -> str:
    """All of a file of ``/proc``; a file object would ask the system twice as often."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # (it gives whole lines, and maybe not all of them at once)
        parts = [*iter(lambda: os.read(descriptor, _READ_BYTES), b"")]
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("ascii", "replace")


def _table(
    lines: Iterable[str], read: Callable[[str], tuple[str, Bytes] | None]
) -> Mapping[str, Bytes]:
    found = {}
    for line in lines:
        try:
            row = read(line)
        except (LookupError, ValueError):
            continue  # a heading
        if row is not None:
            found[row[0]] = row[1]
    return found


def _of_interface(line: str) -> tuple[str, Bytes]:
    """``name: received, 7 others, sent, …``."""
    name, _, rest = line.rpartition(":")
    fields = rest.split()
    return name.strip(), (float(fields[0]), float(fields[8]))


def _of_disk(line: str) -> tuple[str, Bytes] | None:
    """``major minor name reads merged sectors ms writes merged sectors …``."""
    fields = line.split()
    name = fields[2]
    if name not in _disks():
        return None
    return name, (float(fields[5]) * _SECTOR_BYTES, float(fields[9]) * _SECTOR_BYTES)


@cache
def _disks() -> frozenset[str]:
    """Whole disks: neither their partitions nor what lies on others, whose bytes are theirs."""
    try:
        return frozenset(
            each.name for each in Path("/sys/block").iterdir() if (each / "device").exists()
        )
    except OSError:
        return frozenset()
