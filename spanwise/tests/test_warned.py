"""What tests count as a warning of their own block."""

from __future__ import annotations

import gc
import socket
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.tests.warned import THEIRS, of_the_block, warnings_as_errors

OURS, OTHERS = 0, socket.IPPROTO_TCP


def leave_open(protocol: int) -> None:
    """Have an open socket collected, with the warning of that."""
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)


def test_a_socket_of_ours_counts_and_one_of_another_library_does_not() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        leave_open(OTHERS)
        leave_open(OURS)
        warnings.warn("a text", stacklevel=1)
    first, second = of_the_block(caught)
    assert "proto=0," in str(first.message)
    assert str(second.message) == "a text"


def leave_unawaited(file: str) -> None:
    """Have a coroutine of such a file collected that nobody has awaited."""
    made: dict[str, Any] = {}
    exec(compile("async def ask(): pass", file, "exec"), made)  # noqa: S102
    made["ask"]()


def test_a_coroutine_of_ours_or_of_the_test_counts_and_one_of_others_does_not() -> None:
    package = Path(spanwise.__file__).parent
    others = ("/of/others/client.py", str(package / "tests" / "test_client.py"))
    # (of which this file has functions)
    shared = str(package / "tests" / "warned.py")
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for file in (*others, __file__, shared, str(package / "client" / "api.py")):
            leave_unawaited(file)
        warnings.warn("coroutine 'ask' was never awaited", RuntimeWarning, stacklevel=1)
    # (the collector may tell of something else as well)
    named = [each for each in caught if "'ask'" in str(each.message)]
    assert len(named) == 6
    assert of_the_block(named) == named[2:]


@pytest.mark.parametrize(("protocol", "raised"), [(OURS, 1), (OTHERS, 0)], ids=["ours", "others"])
def test_a_socket_of_ours_is_an_error(
    monkeypatch: pytest.MonkeyPatch, protocol: int, raised: int
) -> None:
    """Where it is raised nobody can catch it: pytest fails a test for that by the same hook."""
    said: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: said.append(told.exc_type))
    with warnings_as_errors():
        leave_open(protocol)
    assert said == [ResourceWarning] * raised


def test_the_whole_suite_takes_the_same_for_others(checkout: Path) -> None:
    settings = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))
    filters = settings["tool"]["pytest"]["ini_options"]["filterwarnings"]
    assert f"default:{THEIRS}:ResourceWarning" in filters
