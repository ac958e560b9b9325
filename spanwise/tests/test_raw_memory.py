"""Memory that the system fills: never where an AMD processor copies at a fifth of its speed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.wire import direct, payload, raw_memory
from spanwise.wire.direct import Direct
from spanwise.worker.spill_file import SpillFiles

pytestmark = pytest.mark.skipif(not raw_memory.IS_POSSIBLE, reason="Linux, CPython")

PAGE_BYTES = 4096
KIB = 1024


def is_slow(into: int, start: int) -> bool:
    """Whether the target lies 1 to 31 bytes further in its page."""
    return 0 < (into - start) % PAGE_BYTES < 32


def target(memory: memoryview) -> int:
    """Where NumPy sees it."""
    return int(np.frombuffer(memory, "u1").__array_interface__["data"][0])


@settings(max_examples=300)
@given(
    st.sampled_from([0, 1, 63 * KIB, 64 * KIB, 128 * KIB + 7, 1024 * KIB, 4096 * KIB, 5000 * KIB]),
    st.integers(-(2**47), 2**47),
    st.integers(-40, 40),
)
def test_room_is_as_large_as_asked_for_and_well_placed(nbytes: int, start: int, by: int) -> None:
    made = raw_memory.room(nbytes, start)
    assert made.nbytes == nbytes and not made.readonly and made.format == "B"
    made[:] = bytes(nbytes)
    # (each time the allocator may give another place: so the starts are drawn around this one)
    near = raw_memory.room(nbytes, target(made) + by) if nbytes else made
    assert near.nbytes == nbytes
    if nbytes >= 64 * KIB:
        assert not is_slow(target(made), start)
        assert not is_slow(target(near), target(made) + by)


def test_what_is_copied_from_a_process_begins_where_it_is_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = np.arange(200 * KIB, dtype="u1")
    places: list[tuple[int, int]] = []
    copy: Callable[[int, int, int, int], None] = direct._copy

    def seen(pid: int, into: int, start: int, nbytes: int) -> None:
        places.append((into, start))
        copy(pid, into, start, nbytes)

    monkeypatch.setattr(direct, "_copy", seen)
    for at in range(0, 160, 4):
        source = memoryview(content)[at : at + 150 * KIB]
        blob = memoryview(bytes(range(60)))
        found = Direct(
            os.getpid(), blob, [(50, target(source), source.nbytes)], lambda: True
        ).read()
        assert found[:50] == blob[:50] and found[50:-10] == source and found[-10:] == blob[50:]
    assert len(places) == 40
    assert not [place for place in places if is_slow(*place)]


def test_the_longest_piece_is_the_one_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    room = raw_memory.room
    monkeypatch.setattr(
        direct, "room", lambda nbytes, start: asked.append(start) or room(nbytes, start)
    )
    monkeypatch.setattr(direct, "_copy", lambda *_: None)
    pieces = [(8, 70_000, 100), (16, 500_000, 9000), (0, 900_000, 300)]
    Direct(os.getpid(), memoryview(bytes(24)), pieces, lambda: True).read()
    assert asked == [500_000 - 8 - 100 - 16]


@pytest.mark.parametrize("nbytes", [0, 100, 100 * KIB, 300 * KIB, 5000 * KIB])
def test_spilled_results_come_back_to_where_it_is_quick(
    tmp_path: Path, nbytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[int] = []
    room = raw_memory.room
    monkeypatch.setattr(
        raw_memory, "room", lambda nbytes, start: starts.append(start) or room(nbytes, start)
    )
    files = SpillFiles(tmp_path / "spill")
    values = [np.arange(nbytes, dtype="u1").tobytes(), b"second"]
    spilled = files.write([(i, 0.0, payload.dumps(value)) for i, value in enumerate(values)])
    for value, each in zip(values, spilled, strict=True):
        content = each.read()
        assert payload.loads(content) == value and not content.readonly
    assert starts == [0, spilled[0].disk_bytes]
