"""Memory of this process by its address: where buffers lie, long copies, and huge pages.

With pages of 4 KiB, entering memory takes as long as copying into it, and a page of a segment
several times as long. So long pieces lie in huge pages where the system has such::

    anonymous   MADV_HUGEPAGE, as numpy does for its arrays
    segment     a byte in each huge page ─▶ mapped on a boundary ─▶ MADV_COLLAPSE ─▶ written
                readers map it on a boundary: a huge page is entered at once, not 512 times
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from spanwise.wire.frame_reader import uninitialised

Buffer = bytes | bytearray | memoryview
#: A stretch to be copied: (to, from, length).
Move = tuple[int, int, int]

#: Memory of this size on is asked for in huge pages.
HUGE_BYTES = 4 * 2**20
#: Shorter copies are over before it counts where they begin in their page; see `room`.
_LEAST_PLACED_BYTES = 64 * 1024
_PAGE_BYTES, _SLOW_BYTES = 4096, 32
#: So much is copied with one call, which nothing interrupts: some milliseconds.
CALL_BYTES = 8 * 2**20
#: From here on two threads copy, where there are two cores.
SHARED_BYTES = 32 * 2**20
#: Where huge pages are larger (ARM with pages of 64 KiB), hardly any payload fills one.
_MOST_HUGE_PAGE_BYTES = 4 * 2**20
#: Huge pages of files are asked for in such steps, and not for so long after there was none.
_COLLAPSE_BYTES = 32 * 2**20
REFUSED_SECONDS = 10.0
#: A step that takes more CPU time than this, and per byte as much as small pages do, moves other
#: memory out of the way: the next one waits so many times as long.
_SLACK_SECONDS, _SLOWEST_COLLAPSE, _PAUSE = 0.005, 2.5 * 2**30, 10
_SIMPLE = 0
#: Linux 6.1; whatever the system is set up to do by itself.
_MADV_COLLAPSE = 25
#: Linux's, on all processors but Alpha, MIPS, PA-RISC and Xtensa.
_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000
_FAILED = ctypes.c_void_p(-1).value

#: Whether buffers can be looked at, and memory be mapped where it is wanted.
IS_POSSIBLE = (
    sys.platform == "linux" and sys.implementation.name == "cpython" and sys.maxsize > 2**32
)


class _View(ctypes.Structure):
    """Python's Py_buffer, of whose rest only the room is needed."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("owner", ctypes.py_object),
        ("rest", ctypes.c_void_p * 16),
    )


@cache
def _buffer_calls() -> tuple[Any, Any]:
    """CPython's functions to look at a buffer, and to let go of it."""
    get = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
    release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    api = ctypes.pythonapi
    return get(("PyObject_GetBuffer", api)), release(("PyBuffer_Release", api))


@cache
def _system_calls() -> tuple[Any, Any]:
    """The system's mmap and madvise."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    )
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return library.mmap, library.madvise


def address_of(buffer: Buffer | mmap.mmap) -> int:
    """Where a buffer lies; it stays there as long as somebody holds `buffer`."""
    view = _View()
    get, release = _buffer_calls()
    get(buffer, ctypes.addressof(view), _SIMPLE)
    address = view.address or 0
    release(ctypes.addressof(view))
    return address


def room(nbytes: int, start: int) -> memoryview:
    """Memory of arbitrary content, into which the system copies at its full speed.

    AMD's processors (Zen 3 to 5) copy with `rep movsb`, as Linux does for system calls, at a fifth
    to an eighth of their speed where the target begins 1 to 31 bytes further in its page::

        from  ├────┤█████████████  a file: 0       1 MiB of a file, us        target at 0   50
        to    ├──────┤███████████  malloc: 16                                           16  380
                   1…31: slow                                                           48   50

    Parameters
    ----------
    start
        Where that lies which will be copied into the first byte: an address, or a place in a file.
    """
    if nbytes < _LEAST_PLACED_BYTES or not IS_POSSIBLE:
        return memoryview(uninitialised(nbytes))
    owner: bytearray | mmap.mmap
    if nbytes < HUGE_BYTES:
        owner = uninitialised(nbytes + _SLOW_BYTES)
    else:
        owner = mmap.mmap(-1, nbytes + _SLOW_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        advice = getattr(mmap, "MADV_HUGEPAGE", None)
        if advice is not None:
            try:
                owner.madvise(advice)
            except OSError:
                pass  # a system without huge pages
    further = (address_of(owner) - start) % _PAGE_BYTES
    skipped = _SLOW_BYTES if 0 < further < _SLOW_BYTES else 0
    return memoryview(owner)[skipped : skipped + nbytes]


# ── copies ────────────────────────────────────────────────────────────────


def moves(into: int, start: int, nbytes: int) -> Iterator[Move]:
    """A copy as stretches of one call each."""
    for at in range(0, nbytes, CALL_BYTES):
        yield into + at, start + at, min(CALL_BYTES, nbytes - at)


def move(into: int, start: int, nbytes: int) -> None:
    """Copy within this process; other threads run meanwhile."""
    ctypes.memmove(into, start, nbytes)


def move_all(memory: Any, left: list[Move], copy: Callable[[int, int, int], None]) -> None:
    """Do all of these, by two threads if it is much.

    Parameters
    ----------
    memory
        Stays as long as something is copied.
    left
        It is empty afterwards, also when an exception ends this.
    copy
        Does one of them.
    """
    work = iter(left)
    errors: list[BaseException] = []

    def go_on(_memory: Any) -> None:  # which stays as long as this runs
        try:
            while not errors and (each := next(work, None)) is not None:
                copy(*each)
        except BaseException as error:  # noqa: BLE001 (raised below)
            errors.append(error)

    helper = None
    try:
        if sum(length for _, _, length in left) >= SHARED_BYTES and (os.cpu_count() or 1) > 1:
            helper = threading.Thread(
                target=go_on, args=(memory,), name="spanwise-copy", daemon=True
            )
            try:
                helper.start()
            except RuntimeError:  # no thread can be started
                helper = None
        go_on(memory)
        if helper is not None:
            helper.join()
        if errors:
            raise errors[0]
    finally:
        left.clear()  # Ctrl-C: the helper ends with the piece that it is at
        errors.clear()  # (its traceback would hold the memory)


# ── huge pages of files ───────────────────────────────────────────────────


@cache
def huge_page_bytes() -> int:
    """How large a huge page is; 0: there are none, or none of use here."""
    if not IS_POSSIBLE:
        return 0
    try:
        text = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").read_text("ascii")
        size = int(text)
    except (OSError, ValueError):
        return 0
    return size if 0 < size <= _MOST_HUGE_PAGE_BYTES else 0


def map_on_boundary(descriptor: int, nbytes: int, kind: int) -> memoryview:
    """Map the first bytes of a file to where a huge page begins, to be read and written.

    Parameters
    ----------
    kind
        ``mmap.MAP_SHARED`` or ``mmap.MAP_PRIVATE``.

    Returns
    -------
    memoryview
        Its `obj` is what ends the map when nobody holds it any more.

    Raises
    ------
    OSError
    """
    size = huge_page_bytes()
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    owner = mmap.mmap(-1, nbytes + size, flags=flags)
    start = address_of(owner)
    skipped = -start % size
    system_mmap, _ = _system_calls()
    access = mmap.PROT_READ | mmap.PROT_WRITE
    found = system_mmap(start + skipped, nbytes, access, kind | _MAP_FIXED, descriptor, 0)
    if found == _FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return memoryview(owner)[skipped : skipped + nbytes]


class _Refused:
    """Until when the system is not asked again: it may take long to find that it has none."""

    until = 0.0


def make_huge(memory: memoryview) -> int:
    """Have huge pages lie behind a shared map on a boundary.

    Each of them must have a page before.

    Returns
    -------
    int
        Of how many bytes from the begin on that could be had.
    """
    if perf_counter() < _Refused.until:
        return 0
    _, madvise = _system_calls()
    start = address_of(memory)
    for at in range(0, memory.nbytes, _COLLAPSE_BYTES):
        nbytes = min(_COLLAPSE_BYTES, memory.nbytes - at)
        begin = thread_time()
        is_refused = madvise(start + at, nbytes, _MADV_COLLAPSE) != 0
        spent = thread_time() - begin
        if is_refused:  # (memory lies in small pieces, or the system cannot do it)
            _Refused.until = perf_counter() + REFUSED_SECONDS
            return at
        if spent > _SLACK_SECONDS + nbytes / _SLOWEST_COLLAPSE:
            _Refused.until = perf_counter() + _PAUSE * spent
            return at + nbytes
    return memory.nbytes
