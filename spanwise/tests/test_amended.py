"""Functions of other libraries that are replaced where they are held."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from spanwise import amended


class Unbound:
    """As proxies are that stand for nothing yet: they raise whatever is asked of them."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("unbound")


def test_what_raises_when_it_is_asked_what_it_is_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def theirs() -> int:
        return 1

    module, holder = ModuleType("spanwise_theirs"), ModuleType("spanwise_holder")
    for each in (module, holder):
        each.theirs = theirs  # type: ignore[attr-defined]
    monkeypatch.setattr(amended, "_WRAPPINGS", {})
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setitem(sys.modules, "spanwise_theirs", module)
    monkeypatch.setitem(sys.modules, "spanwise_unbound", Unbound())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "spanwise_holder", holder)
    amended.amend({"spanwise_theirs": {"theirs": lambda theirs: lambda: theirs() + 1}})
    assert [each.theirs() for each in (module, holder)] == [2, 2]
