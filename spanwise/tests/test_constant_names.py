"""scripts/check_python_names.py finds what it is there to find."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

RIGHT = """
import struct, threading
import msgpack
_U32 = struct.Struct("<I")
LIMIT: int = 4
_LOCK = threading.Lock()
Row = tuple[int, int]
__all__ = ["LIMIT"]
packed = msgpack.packb
_unpacked = msgpack.Unpacker().unpack
_check = make_check(LIMIT)
is_child = False

def become_child():
    global is_child
    local = _check(3)
    is_child = True
"""

WRONG = """
import struct, threading
_u32 = struct.Struct("<I")
limit: int = 4
_lock = threading.Lock()
listed = []

def look():
    listed.append(limit)
"""


def test_names_that_stay_as_they_are_set_are_found(checkout: Path, tmp_path: Path) -> None:
    """Each wrong name is found with its line, and no right one."""
    (tmp_path / "scripts").mkdir()
    script = shutil.copy(checkout / "scripts" / "check_python_names.py", tmp_path / "scripts")
    (tmp_path / "spanwise" / "tests").mkdir(parents=True)
    (tmp_path / "spanwise" / "tests" / "test_it.py").write_text(WRONG, "utf8")

    def said(text: str) -> list[str]:
        (tmp_path / "spanwise" / "it.py").write_text(text, "utf8")
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.stderr == ""
        assert done.returncode == (text is WRONG)
        return [line.split(" stays")[0] for line in done.stdout.splitlines()]

    assert said(RIGHT) == ["names: 1 files of Python name constants alike"]
    assert said(WRONG) == [
        "spanwise/it.py:3: _u32",
        "spanwise/it.py:4: limit",
        "spanwise/it.py:5: _lock",
        "spanwise/it.py:6: listed",
    ]
