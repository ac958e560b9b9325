"""scripts/pick_ports.py finds ports that are free and that the system gives to nobody."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from spanwise.tests.file_module import module_of_file


@pytest.fixture
def picking(checkout: Path) -> Any:
    return module_of_file("pick_ports", checkout / "scripts" / "pick_ports.py")


def test_they_are_free_and_beside_those_that_the_system_gives_away(
    checkout: Path, picking: Any
) -> None:
    told = subprocess.run(
        [sys.executable, str(checkout / "scripts" / "pick_ports.py"), "3"],
        capture_output=True,
        text=True,
        check=True,
    )
    ports = [*map(int, told.stdout.split())]
    first, last = picking.given_away()
    assert len({*ports}) == 3
    if (first, last) != (1024, 65_535):
        assert not [port for port in ports if first <= port <= last]


@pytest.mark.parametrize(
    ("said", "lowest", "highest", "count"),
    [
        ("32768\t60999\n", 20_000, 65_535, 12_768 + 4_536),
        ("15000\t40000\n", 40_001, 65_535, 25_535),
        ("1024\t65535\n", 20_000, 65_535, 45_536),
        (None, 20_000, 32_767, 12_768),
    ],
)
def test_the_range_is_read(
    picking: Any, tmp_path: Path, said: str | None, lowest: int, highest: int, count: int
) -> None:
    picking.RANGE_FILE = tmp_path / "range"
    if said is not None:
        picking.RANGE_FILE.write_text(said)
    among = picking.candidates(*picking.given_away())
    assert (min(among), max(among), len(among)) == (lowest, highest, count)


def test_one_that_is_in_use_is_passed_over_and_a_refusal_is_told(
    picking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as doors:
        servers = [doors.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        taken = [each.getsockname()[1] for each in servers]
        with pytest.raises(SystemExit, match=r"Of 2 ports between \d+ and \d+ 0 are free, and 1"):
            picking.pick(1, taken)
    asked: list[int] = []

    def refuse(address: tuple[str, int]) -> socket.socket:
        asked.append(address[1])
        raise OSError(errno.EACCES, "no sockets here")

    monkeypatch.setattr(picking.socket, "create_server", refuse)
    with pytest.raises(PermissionError, match="no sockets here"):
        picking.pick(1, taken)
    assert len(asked) == 1
